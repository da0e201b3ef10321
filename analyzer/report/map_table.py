# SPDX-License-Identifier: GPL-2.0-or-later
"""The members of a map that somebody was seen to touch, hottest first, each with who that was."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from linesmith.analyzer.model import Cell, LineMap
from linesmith.analyzer.report.map_words import counts, level, marks, name, percent, toucher

MOST_CELLS = 40
MOST_TOUCHERS = 5
_FIGURES = "{:>5} {:>6} {:>5}  "
# On fewer columns functions begin further left.
_NARROW = 60


def touched_cells(drawn: LineMap) -> list[Cell]:
    """The cells that somebody was seen to touch, hottest first."""
    cells = [cell for line in drawn.lines for cell in line.cells if level(cell)]
    return sorted(cells, key=lambda cell: (-(cell.heat or 0), -cell.reads - cell.writes, cell.offset))


def table(drawn: LineMap, width: int) -> str:
    """A table on ``width`` columns, with a line of its own for each function; empty where nothing was touched."""
    cells = touched_cells(drawn)
    if not cells:
        return ""
    rows = [f"{_FIGURES.format('heat', 'offset', 'bytes')}member"]
    rows += [row for cell in cells[:MOST_CELLS] for row in _cell(cell, width)]
    more = len(cells) - MOST_CELLS
    return "\n".join([*rows, *([f"  and {more} more"] if more > 0 else []), ""])


def _cell(cell: Cell, width: int) -> Iterator[str]:
    heat = "" if cell.heat is None else percent(cell.heat)
    figures = _FIGURES.format(heat, cell.offset, cell.bytes)
    told = "; ".join((f"{name(cell)}: {counts(cell)}", *marks(cell)))
    indent = " " * (6 if width < _NARROW else len(figures) + 2)
    yield from wrap(told, width, initial_indent=figures, subsequent_indent=" " * len(figures) + "  ")
    for one in cell.touchers[:MOST_TOUCHERS]:
        yield from wrap(toucher(one), width, initial_indent=indent, subsequent_indent=f"{indent}  ")
    more = len(cell.touchers) - MOST_TOUCHERS
    if more > 0:
        yield f"{indent}and {more} more"
