# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment that a declaration itself asks for, told from what it inherits.

gcc states DW_AT_alignment of every record and member whose alignment comes from an attribute anywhere inside, so a
record that embeds an aligned one looks as if it asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.geometry.naming import MOST_MEMBERS
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member

# Damaged debug information can nest anonymous records without end.
_MOST_LEVELS = 128


@dataclass(frozen=True, slots=True)
class AskedAlignment:
    """What is asked for, in bytes, and by what: a member called ``path``, or the unnamed ``part`` that begins with it.

    The record itself has the path ``""``. ``stated`` is what the debug information says, also where a type inside
    brings it; ``asked`` is 1 where nothing is asked for. ``around`` is the most that a part around it states.
    """

    path: str
    stated: int
    asked: int
    part: bool = False
    around: int = 1


def asked_alignments(layout: Layout, layouts: Layouts) -> Iterator[AskedAlignment]:
    """Of the record, then of each member that C code can name and of each part without a name, in their order."""
    yield AskedAlignment("", layout.alignment or 1, _asked_of_record(layout))
    yield from _of_members(layout, layouts, 1, _MOST_LEVELS, iter(range(MOST_MEMBERS)))


def asked_at_least(least: int, layout: Layout, layouts: Layouts) -> list[AskedAlignment]:
    """Those of the same that ask for ``least`` bytes, at least 2, or more; few records have any."""
    if not _states(least, layout, layouts):
        return []
    return [one for one in asked_alignments(layout, layouts) if one.asked >= least]


def _states(least: int, layout: Layout, layouts: Layouts) -> bool:
    """Whether the record, a member or a part without a name states such an alignment: nothing else asks for it."""
    waiting, seen = [layout], {layout.id}
    for one in waiting:  # grows while it is walked
        if (one.alignment or 1) >= least or any((member.alignment or 1) >= least for member in one.members):
            return True
        inner = {member.record for member in one.members if not member.name and member.record is not None} - seen
        seen |= inner
        waiting += [layouts.by_id(part) for part in inner]
    return False


def _of_members(
    layout: Layout, layouts: Layouts, around: int, levels: int, left: Iterator[int]
) -> Iterator[AskedAlignment]:
    """``left`` counts members, also those that ask for nothing."""
    for member in layout.members:
        if next(left, None) is None:
            return
        stated = member.alignment or 1
        if member.name or member.record is None:
            yield AskedAlignment(member.name, stated, _asked_of_member(member, layouts), around=around)
            continue
        inner = layouts.by_id(member.record)
        inside = _of_members(inner, layouts, max(around, stated), levels - 1, left) if levels else iter(())
        first = next(inside, None)
        if first is not None:
            asked = max(_asked_of_member(member, layouts), _asked_of_record(inner))
            yield AskedAlignment(first.path, stated, asked, part=True, around=around)
            yield first
        yield from inside


def _asked_of_member(member: Member, layouts: Layouts) -> int:
    """1 where the member's type asks for as much."""
    stated = member.alignment or 1
    if stated == 1:
        return 1  # most members: their types need not be read
    inner = (layouts.by_id(member.record).alignment or 1) if member.record is not None else 1
    return stated if stated > inner else 1


def _asked_of_record(layout: Layout) -> int:
    """1 where a member asks for as much."""
    stated = layout.alignment or 1
    inner = max((max(member.natural_alignment, member.alignment or 1) for member in layout.members), default=1)
    return stated if stated > inner else 1
