# SPDX-License-Identifier: GPL-2.0-or-later
"""The maps that a report shows, and what they say in words, the same in every format: names, heat, who touches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.diff import RecordDiff
from linesmith.analyzer.line_map.fields import heat_of
from linesmith.analyzer.line_map.record_map import compared_maps, line_map
from linesmith.analyzer.model import Cell, CellKind, LineMap, Profile, Toucher
from linesmith.analyzer.report.candidate import Suggested
from linesmith.analyzer.report.prose import counted, runs, short

# From these shares of the contended accesses on a cell is drawn one level hotter; below the first, it was touched.
_LEVELS = (0.0001, 0.05, 0.15, 0.35)
HOTTEST = len(_LEVELS) + 1
MOST_TOUCHERS = 3


def level(cell: Cell) -> int:
    """How hot a cell is drawn: 0 no access was seen, 1 nobody waited for it, up to ``HOTTEST``."""
    heat = cell.heat or 0.0
    heat = round(heat, 2) or heat  # as it is printed
    return 1 + sum(heat >= one for one in _LEVELS) if heat > 0 or cell.reads or cell.writes or cell.written else 0


def levels() -> tuple[str, ...]:
    """What each level means, from 0 on."""
    bounds = [*(f"{one:.0%}" for one in _LEVELS[1:])]
    steps = [f"below {bounds[0]}", *(f"{one} to {two}" for one, two in pairwise(bounds)), f"{bounds[-1]} and more"]
    return ("not seen touched", "touched, nobody waited", *steps)


def percent(heat: float) -> str:
    """A share in at most four characters: ``49%``, ``<1%``."""
    return "<1%" if 0 < heat < 0.01 else f"{heat:.0%}"


def touch(cell: Cell) -> str:
    """``r`` for read, ``w`` for written, both or nothing."""
    return ("r" if cell.reads else "") + ("w" if cell.writes or cell.written else "")


def name(cell: Cell) -> str:
    """The cell's member, or what it is instead."""
    return short(cell.path) if cell.kind is CellKind.MEMBER else cell.kind.value


def short_name(cell: Cell) -> str:
    """The first of a cell's several names with an ellipsis; the name itself where it has one."""
    first = re.split(r" \| |, | and \d+ more$", cell.path)[0]
    return name(cell) if first == cell.path else f"{short(first)} …"


def marks(cell: Cell) -> tuple[str, ...]:
    """What else is to be known of a cell."""
    words = (("lock", cell.lock), ("moved", cell.moved), ("straddles two lines", cell.straddles))
    return tuple(word for word, holds in words if holds)


def heading(drawn: LineMap) -> str:
    """``struct x: 120 bytes on 2 cache lines``."""
    return f"{short(drawn.title)}: {extent(drawn)}"


def extent(drawn: LineMap) -> str:
    """``120 bytes on 2 cache lines, from byte 16 of the first``."""
    count = len(drawn.lines) + drawn.left_out
    phase = f", from byte {drawn.phase} of the first" if drawn.phase else ""
    return f"{counted(drawn.size, 'byte')} on {counted(count, 'cache line')}{phase}"


def remarks(drawn: LineMap) -> tuple[str, ...]:
    """What stands under the heading: whose map it is, where declared, what it leaves out."""
    place = f"declared at {short(drawn.place)}" if drawn.place not in ("", "-") else ""
    left = f"the last {counted(drawn.left_out, 'line')} are not shown" if drawn.left_out else ""
    size = "" if drawn.line_bytes == 64 else f"lines of {drawn.line_bytes} bytes"
    return tuple(one for one in (short(drawn.caption), place, size, left) if one)


def description(cell: Cell) -> str:
    """A cell in one sentence, for whoever cannot see it or points at it."""
    place = f"{name(cell)}: {counted(cell.bytes, 'byte')} from byte {cell.offset}"
    if cell.kind is not CellKind.MEMBER:
        return place
    parts = [f"{place}, {short(cell.type)}", *marks(cell), *_seen(cell), *map(toucher, cell.touchers[:MOST_TOUCHERS])]
    more = len(cell.touchers) - MOST_TOUCHERS
    return "; ".join([*parts, *([f"and {counted(more, 'more function')}"] if more > 0 else [])])


def _seen(cell: Cell) -> Iterator[str]:
    if cell.heat is None and not cell.reads and not cell.writes:
        return
    if level(cell) == 0:
        yield "nobody was seen to touch it"
        return
    if cell.heat is not None:
        yield f"{percent(cell.heat)} of the record's contended accesses"
    yield counts(cell)


def counts(cell: Cell | Toucher) -> str:
    """``661 reads, 12 writes``; a cell that must have been written without a sampled store says so."""
    inferred = isinstance(cell, Cell) and cell.written and not cell.writes
    writes = "written" if inferred else counted(cell.writes, "write") if cell.writes else ""
    reads = counted(cell.reads, "read") if cell.reads else ""
    return ", ".join(part for part in (reads, writes) if part) or "no samples"


def toucher(one: Toucher) -> str:
    """``down_write: 300 reads on 12 CPUs of nodes 0-1``."""
    return f"{short(one.function)}: {counts(one)}{where(one)}"


def where(one: Toucher) -> str:
    """On how many CPUs and which nodes, as far as that is known, with a space before it."""
    cpus = f" on {counted(one.cpus, 'CPU')}" if one.cpus else ""
    nodes = f"{'node' if len(one.nodes) == 1 else 'nodes'} {runs(one.nodes)}" if one.nodes else ""
    return f"{cpus}{' of ' if cpus else ' on '}{nodes}" if nodes else cpus


def summary(drawn: LineMap) -> str:
    """The map in a few sentences: how many lines, and the hottest of them with their members."""
    sentences = [f"{heading(drawn)}.", *(f"{text}." for text in remarks(drawn))]
    for line in sorted((line for line in drawn.lines if line.heat), key=lambda line: -(line.heat or 0))[:3]:
        cells = sorted((cell for cell in line.cells if level(cell)), key=lambda cell: -(cell.heat or 0))
        names = ", ".join(f"{name(cell)} ({percent(cell.heat or 0)})" for cell in cells[:MOST_TOUCHERS])
        share = f"{percent(line.heat or 0)} of the record's contended accesses"
        sentences.append(f"Line {line.number} of the object has {share}: {names}.")
    return " ".join(sentences)


def suggested_maps(
    answers: Suggested, profile: Profile | None = None, number: int | None = None
) -> list[tuple[LineMap, LineMap]]:
    """Before and after of candidate ``number``, or of each that is recommended, the hottest line first.

    Both have the heat of all findings, and what moves is marked in them.
    """
    layouts, found = answers.layouts, []
    for one in answers.numbered():
        candidate = one.candidate
        if one.number == number or (not number and candidate.recommended):
            before = candidate.before
            heat = heat_of(before, layouts, answers.findings, profile)
            maps = compared_maps((before, layouts), (candidate.after, layouts), heat, candidate.moved)
            title = before.title if before.name else f"{before.kind.value} inside {candidate.type}"
            found.append((replace(maps[0], title=title), replace(maps[1], title=title)))
    return found


def changed_maps(change: RecordDiff, old: Layouts, new: Layouts) -> tuple[LineMap, ...]:
    """The record before and after, with what moved, came or went marked; one map where only one build has it."""
    if change.old is not None and change.new is not None:
        return compared_maps((change.old, old), (change.new, new))
    if change.old is not None:
        return (line_map(change.old, old, caption="removed"),)
    return (line_map(change.new, new, caption="added"),) if change.new is not None else ()
