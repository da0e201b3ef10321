# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine can do for linesmith, and what would make it do more."""
