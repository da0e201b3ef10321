# SPDX-License-Identifier: GPL-2.0-or-later
"""Which columns of a text the cells of a line get, to scale; what is too narrow for a name gets a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linesmith.analyzer.model import Cell, CellKind, MapLine
from linesmith.analyzer.report.map_words import name, short_name
from linesmith.analyzer.report.short_names import columns

# A number may push what follows to the right by so many columns; cells that need more share one.
_MOST_SHIFT = 1
MOVED = ">"
# A space at which no line is wrapped.
NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Slot:
    """Columns from ``start`` to before ``end``, the first for an edge; with ``number`` 0 the name stands there."""

    cells: tuple[Cell, ...]
    start: int
    end: int
    number: int = 0

    @property
    def room(self) -> int:
        """Columns behind the edge."""
        return self.end - self.start - 1

    @property
    def label(self) -> str:
        """What stands in it: the name or the number, behind a mark where something in it moved."""
        mark = MOVED if any(cell.moved for cell in self.cells) else ""
        if self.number:
            return f"{mark}{self.number}"
        names = (f"{mark}{text}" for text in (name(self.cells[0]), short_name(self.cells[0])))
        return min(names, key=lambda text: columns(text) > self.room)


class _Row:
    """Cells of one line on ``width`` columns; ``waiting`` are narrow ones that have no column of their own yet."""

    def __init__(self, line_bytes: int, width: int) -> None:
        self.line_bytes = line_bytes
        self.width = width
        self.slots: list[Slot] = []
        self.waiting: list[Cell] = []
        self.used = 0
        self.numbers = 0

    def place(self, cell: Cell) -> None:
        """Give the cell its columns, or let it wait for the next."""
        if not self.slots and not self.waiting:
            self.used = self._column(cell.start)
        end = self._column(cell.start + cell.bytes)
        own = Slot((cell,), self.used, end)
        if not self.waiting and _has_room(own):
            self._put(own)
            return
        self.waiting.append(cell)
        needed = self.used + 1 + len(self._numbered(self.used, end).label)
        if needed <= end + (_MOST_SHIFT if end < self.width else 0):
            self._put(self._numbered(self.used, max(end, needed)))

    def finish(self) -> tuple[Slot, ...]:
        """All slots; what still waits shares the last one."""
        if self.waiting:
            before = self.slots.pop() if self.slots else Slot((), self.used, self.used)
            end = max(self._column(self.waiting[-1].start + self.waiting[-1].bytes), before.end)
            self.numbers -= before.number > 0
            self.waiting = [*before.cells, *self.waiting]
            self._put(self._numbered(before.start, end))
        return tuple(self.slots)

    def _numbered(self, start: int, end: int) -> Slot:
        return Slot(tuple(self.waiting), start, end, self.numbers + 1)

    def _put(self, slot: Slot) -> None:
        self.slots.append(slot)
        self.used = slot.end
        self.numbers = max(self.numbers, slot.number)
        self.waiting = []

    def _column(self, byte: int) -> int:
        return byte * self.width // self.line_bytes


def _has_room(slot: Slot) -> bool:
    """Whether the name fits; a gap needs none."""
    is_gap = slot.cells[0].kind is not CellKind.MEMBER
    return slot.room >= (0 if is_gap else columns(slot.label))


def slots(line: MapLine, line_bytes: int, width: int) -> tuple[Slot, ...]:
    """The line's cells in order on ``width`` columns; none is left out, none overlap."""
    row = _Row(line_bytes, width)
    for cell in line.cells:
        row.place(cell)
    return row.finish()


def numbered(drawn: Iterable[Slot]) -> str:
    """What the numbers stand for: ``1 gfp_mask, 2 ready + hole``; no line breaks between number and name."""
    listed = (
        f"{slot.number}{NO_BREAK}{' + '.join(name(cell) for cell in slot.cells)}" for slot in drawn if slot.number
    )
    return ", ".join(listed)
