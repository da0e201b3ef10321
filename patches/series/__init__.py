# SPDX-License-Identifier: GPL-2.0-or-later
"""A series of changes as files that can be mailed or applied."""
