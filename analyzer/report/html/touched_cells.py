# SPDX-License-Identifier: GPL-2.0-or-later
"""A line map in words: each member that was touched, and who read or wrote it, on which CPUs and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import CellKind, LineMap, Toucher
from linesmith.analyzer.report.counting import counted
from linesmith.analyzer.report.map_words import level, percent, where
from linesmith.analyzer.report.short_names import short

# A function less on a member that many call says nothing that the others do not.
MOST_TOUCHERS = 12


@dataclass(frozen=True, slots=True)
class TouchedCell:
    """A member on one line of its object; ``readers`` and ``writers`` are functions with samples, CPUs and nodes."""

    line: int
    offset: int
    path: str
    type: str
    heat: str
    level: int
    reads: int
    writes: int
    written: bool
    readers: tuple[str, ...]
    writers: tuple[str, ...]
    straddles: bool


def touched_cells(drawn: LineMap) -> tuple[TouchedCell, ...]:
    """The cells that somebody was seen to touch, in the order of their bytes."""
    return tuple(
        TouchedCell(
            line.number,
            cell.offset,
            cell.path,
            cell.type,
            percent(cell.heat) if cell.heat else "",
            level(cell),
            cell.reads,
            cell.writes,
            cell.written,
            _told(cell.touchers, "read"),
            _told(cell.touchers, "write"),
            cell.straddles,
        )
        for line in drawn.lines
        for cell in line.cells
        if cell.kind is CellKind.MEMBER and level(cell)
    )


def _told(touchers: Sequence[Toucher], verb: str) -> tuple[str, ...]:
    """``down_write on 12 CPUs of nodes 0-1: 300 writes``, who does it most first; the CPUs are those of all it did."""
    counts = sorted(((_times(one, verb), one) for one in touchers), key=lambda pair: -pair[0])
    told = [f"{short(one.function)}{where(one)}: {counted(count, verb)}" for count, one in counts if count]
    more = len(told) - MOST_TOUCHERS
    return (*told[:MOST_TOUCHERS], *([f"and {more} more"] if more > 0 else []))


def _times(one: Toucher, verb: str) -> int:
    return one.reads if verb == "read" else one.writes
