# SPDX-License-Identifier: GPL-2.0-or-later
"""How to say it in C: declarations, atoms, edits, diffs, and verification by compiling."""
