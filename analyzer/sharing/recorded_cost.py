# SPDX-License-Identifier: GPL-2.0-or-later
"""What each sharing on a line costs, from a recording: every miss names the store that had taken the line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from linesmith.analyzer.model import Bounds, Conflict, LineCost, SharedLine, SharingCost, Side
from linesmith.analyzer.sharing.parts import Part
from linesmith.analyzer.sharing.waiting import conflict_cycles

BEHIND = "up to {count:,} of these misses also brought bytes written elsewhere: parted, those would miss instead"


def recorded_cost(line: SharedLine, parts: Sequence[Part], names: Mapping[int, str]) -> LineCost:
    """The cost of a line with conflicts; ``names`` give the part at an offset."""

    def name(offset: int) -> str:
        return names.get(offset, f"{offset:#x}")

    between = [one for one in line.conflicts if name(one.offset) != name(one.writer_offset)]
    false = [one for one in between if not one.true_sharing]
    misses, cycles = sum(one.misses for one in false), sum(map(conflict_cycles, false))
    behind = min(misses, sum(one.shadowed for one in line.conflicts if one.true_sharing))
    kept = 1 - behind / misses if misses else 0.0
    return LineCost(
        contended=sum(one.misses for one in line.conflicts),
        cycles=sum(map(conflict_cycles, line.conflicts)),
        sharings=_sharings(line.conflicts, parts, name),
        removable=Bounds(misses * kept, misses),
        removable_cycles=Bounds(cycles * kept, cycles),
        exact=True,
        notes=(BEHIND.format(count=behind),) if behind else (),
    )


def _sharings(
    conflicts: Sequence[Conflict], parts: Sequence[Part], name: Callable[[int], str]
) -> tuple[SharingCost, ...]:
    """Misses by victim and writer, heaviest first."""
    sides = {part.name: part.side() for part in parts}
    grouped: dict[tuple[str, str], list[Conflict]] = {}
    for one in conflicts:
        grouped.setdefault((name(one.offset), name(one.writer_offset)), []).append(one)
    found = [
        SharingCost(_side(sides, victim), _side(sides, writer), _misses(group), _cycles(group))
        for (victim, writer), group in grouped.items()
        if sum(one.misses for one in group)
    ]
    return tuple(sorted(found, key=lambda one: (-one.cycles.most, one.victim.member, one.writer.member)))


def _side(sides: Mapping[str, Side], name: str) -> Side:
    return sides.get(name) or Side(name, 0, 0)


def _misses(group: Sequence[Conflict]) -> Bounds:
    count = sum(one.misses for one in group)
    return Bounds(count, count)


def _cycles(group: Sequence[Conflict]) -> Bounds:
    count = sum(map(conflict_cycles, group))
    return Bounds(count, count)


def removable_limit(line: SharedLine) -> float:
    """Cycles of misses for nothing between different offsets: whatever lies there, no layout removes more."""
    return sum(
        conflict_cycles(one) for one in line.conflicts if not one.true_sharing and one.offset != one.writer_offset
    )
