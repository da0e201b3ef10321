# SPDX-License-Identifier: GPL-2.0-or-later
"""Members whose lines are no place for others: locks, what is aligned to a line, groups, what an intent keeps apart."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.geometry import asked_alignments, lines_touched, nameable
from linesmith.analyzer.geometry.placement import alignment_of
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, TypeIntent
from linesmith.analyzer.rules.marked_group import marked_groups
from linesmith.analyzer.rules.watched import locks


def guarded(layout: Layout, layouts: Layouts, intents: tuple[TypeIntent, ...]) -> frozenset[str]:
    """Their names; of a path into a record held by value the name of that record's member."""
    return frozenset(path.partition(".")[0] for path in _paths(layout, layouts, intents))


def company(name: str, guards: frozenset[str], layout: Layout, layouts: Layouts) -> frozenset[str]:
    """Those of the ``guards`` that are on a line with the member called ``name`` in an object that begins at a line."""
    lines = {one.path: lines_touched(one.offset, one.span.size) for one in nameable(layout, layouts)}
    mine = lines.get(name, range(0))
    return frozenset(guard for guard in guards - {name} if _meet(mine, lines.get(guard, range(0))))


def _paths(layout: Layout, layouts: Layouts, intents: tuple[TypeIntent, ...]) -> Iterator[str]:
    yield from (lock.path for lock in locks(layout, layouts))
    every = (one for one in nameable(layout, layouts) if one.span.size)
    yield from (one.path for one in every if alignment_of(one.member) >= CACHE_LINE_BYTES)
    asked = asked_alignments(layout, layouts)
    yield from (one.path for one in asked if one.part and one.path and one.asked >= CACHE_LINE_BYTES)
    for group in marked_groups(layout, layouts).values():
        yield from (one.path for one in group.members)
    for intent in intents:
        yield from intent.write_hot
        for isolation in intent.isolations:
            yield from isolation.members


def _meet(one: range, other: range) -> bool:
    return max(one.start, other.start) < min(one.stop, other.stop)
