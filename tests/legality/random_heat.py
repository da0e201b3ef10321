# SPDX-License-Identifier: GPL-2.0-or-later
"""Random heat and random facts of a real struct, and the names by which C code reaches its bytes.

The names are found without the code that is being judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from hand_made import finding, hot

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, ConflictPair, FactKind, Finding, Layout, SourceFact

MOST_HOT = 6
MOST_LINES = 3
KINDS = tuple(kind for kind in FactKind if kind is not FactKind.RANDOMIZED)


@dataclass(frozen=True)
class Named:
    """Bytes ``start`` to ``end`` of a record, under the name that ``object->name`` reaches them by."""

    name: str
    start: int
    end: int


def named(layout: Layout, layouts: Layouts) -> list[Named]:
    """Every name once, members of anonymous records included; bit-fields with the bytes that they touch."""
    found: dict[str, Named] = {}
    for one in _named(layout, layouts, 0, 0):
        found.setdefault(one.name, one)
    return list(found.values())


def _named(layout: Layout, layouts: Layouts, base: int, depth: int) -> Iterator[Named]:
    for member in layout.members:
        start, end = base + member.offset, base + member.offset + member.size
        if member.bit_offset is not None:
            start = base + member.bit_offset // 8
            end = base + (member.bit_offset + (member.bit_size or 1) - 1) // 8 + 1
        if member.name:
            yield Named(member.name, start, end)
        elif member.record is not None and depth < 16:
            yield from _named(layouts.by_id(member.record), layouts, start, depth + 1)


@dataclass(frozen=True)
class Case:
    """Lines of a profile on which members of ``layout`` meet, the facts of it, and by what it may grow."""

    layout: Layout
    findings: tuple[Finding, ...]
    facts: tuple[SourceFact, ...]
    growth: int | None


def random_case(layout: Layout, layouts: Layouts, random: Random) -> Case | None:
    """Random heat on one to three lines of an object; ``None`` where no two members can share a line."""
    granule = max([layout.natural_alignment, layout.alignment or 1, *(one.alignment or 1 for one in layout.members)])
    phase = random.randrange(0, CACHE_LINE_BYTES, min(granule, CACHE_LINE_BYTES))
    members = named(layout, layouts)
    shared = [line for line in _lines(members, phase) if len(line) > 1]
    if not shared:
        return None
    chosen = random.sample(shared, min(len(shared), random.randint(1, MOST_LINES)))
    findings = tuple(_finding(layout, line, phase, rank, random) for rank, line in enumerate(chosen))
    facts = _facts(members, layout, random) if random.random() < 0.5 else ()
    return Case(layout, findings, facts, random.choice((None, None, 0, 8, 64, 256)))


def _lines(members: Sequence[Named], phase: int) -> list[list[Named]]:
    """The members on each line of an object of this phase."""
    lines: dict[int, list[Named]] = {}
    for one in members:
        for line in range((one.start + phase) // CACHE_LINE_BYTES, (one.end - 1 + phase) // CACHE_LINE_BYTES + 1):
            lines.setdefault(line, []).append(one)
    return [_distinct(line, at, phase) for at, line in lines.items()]


def _distinct(line: Sequence[Named], at: int, phase: int) -> list[Named]:
    """The parts of the members that lie on line ``at``; of those over each other in a union only the first."""
    low, high = at * CACHE_LINE_BYTES - phase, (at + 1) * CACHE_LINE_BYTES - phase
    found: list[Named] = []
    for one in line:
        part = Named(one.name, max(one.start, low), min(one.end, high))
        if part.start < part.end and not any(part.start < other.end and other.start < part.end for other in found):
            found.append(part)
    return found


def _finding(layout: Layout, line: Sequence[Named], phase: int, rank: int, random: Random) -> Finding:
    """A line on which some members are written and all are read."""
    chosen = random.sample(line, random.randint(2, min(MOST_HOT, len(line))))
    written = chosen[: random.randint(1, len(chosen))]
    seen = [
        hot(one.name, one.start, min(one.end - one.start, 8), random.randint(1, 900), 0 if one not in written else 300)
        for one in chosen
    ]
    pairs = [
        ConflictPair(one.name, writer.name, writer.name, random.randint(1, 900))
        for writer in written
        for one in chosen
        if one is not writer and (one not in written or chosen.index(one) > chosen.index(writer))
    ]
    return finding(layout, seen, pairs, phase, rank)


def _facts(members: Sequence[Named], layout: Layout, random: Random) -> tuple[SourceFact, ...]:
    kinds = random.choices(KINDS, k=random.randint(1, 3))
    return tuple(_fact(kind, members, layout, random) for kind in kinds)


def _fact(kind: FactKind, members: Sequence[Named], layout: Layout, random: Random) -> SourceFact:
    """A fact that the layout does not contradict: what is first or last stays so, what is apart is apart now."""
    if kind in (FactKind.SIZE, FactKind.PAGE, FactKind.SLAB):
        return SourceFact(kind, (), "so it is", bytes=layout.size + 8 * random.randint(0, 8))
    if kind is FactKind.FIRST:
        return SourceFact(kind, (members[0].name,), "so it is")
    if kind is FactKind.LAST:
        return SourceFact(kind, (members[-1].name,), "so it is")
    count = {FactKind.POSITIONAL: 1, FactKind.WALL: 1, FactKind.OFFSET: random.randint(1, 3)}.get(kind, 2)
    at = random.randrange(len(members))
    near = members[at : at + random.randint(2, 5)] if kind in (FactKind.RANGE, FactKind.TOGETHER) else members
    names = [one.name for one in (random.sample(near, count) if len(near) >= count else near)]
    return SourceFact(kind, tuple(sorted(names, key=[one.name for one in members].index)), "so it is", bytes=64)
