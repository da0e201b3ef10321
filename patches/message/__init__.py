# SPDX-License-Identifier: GPL-2.0-or-later
"""The commit message of a change."""
