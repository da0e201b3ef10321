# SPDX-License-Identifier: GPL-2.0-or-later
"""The example of the package: a small C program with a tree root and its lock on one line, walked from end to end."""
