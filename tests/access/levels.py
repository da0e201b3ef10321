# SPDX-License-Identifier: GPL-2.0-or-later
"""Every member, on every level, that bytes of a type fall into: what an access may be said to name."""

from __future__ import annotations

from collections.abc import Iterator

from access.expressions import Member

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout
from linesmith.analyzer.model import Member as LaidOut

MOST_LEVELS = 32


def members_touched(layout: Layout, layouts: Layouts, offset: int, width: int) -> frozenset[Member]:
    """The members of ``layout`` and of the records in it that ``width`` bytes at ``offset`` touch.

    Unions give all their alternatives; any element of an array stands for all.
    """
    return frozenset(_touched(layout, layouts, (offset, offset + max(width, 1)), (layout.name, ""), MOST_LEVELS))


def _touched(layout: Layout, layouts: Layouts, span: tuple[int, int], holder: Member, levels: int) -> Iterator[Member]:
    for member in layout.members:
        if not _meets(member, span):
            continue
        record, path = holder
        here = (record, f"{path}.{member.name}".strip(".")) if member.name else holder
        if member.name:
            yield here
        if member.record is not None and levels:
            inner = layouts.by_id(member.record)
            # A record with a name of its own starts afresh; a nameless one lengthens the path.
            start = (inner.name, "") if inner.name else here
            yield from _touched(inner, layouts, _inside(member, inner, span), start, levels - 1)


def _meets(member: LaidOut, span: tuple[int, int]) -> bool:
    if member.bit_offset is not None and member.bit_size is not None:
        first, last = member.bit_offset // 8, (member.bit_offset + member.bit_size - 1) // 8 + 1
        return span[0] < last and first < span[1]
    if member.flexible and span[1] > member.offset:
        return True
    return span[0] < member.end and member.offset < span[1]


def _inside(member: LaidOut, inner: Layout, span: tuple[int, int]) -> tuple[int, int]:
    """The span in terms of the record held; of an array, of the element that it begins in."""
    begin, end = span[0] - member.offset, span[1] - member.offset
    if (member.dimensions or member.flexible) and inner.size > 0 and begin >= 0:
        skipped = begin // inner.size * inner.size
        return begin - skipped, end - skipped
    return begin, end
