# SPDX-License-Identifier: GPL-2.0-or-later
"""The map of one record: its fields, holes and padding cut at the lines that an object of it lies on.

Runs of lines that say nothing new are folded; of a change there are two maps, with what moved marked in both.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import record_alignment, straddles
from linesmith.analyzer.line_map.fields import NO_HEAT, MapField, MapHeat, TouchedSpot, fields
from linesmith.analyzer.model import CACHE_LINE_BYTES, Access, Cell, CellKind, Layout, LineMap, MapLine, Toucher
from linesmith.analyzer.sharing.parts import origin

# Records of more lines hold buffers; the map ends there and says so.
MOST_LINES = 1024
MOST_PHASES = 4
# A smaller share of samples of no known member is an error of rounding.
LEAST_UNPLACED = 0.01


def line_map(
    layout: Layout,
    layouts: Layouts,
    heat: MapHeat = NO_HEAT,
    phase: int | None = None,
    line_bytes: int = CACHE_LINE_BYTES,
    caption: str = "",
) -> LineMap:
    """The record as an object of it lies that starts ``phase`` bytes into a line of ``line_bytes``.

    Without a phase that of most contended accesses is taken, 0 where there are none. ``caption`` is before what is
    known of the phases. Heat is a share of the record's contended accesses, with those of its lines that may be of it.
    """
    start = (heat.phases[0][0] if heat.phases else 0) if phase is None else phase
    start %= line_bytes
    size = min(layout.size, MOST_LINES * line_bytes - start)
    spots = tuple(sorted(heat.spots, key=lambda spot: spot.offset))
    offsets = tuple(spot.offset for spot in spots)
    canvas = _Canvas(start, line_bytes, spots, offsets, heat.whole if heat.known else None)
    found = fields(layout, layouts, (spot.path for spot in heat.spots))
    cells = [one for run in _runs(found, size) for one in _cells(run, canvas)]
    share = heat.unplaced / heat.whole if heat.unplaced else 0.0
    unplaced = f"{share:.0%} of the contended accesses are in no row" if share >= LEAST_UNPLACED else ""
    remarks = "; ".join(part for part in (caption, _phases(heat, line_bytes), unplaced) if part)
    whole = -(-(start + layout.size) // line_bytes)
    lines = tuple(_lines(cells))
    return LineMap(layout.title, layout.size, start, lines, line_bytes, remarks, layout.place, whole - len(lines))


def _phases(heat: MapHeat, line_bytes: int) -> str:
    """Where in a line the objects were seen to start, where there are several such places."""
    total = sum(count for _, count in heat.phases)
    if len({phase % line_bytes for phase, _ in heat.phases}) < 2 or not total:
        return ""
    shown = ", ".join(f"{phase} ({count / total:.0%})" for phase, count in heat.phases[:MOST_PHASES])
    more = len(heat.phases) - MOST_PHASES
    return f"objects start at byte {shown}{f' and {more} more' if more > 0 else ''} of a line"


def _runs(found: Sequence[MapField], size: int) -> Iterator[tuple[MapField | CellKind, int, int]]:
    """Fields, and the kind of what lies between them, with the first byte and the one behind the last."""
    at = 0
    for one in found:
        if one.offset >= size:
            break
        if one.offset > at:
            yield CellKind.HOLE, at, one.offset
        at = min(one.end, size)
        yield one, one.offset, at
    if at < size:
        behind = any(one.offset >= size for one in found)
        yield CellKind.HOLE if behind else CellKind.PADDING, at, size


@dataclass(frozen=True, slots=True)
class _Canvas:
    """What cells are drawn on: ``spots`` by ``offsets``; shares are of ``total`` samples (``None``: no profile)."""

    phase: int
    line_bytes: int
    spots: tuple[TouchedSpot, ...]
    offsets: tuple[int, ...]
    total: int | None

    def met(self, first: int, size: int) -> tuple[TouchedSpot, ...]:
        """The spots on ``size`` bytes of the object from ``first`` on."""
        return self.spots[bisect_left(self.offsets, first) : bisect_left(self.offsets, first + size)]

    def share(self, spots: Iterable[TouchedSpot]) -> float | None:
        """How much of the record's contended accesses these are."""
        return None if self.total is None else sum(spot.contended for spot in spots) / (self.total or 1)


def _cells(run: tuple[MapField | CellKind, int, int], canvas: _Canvas) -> Iterator[Cell]:
    """The run cut where lines end."""
    what, first, end = run
    while first < end:
        inside = (first + canvas.phase) % canvas.line_bytes
        until = min(end, first + canvas.line_bytes - inside)
        if isinstance(what, MapField):
            yield _member(what, first, until - first, inside, canvas)
        else:
            yield Cell("", "", what, inside, until - first, first, canvas.share(()))
        first = until


def _member(field: MapField, first: int, size: int, inside: int, canvas: _Canvas) -> Cell:
    met = canvas.met(first, size)
    accesses = [one for spot in met for one in spot.accesses]
    return Cell(
        field.path,
        field.type,
        CellKind.MEMBER,
        inside,
        size,
        first,
        canvas.share(met),
        sum(_reads(one) for one in accesses),
        sum(one.stores for one in accesses),
        _touchers(accesses),
        field.lock,
        straddles=straddles(field.begin + canvas.phase, field.size, canvas.line_bytes),
        written=any(spot.written for spot in met),
    )


def _reads(access: Access) -> int:
    return max(access.contended, (access.records or 0) - access.stores)


def _touchers(accesses: Iterable[Access]) -> tuple[Toucher, ...]:
    """By function, the one with the most samples first."""
    grouped: dict[str, list[Access]] = {}
    for one in accesses:
        grouped.setdefault(one.code, []).append(one)
    touchers = []
    for function, group in grouped.items():
        known, reads, writes = origin(group), sum(map(_reads, group)), sum(one.stores for one in group)
        touchers.append(Toucher(function, reads, writes, known.count, tuple(sorted(known.nodes))))
    return tuple(sorted(touchers, key=lambda one: (-one.reads - one.writes, one.function)))


def _lines(cells: Iterable[Cell]) -> Iterator[MapLine]:
    """The cells by line; a new one begins where a cell starts no further in than the one before."""
    row: list[Cell] = []
    number = 0
    for cell in cells:
        if row and cell.start <= row[-1].start:
            yield _line(number, row)
            row, number = [], number + 1
        row.append(cell)
    if row:
        yield _line(number, row)


def _line(number: int, row: Sequence[Cell]) -> MapLine:
    known = [one.heat for one in row if one.heat is not None]
    return MapLine(number, tuple(row), sum(known) if known else None)


# Shorter runs cost as many rows folded as drawn.
LEAST_FOLDED = 3
# Maps of so many lines are drawn with the lines that nobody was seen to touch.
MOST_DRAWN = 12


@dataclass(frozen=True, slots=True)
class Fold:
    """Lines ``first`` … ``last`` in one row; ``what`` says what they are."""

    first: int
    last: int
    what: str


def folded(drawn: LineMap) -> tuple[MapLine | Fold, ...]:
    """The lines in order; runs that one member (or hole) fills are folded, in long maps also what nobody touched."""
    long = len(drawn.lines) > MOST_DRAWN
    rows: list[MapLine | Fold] = []
    for what, run in groupby(drawn.lines, lambda line: _what(line, long)):
        lines = list(run)
        folds = what and len(lines) >= LEAST_FOLDED
        rows += [Fold(lines[0].number, lines[-1].number, what)] if folds else lines
    return tuple(rows)


def _what(line: MapLine, long: bool) -> str:
    """What a fold with this line in it is called; empty for a line that must be seen."""
    if any(cell.heat or cell.reads or cell.writes or cell.written or cell.moved for cell in line.cells):
        return ""
    if len(line.cells) == 1:
        return line.cells[0].path or line.cells[0].kind.value
    return "nobody was seen to touch these" if long and line.heat is not None else ""


# Nobody has sampled the layout that a change makes.
_AFTER = "after, with the samples of before"


def compared_maps(
    before: tuple[Layout, Layouts], after: tuple[Layout, Layouts], heat: MapHeat = NO_HEAT, moved: Collection[str] = ()
) -> tuple[LineMap, LineMap]:
    """The maps of two layouts with the heat of the first; what each member met, it keeps where it goes.

    ``moved`` names the members that were moved. Without it they are those that changed their order, and those that one
    map has and the other has not: what only shifts is not marked. Both maps have the same phase.
    """
    touched = tuple(spot.path for spot in heat.spots)
    old, new = fields(*before, touched), fields(*after, touched)
    ordered, then = ([one.path for one in found] for found in (old, new))
    runs = SequenceMatcher(None, ordered, then, autojunk=False).get_matching_blocks()
    marked = frozenset((*ordered, *then)).difference(*(ordered[run.a : run.a + run.size] for run in runs))
    if moved:
        # The fields that are one of the members, or a part of one.
        beginnings = tuple(f"{name}." for name in moved)
        parts = (one for one in (*old, *new) if any(f"{name}.".startswith(beginnings) for name in one.names))
        marked = frozenset(one.path for one in parts)
    phase = heat.phases[0][0] if heat.phases else 0
    first = line_map(*before, heat, phase, caption="before")
    carried = _carried(heat, old, new)
    if record_alignment(after[0]) > record_alignment(before[0]) and phase % record_alignment(after[0]):
        phase, carried = 0, replace(carried, phases=())
    second = line_map(*after, carried, phase, caption=_AFTER if heat.known else "after")
    return _marked(first, marked), _marked(second, marked)


def _carried(heat: MapHeat, old: Sequence[MapField], new: Sequence[MapField]) -> MapHeat:
    """The heat where the fields lie that were touched; what touched fields that are gone is left out."""
    places = {one.names: one for one in new}
    spots: list[TouchedSpot] = []
    for spot in heat.spots:
        home = next((one for one in old if one.offset <= spot.offset < one.end), None)
        there = places.get(home.names) if home else None
        if home and there:
            spots.append(replace(spot, offset=there.begin + spot.offset - home.begin))
    return replace(heat, spots=tuple(spots))


def _marked(drawn: LineMap, paths: frozenset[str]) -> LineMap:
    def mark(cell: Cell) -> Cell:
        return replace(cell, moved=True) if cell.kind is CellKind.MEMBER and cell.path in paths else cell

    return replace(drawn, lines=tuple(replace(line, cells=tuple(map(mark, line.cells))) for line in drawn.lines))
