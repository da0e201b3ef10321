# SPDX-License-Identifier: GPL-2.0-or-later
"""Hides a member of a record behind an accessor, in all of a tree."""
