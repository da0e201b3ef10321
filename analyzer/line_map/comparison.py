# SPDX-License-Identifier: GPL-2.0-or-later
"""Two maps of one record, before and after a change, with what moved marked in both."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import replace

from linesmith.analyzer.geometry.inference import record_alignment
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.line_map.fields import Field, fields
from linesmith.analyzer.line_map.heat import NO_HEAT, Heat, Spot
from linesmith.analyzer.line_map.record_map import line_map
from linesmith.analyzer.model import CACHE_LINE_BYTES, Cell, CellKind, Layout, LineMap

# Nobody has sampled the layout that a change makes.
_AFTER = "after, with the samples of before"


def compared_maps(
    before: tuple[Layout, Layouts],
    after: tuple[Layout, Layouts],
    heat: Heat = NO_HEAT,
    moved: Collection[str] = (),
    line_bytes: int = CACHE_LINE_BYTES,
) -> tuple[LineMap, LineMap]:
    """The maps of two layouts with the heat of the first; what each member met, it keeps where it goes.

    ``moved`` names the members that were moved. Without it they are the fewest that must have changed their order, and
    those that one map has and the other has not: what only shifts is not marked. Both maps have the same phase.
    """
    touched = tuple(spot.path for spot in heat.spots)
    old, new = fields(*before, touched), fields(*after, touched)
    marked = _named(moved, (*old, *new)) if moved else _moved(old, new)
    phase = heat.phases[0][0] if heat.phases else 0
    first = line_map(*before, heat, phase, line_bytes, "before")
    carried = _carried(heat, old, new)
    if record_alignment(after[0]) > record_alignment(before[0]) and phase % record_alignment(after[0]):
        phase, carried = 0, replace(carried, phases=())
    second = line_map(*after, carried, phase, line_bytes, _AFTER if heat.known else "after")
    return _marked(first, marked), _marked(second, marked)


def _carried(heat: Heat, old: Sequence[Field], new: Sequence[Field]) -> Heat:
    """The heat where the fields lie that were touched; what touched fields that are gone is left out."""
    places = {one.names: one for one in new}
    spots: list[Spot] = []
    for spot in heat.spots:
        home = next((one for one in old if one.offset <= spot.offset < one.end), None)
        there = places.get(home.names) if home else None
        if home and there:
            spots.append(replace(spot, offset=there.begin + spot.offset - home.begin))
    return replace(heat, spots=tuple(spots))


def _named(moved: Collection[str], every: Sequence[Field]) -> frozenset[str]:
    """Paths of the fields that are one of the members, or a part of one."""
    wanted = frozenset(moved)
    return frozenset(one.path for one in every if any(_tops(name) & wanted for name in one.names))


def _tops(path: str) -> set[str]:
    """The names that a path begins with: ``a.b.c`` with ``a`` and ``a.b`` too."""
    parts = path.split(".")
    return {".".join(parts[: count + 1]) for count in range(len(parts))}


def _moved(old: Sequence[Field], new: Sequence[Field]) -> frozenset[str]:
    places = {one.path: number for number, one in enumerate(old)}
    common = [one.path for one in new if one.path in places]
    kept = _rising([places[path] for path in common])
    still = {common[index] for index in kept}
    return frozenset(one.path for one in (*old, *new) if one.path not in still)


def _rising(numbers: Sequence[int]) -> list[int]:
    """Indices of a longest run of rising numbers, others left out."""
    ends: list[int] = []
    tails: list[int] = []
    before: list[int] = []
    for index, number in enumerate(numbers):
        place = bisect_left(ends, number)
        before.append(tails[place - 1] if place else -1)
        ends[place : place + 1] = [number]
        tails[place : place + 1] = [index]
    found: list[int] = []
    at = tails[-1] if tails else -1
    while at >= 0:
        found.append(at)
        at = before[at]
    return found[::-1]


def _marked(drawn: LineMap, paths: frozenset[str]) -> LineMap:
    lines = (replace(line, cells=tuple(_mark(one, paths) for one in line.cells)) for line in drawn.lines)
    return replace(drawn, lines=tuple(lines))


def _mark(cell: Cell, paths: frozenset[str]) -> Cell:
    return replace(cell, moved=True) if cell.kind is CellKind.MEMBER and cell.path in paths else cell
