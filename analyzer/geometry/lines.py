# SPDX-License-Identifier: GPL-2.0-or-later
"""Cache lines that a record or a member covers."""

from __future__ import annotations

from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout


def line_of(offset: int, line_bytes: int = CACHE_LINE_BYTES) -> int:
    """Number of the line that holds byte ``offset``, counted from 0; offsets may be negative."""
    return offset // line_bytes


def lines(layout: Layout, line_bytes: int = CACHE_LINE_BYTES) -> int:
    """How many lines the record covers when it starts on a line boundary; 0 for an empty record."""
    return -(-layout.size // line_bytes)


def lines_touched(offset: int, size: int, line_bytes: int = CACHE_LINE_BYTES) -> range:
    """Numbers of the lines that the bytes ``[offset, offset + size)`` lie on; empty when ``size`` is 0."""
    if size <= 0:
        return range(0)
    return range(offset // line_bytes, (offset + size - 1) // line_bytes + 1)


def straddles(offset: int, size: int, line_bytes: int = CACHE_LINE_BYTES) -> bool:
    """Whether bytes that would fit on one line lie on two; what is larger than a line never straddles."""
    return size <= line_bytes and len(lines_touched(offset, size, line_bytes)) > 1
