# SPDX-License-Identifier: GPL-2.0-or-later
"""What a line costs beside members of one object that meet: a member on two lines, and the end of a neighbour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd

from linesmith.analyzer.geometry import meet
from linesmith.analyzer.geometry.phase import Span
from linesmith.analyzer.model import CACHE_LINE_BYTES, Finding
from linesmith.analyzer.sharing.own_members import own_members
from linesmith.tuner.cost.heat import Heat, Spot


@dataclass(frozen=True, slots=True)
class Touch:
    """Bytes of a spot that are accessed together with its others: ``start`` counts from the spot's member.

    ``weight`` is its part of the contended samples of the line on which it was seen.
    """

    spot: Spot
    start: int
    weight: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Spots of two objects in a row that cost ``weight`` contended samples: the second is ``objects`` further on.

    ``phase`` is that of one of the objects.
    """

    first: Spot
    second: Spot
    objects: int
    weight: float
    phase: int


def touches(heat: Heat, lines: Sequence[Finding], starts: Sequence[int]) -> tuple[Touch, ...]:
    """All touches of spots that fit a line; ``starts`` are bytes in the object by member position."""
    spots = {spot.name: spot for spot in heat.spots if spot.size <= CACHE_LINE_BYTES}
    found: dict[tuple[Spot, int], float] = defaultdict(float)
    for line in lines:
        members = [one for one in own_members(line) if one.top in spots]
        total: dict[str, int] = defaultdict(int)
        for one in members:
            total[one.top] += one.reads + one.writes
        for one in members:
            spot = spots[one.top]
            share = (one.reads + one.writes) / max(total[one.top], 1)
            found[spot, (one.object_offset or 0) - starts[spot.member]] += share * line.contended
    return tuple(Touch(spot, start, weight) for (spot, start), weight in found.items())


def straddling(heat: Heat, touched: Sequence[Touch], starts: Sequence[int], granule: int) -> float:
    """Contended samples of spots on a second line, in the profile's phase or on average over all phases."""
    seen = heat.here(granule).phases(heat.line_bytes)
    return sum(share * _beside_the_first(heat, touched, starts, phase) for phase, share in seen)


def _beside_the_first(heat: Heat, touched: Sequence[Touch], starts: Sequence[int], phase: int) -> float:
    by_spot: dict[Spot, dict[int, float]] = {}
    for one in touched:
        lines = by_spot.setdefault(one.spot, defaultdict(float))
        lines[(starts[one.spot.member] + one.start + phase) // heat.line_bytes] += one.weight
    return sum(sum(lines.values()) - max(lines.values()) for lines in by_spot.values())


def neighbours(finding: Finding, heat: Heat, size: int) -> Iterator[Neighbours]:
    """Pairs of the finding whose ends belong to different objects of ``size`` bytes in a row."""
    spots = {spot.name: spot for spot in heat.spots}
    places = {member.top: member.offset - (member.object_offset or 0) for member in finding.members}
    for pair in finding.triage.pairs:
        if pair.first in spots and pair.second in spots:
            apart = places.get(pair.second, 0) - places.get(pair.first, 0)
            if apart and apart % size == 0:
                first, second = spots[pair.first], spots[pair.second]
                yield Neighbours(first, second, apart // size, pair.weight, finding.objects[0].phase)


def meeting(one: Neighbours, starts: Sequence[int], size: int, line_bytes: int, granule: int) -> float:
    """How often the two meet in a row of objects of ``size`` bytes, each looking at the one behind and before it.

    The row is taken to begin where it does now, as far as the alignment ``granule`` of its objects allows. The sum of
    both shares: a layout that turns the two round has only changed which neighbour it is.
    """
    step = gcd(size, line_bytes)
    base = one.phase % step // granule * granule
    first, second = (Span(starts[spot.member] + spot.start, spot.size) for spot in (one.first, one.second))
    rows = (replace(second, offset=second.offset + far) for far in (one.objects * size, -one.objects * size))
    meetings = [meet(first, other, line_bytes, phase) for other in rows for phase in range(base, line_bytes, step)]
    return sum(meetings) / len(range(base, line_bytes, step))
