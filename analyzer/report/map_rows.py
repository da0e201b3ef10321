# SPDX-License-Identifier: GPL-2.0-or-later
"""Line maps as rows of text: members to scale, heat by shades and figures, so that colour is never needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap

from linesmith.analyzer.line_map.folding import Fold, folded
from linesmith.analyzer.model import CellKind, LineMap, MapLine
from linesmith.analyzer.report.map_slots import MOVED, NO_BREAK, Slot, numbered, slots
from linesmith.analyzer.report.map_words import heading, level, levels, percent, remarks, touch
from linesmith.analyzer.report.short_names import columns, short

# Shades by level of heat, in a character set that every mail carries and in one that terminals have.
PLAIN = " .:+*#"
BLOCKS = " ·░▒▓█"
LEAST_WIDTH = 40
GUTTER = 5
BETWEEN = 3
# Columns that a line of 64 bytes is drawn on: half a byte's, a byte's, two bytes' each.
SCALES = (128, 64, 32)
_RULED = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text; ``level`` is the heat of what it shows, 0 … 5."""

    text: str
    level: int = 0


Row = tuple[Piece, ...]


def plain(rows: Iterable[Row]) -> str:
    """The rows as text that ends in a newline."""
    return "".join(f"{''.join(piece.text for piece in row).rstrip()}\n" for row in rows)


def map_rows(drawn: LineMap, width: int, shades: str = PLAIN) -> list[Row]:
    """The map on ``width`` columns (40 and more), with what its numbers and shades mean."""
    return [*_alone(drawn, width, shades), *_told(key((drawn,), shades), width)]


def group_rows(group: Sequence[LineMap], width: int, shades: str = PLAIN) -> list[Row]:
    """The rows of one map, or of two of a change."""
    return compared_rows(group[0], group[1], width, shades) if len(group) > 1 else map_rows(group[0], width, shades)


def compared_rows(before: LineMap, after: LineMap, width: int, shades: str = PLAIN) -> list[Row]:
    """Two maps, side by side where both have room at a column a byte, else one below the other."""
    half = (width - BETWEEN) // 2
    if half < GUTTER + SCALES[1] + 1:
        both = [row for one in (before, after) for row in [*_alone(one, width, shades), (Piece(""),)]]
        return [*both, *_told(key((before, after), shades), width)]
    left, right = (list(_column(one, half, shades)) for one in (before, after))
    none: list[Row] = []
    rows = [row for one, other in zip_longest(left, right, fillvalue=none) for row in _beside(one, other, half)]
    return [*rows, *_told(key((before, after), shades), width)]


def key(maps: Sequence[LineMap], shades: str) -> Iterator[str]:
    """What the signs mean that can stand in the maps."""
    cells = [cell for one in maps for line in one.lines for cell in line.cells]
    shown = {level(cell) for cell in cells} - {0}
    if shown:
        signs = [f"{shades[number]} {text}" for number, text in enumerate(levels()) if number in shown]
        yield f"heat (share of the contended samples): {', '.join(signs)}; r read, w written"
    if any(cell.moved for cell in cells):
        yield f"{MOVED} moved"


def _alone(drawn: LineMap, width: int, shades: str) -> list[Row]:
    return [row for block in _column(drawn, width, shades) for row in block]


def _column(drawn: LineMap, width: int, shades: str) -> Iterator[list[Row]]:
    """The heading, each line or fold, and what the numbers stand for: what can stand beside another map's."""
    scale = _scale(width)
    yield _told(("; ".join((heading(drawn), *remarks(drawn))),), width)
    yield from _blocks(drawn, scale, width, shades)
    yield _legend(drawn, scale, width)


def _beside(left: Sequence[Row], right: Sequence[Row], half: int) -> Iterator[Row]:
    for one, other in zip_longest(left, right, fillvalue=()):
        used = sum(columns(piece.text) for piece in one)
        yield (*one, Piece(" " * (half + BETWEEN - used)), *other)


def _scale(width: int) -> int:
    room = max(width, LEAST_WIDTH) - GUTTER - 1
    return next(one for one in SCALES if one <= room)


def _told(texts: Iterable[str], width: int) -> list[Row]:
    rows = (line for text in texts for line in wrap(text, width, subsequent_indent="  "))
    return [(Piece(line.replace(NO_BREAK, " ")),) for line in rows]


def _blocks(drawn: LineMap, scale: int, width: int, shades: str) -> Iterator[list[Row]]:
    """The ruler, then the rows of each line or fold."""
    yield [(Piece(_ruler(drawn.line_bytes, scale)),)]
    for one in folded(drawn):
        if isinstance(one, Fold):
            yield _told((f"{'...':>4} lines {one.first} to {one.last}: {short(one.what)}",), width)
        else:
            yield _line(one, slots(one, drawn.line_bytes, scale), shades)


def _ruler(line_bytes: int, scale: int) -> str:
    """Byte numbers over the columns of every eighth of a line."""
    step = line_bytes // _RULED
    marks = "".join(f"{at:<{scale // _RULED}}" for at in range(0, line_bytes, step))
    return f"{'line':>{GUTTER - 1}} {marks}"


def _line(line: MapLine, drawn: Sequence[Slot], shades: str) -> list[Row]:
    """The names; below them the heat where there is any."""
    indent = " " * (drawn[0].start if drawn else 0)
    rows = [_row(f"{line.number:>4} {indent}", drawn, [_name(slot) for slot in drawn])]
    if any(level(cell) for cell in line.cells):
        share = percent(line.heat) if line.heat else ""
        rows.append(_row(f"{share:>4} {indent}", drawn, [_heat(slot, shades) for slot in drawn]))
    return rows


def _row(gutter: str, drawn: Sequence[Slot], texts: Sequence[str]) -> Row:
    pieces = [Piece(gutter)]
    for slot, text in zip(drawn, texts, strict=True):
        pieces += [Piece("|"), Piece(text, _level(slot))]
    return (*pieces, Piece("|"))


def _level(slot: Slot) -> int:
    return max(level(cell) for cell in slot.cells)


def _name(slot: Slot) -> str:
    """The label, filled up; of a gap dashes, and what it is where there is room."""
    first = slot.cells[0]
    if first.kind is CellKind.MEMBER or slot.number:
        return slot.label + " " * (slot.room - columns(slot.label))
    return (slot.label if slot.room >= len(slot.label) else "").center(slot.room, "-")


def _heat(slot: Slot, shades: str) -> str:
    """The shade of the hottest cell with the share of all in figures, as far as there is room."""
    shade = shades[_level(slot)]
    share = sum(cell.heat or 0 for cell in slot.cells)
    letters = "".join(letter for letter in "rw" if any(letter in touch(cell) for cell in slot.cells))
    figures = percent(share) if share else ""
    text = next((one for one, room in _texts(figures, letters) if room <= slot.room), "")
    return text.center(slot.room, shade) if _level(slot) else " " * slot.room


def _texts(figures: str, letters: str) -> Iterator[tuple[str, int]]:
    """What can stand among the shades, the most telling first, with the columns that it takes with some of these."""
    both = " ".join(part for part in (figures, letters) if part)
    for text, shade in ((f" {both} ", 2), (figures + letters, 1), (figures or letters, 0), (figures.rstrip("%"), 0)):
        yield text, len(text) + shade


def _legend(drawn: LineMap, scale: int, width: int) -> list[Row]:
    """What the numbers of each line stand for."""
    lines = [one for one in folded(drawn) if isinstance(one, MapLine)]
    told = ((one.number, numbered(slots(one, drawn.line_bytes, scale))) for one in lines)
    return _told((f"line {number}: {text}" for number, text in told if text), width)
