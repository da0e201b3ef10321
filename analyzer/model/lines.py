# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes of cache lines in bytes."""

CACHE_LINE_BYTES = 64
ADJACENT_LINE_BYTES = 128
