# SPDX-License-Identifier: GPL-2.0-or-later
"""Which object lies on a line, and which of its members each access met."""
