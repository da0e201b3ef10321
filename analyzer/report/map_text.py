# SPDX-License-Identifier: GPL-2.0-or-later
"""Line maps as rows of text: members to scale, heat by shades and figures, so that colour is never needed.

A cell of a line gets columns to scale; what is too narrow for a name gets a number, which a legend explains. Below the
map stands a table of the members that somebody was seen to touch, hottest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from linesmith.analyzer.line_map.record_map import Fold, folded
from linesmith.analyzer.model import Cell, CellKind, LineMap, MapLine
from linesmith.analyzer.report.map_words import (
    counts,
    heading,
    level,
    levels,
    marks,
    name,
    percent,
    remarks,
    short_name,
    touch,
    toucher,
)
from linesmith.analyzer.report.prose import columns, short

# A number may push what follows to the right by so many columns; cells that need more share one.
_MOST_SHIFT = 1
MOVED = ">"
# A space at which no line is wrapped.
NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class MapSlot:
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
    def level(self) -> int:
        """The heat of the hottest cell."""
        return max(level(cell) for cell in self.cells)

    @property
    def label(self) -> str:
        """What stands in it: the name or the number, behind a mark where something in it moved."""
        mark = MOVED if any(cell.moved for cell in self.cells) else ""
        if self.number:
            return f"{mark}{self.number}"
        names = (f"{mark}{text}" for text in (name(self.cells[0]), short_name(self.cells[0])))
        return min(names, key=lambda text: columns(text) > self.room)


class _LineSlots:
    """Cells of one line on ``width`` columns; ``waiting`` are narrow ones that have no column of their own yet."""

    def __init__(self, line_bytes: int, width: int) -> None:
        self.line_bytes = line_bytes
        self.width = width
        self.slots: list[MapSlot] = []
        self.waiting: list[Cell] = []
        self.used = 0
        self.numbers = 0

    def place(self, cell: Cell) -> None:
        """Give the cell its columns, or let it wait for the next."""
        if not self.slots and not self.waiting:
            self.used = self._column(cell.start)
        end = self._column(cell.start + cell.bytes)
        own = MapSlot((cell,), self.used, end)
        # A gap needs no room for a name.
        has_room = own.room >= (columns(own.label) if cell.kind is CellKind.MEMBER else 0)
        if not self.waiting and has_room:
            self._put(own)
            return
        self.waiting.append(cell)
        needed = self.used + 1 + len(self._numbered(self.used, end).label)
        if needed <= end + (_MOST_SHIFT if end < self.width else 0):
            self._put(self._numbered(self.used, max(end, needed)))

    def finish(self) -> tuple[MapSlot, ...]:
        """All slots; what still waits shares the last one."""
        if self.waiting:
            before = self.slots.pop() if self.slots else MapSlot((), self.used, self.used)
            end = max(self._column(self.waiting[-1].start + self.waiting[-1].bytes), before.end)
            self.numbers -= before.number > 0
            self.waiting = [*before.cells, *self.waiting]
            self._put(self._numbered(before.start, end))
        return tuple(self.slots)

    def _numbered(self, start: int, end: int) -> MapSlot:
        return MapSlot(tuple(self.waiting), start, end, self.numbers + 1)

    def _put(self, slot: MapSlot) -> None:
        self.slots.append(slot)
        self.used = slot.end
        self.numbers = max(self.numbers, slot.number)
        self.waiting = []

    def _column(self, byte: int) -> int:
        return byte * self.width // self.line_bytes


def slots(line: MapLine, line_bytes: int, width: int) -> tuple[MapSlot, ...]:
    """The line's cells in order on ``width`` columns; none is left out, none overlap."""
    placed = _LineSlots(line_bytes, width)
    for cell in line.cells:
        placed.place(cell)
    return placed.finish()


def numbered(drawn: Iterable[MapSlot]) -> str:
    """What the numbers stand for: ``1 gfp_mask, 2 ready + hole``; no line breaks between number and name."""
    listed = (
        f"{slot.number}{NO_BREAK}{' + '.join(name(cell) for cell in slot.cells)}" for slot in drawn if slot.number
    )
    return ", ".join(listed)


# Shades by level of heat, in a character set that every mail carries and in one that terminals have.
PLAIN = " .:+*#"
BLOCKS = " ·░▒▓█"
GUTTER = 5
# Columns that a line of 64 bytes is drawn on: half a byte's, a byte's, two bytes' each.
SCALES = (128, 64, 32)
_RULED = 8


@dataclass(frozen=True, slots=True)
class MapText:
    """A run of text; ``level`` is the heat of what it shows, 0 … 5."""

    text: str
    level: int = 0


MapRow = tuple[MapText, ...]


def group_rows(group: Sequence[LineMap], width: int, shades: str = PLAIN) -> list[MapRow]:
    """One map, or the two of a change below each other, on ``width`` columns (40 and more), and what the signs mean."""
    rows: list[MapRow] = []
    for drawn in group:
        rows += _map(drawn, width, shades)
        rows += [(MapText(""),)] if len(group) > 1 else []
    return [*rows, *_text_rows(key(group, shades), width)]


def key(maps: Sequence[LineMap], shades: str) -> Iterator[str]:
    """What the signs mean that can stand in the maps."""
    cells = [cell for one in maps for line in one.lines for cell in line.cells]
    shown = {level(cell) for cell in cells} - {0}
    if shown:
        signs = [f"{shades[number]} {text}" for number, text in enumerate(levels()) if number in shown]
        yield f"heat (share of the contended accesses): {', '.join(signs)}; r read, w written"
    if any(cell.moved for cell in cells):
        yield f"{MOVED} moved"


def _text_rows(texts: Iterable[str], width: int) -> list[MapRow]:
    rows = (line for text in texts for line in wrap(text, width, subsequent_indent="  "))
    return [(MapText(line.replace(NO_BREAK, " ")),) for line in rows]


def _map(drawn: LineMap, width: int, shades: str) -> Iterator[MapRow]:
    """Heading, ruler, each line or fold, and what the numbers stand for."""
    scale = next((one for one in SCALES if GUTTER + one + 1 <= width), SCALES[-1])
    yield from _text_rows(("; ".join((heading(drawn), *remarks(drawn))),), width)
    # Byte numbers over the columns of every eighth of a line.
    starts = range(0, drawn.line_bytes, drawn.line_bytes // _RULED)
    yield (MapText(f"{'line':>{GUTTER - 1}} {''.join(f'{at:<{scale // _RULED}}' for at in starts)}"),)
    legend = []
    for one in folded(drawn):
        if isinstance(one, Fold):
            yield from _text_rows((f"{'...':>4} lines {one.first} to {one.last}: {short(one.what)}",), width)
            continue
        placed = slots(one, drawn.line_bytes, scale)
        yield from _line(one, placed, shades)
        if text := numbered(placed):
            legend.append(f"line {one.number}: {text}")
    yield from _text_rows(legend, width)


def _line(line: MapLine, drawn: Sequence[MapSlot], shades: str) -> list[MapRow]:
    """The names; below them the heat where there is any."""
    indent = " " * (drawn[0].start if drawn else 0)
    lines = [(f"{line.number:>4}", [_name(slot) for slot in drawn])]
    if any(level(cell) for cell in line.cells):
        lines.append((f"{percent(line.heat) if line.heat else '':>4}", [_heat(slot, shades) for slot in drawn]))
    rows = []
    for label, texts in lines:
        pieces = [MapText(f"{label} {indent}")]
        for slot, text in zip(drawn, texts, strict=True):
            pieces += [MapText("|"), MapText(text, slot.level)]
        rows.append((*pieces, MapText("|")))
    return rows


def _name(slot: MapSlot) -> str:
    """The label, filled up; of a gap dashes, and what it is where there is room."""
    if slot.cells[0].kind is CellKind.MEMBER or slot.number:
        return slot.label + " " * (slot.room - columns(slot.label))
    return (slot.label if slot.room >= len(slot.label) else "").center(slot.room, "-")


def _heat(slot: MapSlot, shades: str) -> str:
    """The shade of the hottest cell with the share of all in figures, as far as there is room."""
    if not slot.level:
        return " " * slot.room
    share = sum(cell.heat or 0 for cell in slot.cells)
    letters = "".join(letter for letter in "rw" if any(letter in touch(cell) for cell in slot.cells))
    figures = percent(share) if share else ""
    spaced = " ".join(part for part in (figures, letters) if part)
    # The most telling first, each with the columns that the shades have at least.
    texts = ((f" {spaced} ", 2), (figures + letters, 1), (figures or letters, 0), (figures.rstrip("%"), 0))
    text = next((one for one, shade in texts if len(one) + shade <= slot.room), "")
    return text.center(slot.room, shades[slot.level])


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
    words = "; ".join((f"{name(cell)}: {counts(cell)}", *marks(cell)))
    indent = " " * (6 if width < _NARROW else len(figures) + 2)
    yield from wrap(words, width, initial_indent=figures, subsequent_indent=" " * len(figures) + "  ")
    for one in cell.touchers[:MOST_TOUCHERS]:
        yield from wrap(toucher(one), width, initial_indent=indent, subsequent_indent=f"{indent}  ")
    more = len(cell.touchers) - MOST_TOUCHERS
    if more > 0:
        yield f"{indent}and {more} more"
