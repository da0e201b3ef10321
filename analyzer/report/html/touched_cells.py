# SPDX-License-Identifier: GPL-2.0-or-later
"""A line map in words: each member that was touched, and who read or wrote it, on which CPUs and nodes."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model import CellKind, LineMap, Toucher
from linesmith.analyzer.report.map_words import level, percent, toucher

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
            _told([one for one in cell.touchers if one.reads]),
            _told([one for one in cell.touchers if one.writes]),
            cell.straddles,
        )
        for line in drawn.lines
        for cell in line.cells
        if cell.kind is CellKind.MEMBER and level(cell)
    )


def _told(touchers: list[Toucher]) -> tuple[str, ...]:
    more = len(touchers) - MOST_TOUCHERS
    return (*map(toucher, touchers[:MOST_TOUCHERS]), *([f"and {more} more"] if more > 0 else []))
