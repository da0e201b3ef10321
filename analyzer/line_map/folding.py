# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines of a map are worth a row: runs of lines that say nothing new become one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from linesmith.analyzer.model import Cell, LineMap, MapLine

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
    return tuple(_rows(groupby(drawn.lines, lambda line: _what(line, long))))


def _rows(runs: Iterable[tuple[str, Iterable[MapLine]]]) -> Iterator[MapLine | Fold]:
    for what, run in runs:
        lines = list(run)
        if what and len(lines) >= LEAST_FOLDED:
            yield Fold(lines[0].number, lines[-1].number, what)
        else:
            yield from lines


def _what(line: MapLine, long: bool) -> str:
    """What a fold with this line in it is said to be; empty for a line that must be seen."""
    if any(_is_of_interest(cell) for cell in line.cells):
        return ""
    if len(line.cells) == 1:
        return line.cells[0].path or line.cells[0].kind.value
    return "nobody was seen to touch these" if long and line.heat is not None else ""


def _is_of_interest(cell: Cell) -> bool:
    return bool(cell.heat or cell.reads or cell.writes or cell.written or cell.moved)
