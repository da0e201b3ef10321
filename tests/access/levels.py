# SPDX-License-Identifier: GPL-2.0-or-later
"""Every member, on every level, that bytes of a type fall into: what an access may be said to name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from access.expressions import Member

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Layout
from linesmith.analyzer.model import Member as LaidOut

MOST_LEVELS = 32


@dataclass(frozen=True, slots=True)
class Touched:
    """The members that an access falls into, on every level; ``innermost`` are those that are no records."""

    members: frozenset[Member] = frozenset()
    innermost: frozenset[Member] = frozenset()


def touched(layout: Layout, layouts: Layouts, offset: int, width: int) -> Touched:
    """The members of ``layout`` and of the records in it that ``width`` bytes at ``offset`` touch.

    Unions give all their alternatives; any element of an array stands for all.
    """
    found = list(_touched(layout, layouts, (offset, offset + max(width, 1)), (layout.name, ""), MOST_LEVELS))
    return Touched(frozenset(member for member, _ in found), frozenset(member for member, last in found if last))


def _touched(
    layout: Layout, layouts: Layouts, span: tuple[int, int], holder: Member, levels: int
) -> Iterator[tuple[Member, bool]]:
    for member in layout.members:
        inner = layouts.by_id(member.record) if member.record is not None else None
        if not _meets(member, inner, span):
            continue
        record, path = holder
        here = (record, f"{path}.{member.name}".strip(".")) if member.name else holder
        if member.name:
            yield here, inner is None
        if inner is not None and levels:
            # A record with a name of its own starts afresh; a nameless one lengthens the path.
            start = (inner.name, "") if inner.name else here
            yield from _touched(inner, layouts, _inside(member, inner, span), start, levels - 1)


def _meets(member: LaidOut, inner: Layout | None, span: tuple[int, int]) -> bool:
    if member.bit_offset is not None and member.bit_size is not None:
        first, last = member.bit_offset // 8, (member.bit_offset + member.bit_size - 1) // 8 + 1
        return span[0] < last and first < span[1]
    # A record of no size around a flexible array runs on like the array itself.
    if member.flexible or member.size == 0 or (inner is not None and inner.size == 0):
        return span[1] > member.offset
    return span[0] < member.end and member.offset < span[1]


def _inside(member: LaidOut, inner: Layout, span: tuple[int, int]) -> tuple[int, int]:
    """The span in terms of the record held; of an array, of the element that it begins in."""
    begin, end = span[0] - member.offset, span[1] - member.offset
    if (member.dimensions or member.flexible) and inner.size > 0 and begin >= 0:
        skipped = begin // inner.size * inner.size
        return begin - skipped, end - skipped
    return begin, end
