# SPDX-License-Identifier: GPL-2.0-or-later
"""The grammar of a row of the distribution: shares, offset, counts, then symbol, object, source and nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from linesmith.plugins.profiles import columns as c
from linesmith.plugins.profiles.columns import Column, Columns, Shape
from linesmith.plugins.profiles.tail import Tail, read_tail
from linesmith.plugins.profiles.tokens import Cursor, Kind, Token

_MOST_SHARES = 7
_FEWEST_SHARES = 2
_FEWEST_SHARES_ALONE = 3  # perf report prints two shares and a symbol
_MOST_CELLS = 16
_LARGEST_LINE = 256
_NUMERIC = frozenset((Kind.INTEGER, Kind.HEX, Kind.NODE, Kind.THREAD))
_CELLS = {
    Shape.SHARE: frozenset((Kind.PERCENT,)),
    Shape.ADDRESS: frozenset((Kind.HEX,)),
    Shape.NODE: frozenset((Kind.INTEGER, Kind.NODE)),
    Shape.COUNT: frozenset((Kind.INTEGER,)),
    Shape.PROCESS: frozenset((Kind.INTEGER, Kind.THREAD)),
}


@dataclass(slots=True)
class Row:
    """One row as printed; ``shares`` are in percent, ``numbers`` by the value names of ``columns``.

    ``unnamed`` counts cells whose column could not be told. ``origin``: an address stands before the symbol.
    """

    line: int
    shares: tuple[tuple[str, float], ...]
    numbers: dict[str, int] = field(default_factory=dict)
    process: str | None = None
    kernel: bool | None = None
    tail: Tail = field(default_factory=Tail)
    unnamed: int = 0
    words: int = 0
    origin: bool = False


def read_row(cursor: Cursor, heading: Columns | None) -> Row | None:
    """The row at the cursor by its heading, or by its own shape when heading and row disagree."""
    shares = share_run(cursor)
    cells = tuple(_cells(cursor, shares))
    origin = len(cells) > 1 and _has_origin(cursor, shares + len(cells) - 1)
    cells = cells[:-1] if origin else cells
    marked = origin or cursor.peek(shares + len(cells)).kind is Kind.MODE
    named = _named_by(heading, shares, cells, marked) if heading else None
    columns = named or _inferred(shares, cells, marked)
    if columns is None:
        return None
    return _read(cursor, columns, heading if named else None)


def share_run(cursor: Cursor) -> int:
    """How many shares begin at the cursor; a line with as many shares as this one is a row of its own."""
    lengths = [0, 0]
    at, part = 0, 0
    while at < _MOST_SHARES and cursor.peek(at).kind is Kind.PERCENT:
        part += at > 0 and cursor.peek(at).gap < 0
        if part > 1:
            break
        lengths[part] += 1
        at += 1
    return lengths[0] if lengths[1] >= lengths[0] else sum(lengths)


def _cells(cursor: Cursor, start: int) -> Iterator[Token]:
    """The numeric cells behind the shares; a thread's name may have blanks in front of the code address."""
    at, words = start, 0
    while at - start < _MOST_CELLS:
        token = cursor.peek(at)
        inside_name = words and token.kind is Kind.WORD and words < 4
        if token.kind not in _NUMERIC and not inside_name:
            return
        words = 1 if token.kind is Kind.THREAD else words + 1 if inside_name else 0
        yield token
        at += 1


def _has_origin(cursor: Cursor, at: int) -> bool:
    """Whether ``perf -v`` put the address and a letter for the symbol table in front of the symbol."""
    address, table, mode = (cursor.peek(at + ahead) for ahead in range(3))
    return address.kind is Kind.HEX and len(table.text) == 1 and mode.kind is Kind.MODE


def _named_by(heading: Columns, shares: int, cells: tuple[Token, ...], marked: bool) -> Columns | None:
    """The heading's columns in front of the symbol, if the row has just these cells."""
    front = tuple(column for column in heading if column.shape in _CELLS)
    values = front[shares:]
    in_place = ((column.shape is Shape.SHARE) == (at < shares) for at, column in enumerate(front))
    if front[:shares] != heading[:shares] or not all(in_place):
        return None
    names = sum(1 for cell in cells if cell.kind is Kind.WORD)
    exact = marked or c.SYMBOL in heading or c.OBJECT in heading
    if len(cells) - names < len(values) or (exact and len(cells) - names != len(values)):
        return None
    plain = [cell for cell in cells if cell.kind is not Kind.WORD]
    fits = all(_holds(column, cell) for column, cell in zip(values, plain, strict=False))
    return front if fits else None


def _holds(column: Column, cell: Token) -> bool:
    inside = column is not c.OFFSET or cell.kind is not Kind.HEX or int(cell.text, 16) < _LARGEST_LINE
    return inside and cell.kind in _CELLS[column.shape]


def _inferred(shares: int, cells: tuple[Token, ...], marked: bool) -> Columns | None:
    """Columns told from the number of cells between shares, addresses and symbol; ``None``: this is no row."""
    plain = [cell for cell in cells if cell.kind is not Kind.WORD]
    has_offset = bool(plain) and plain[0].kind is Kind.HEX and int(plain[0].text, 16) < _LARGEST_LINE
    if shares < (_FEWEST_SHARES if has_offset else _FEWEST_SHARES_ALONE) or not (has_offset or marked):
        return None
    rest = plain[1:] if has_offset else plain
    code = next((index for index, cell in enumerate(rest) if cell.kind is Kind.HEX), None)
    if code is None:
        middle = _without_code(rest, marked)
    else:
        middle = (*_before_code(rest[:code]), c.CODE, *_counts(len(rest) - code - 1))
    front = c.SHARES.get(shares, (c.UNNAMED_SHARE,) * shares)
    return (*front, *((c.OFFSET,) if has_offset else ()), *_fitting(middle, rest))


def _fitting(columns: Columns, cells: list[Token]) -> Columns:
    """The columns, unnamed where the cell has another shape; cells behind them are nodes."""
    pairs = zip(columns, cells, strict=False)
    return tuple(column if cell.kind in _CELLS[column.shape] else c.UNNAMED_COUNT for column, cell in pairs)


def _before_code(cells: list[Token]) -> Columns:
    """Node and page count, process, thread: what stands between offset and code address."""
    tasks = sum(1 for cell in cells if cell.kind is Kind.THREAD)
    place = 2 if len(cells) - tasks >= 2 else 0
    process = len(cells) - tasks - place
    if process > 1 or tasks > 1:
        return (c.UNNAMED_COUNT,) * len(cells)
    return (*(c.OFFSET_NODE, c.PAGES)[:place], *(c.PID,) * process, *(c.TID,) * tasks)


def _counts(number: int) -> Columns:
    return c.COUNTS.get(number, (c.UNNAMED_COUNT,) * number)


def _without_code(cells: list[Token], marked: bool) -> Columns:
    """Rows coalesced without ``iaddr``, or with the code address cut out: the counts are the last ones."""
    thread = next((at for at, cell in enumerate(cells) if cell.kind is Kind.THREAD), None)
    if thread is not None:
        number = 4 if thread < 2 else 5
        if len(cells) >= thread + 1 + number:
            return (*_before_code(cells[: thread + 1]), *_counts(number))
    for place, number in ((2, 5), (3, 5), (0, 4), (1, 4)):
        if marked and place == 1:
            break
        if len(cells) == place + number:
            before = (c.PID,) if place == 1 else (c.OFFSET_NODE, c.PAGES, c.PID)[:place]
            return (*before, *_counts(number))
    return _counts(len(cells)) if marked else (c.UNNAMED_COUNT,) * len(cells)


def _read(cursor: Cursor, columns: Columns, heading: Columns | None) -> Row:
    """The row's values; the cells are known to fit the columns."""
    first = cursor.peek()
    shares: list[tuple[str, float]] = []
    row = Row(first.line, ())
    at = 0
    for column in columns:
        while cursor.peek(at).kind is Kind.WORD:
            row.process = f"{row.process} {cursor.peek(at).text}"
            at += 1
        cell = cursor.peek(at).text
        if column.shape is Shape.SHARE:
            shares.append((column.value, float(cell[:-1])))
        else:
            _keep(row, column, cell)
        at += 1
    row.shares = tuple(shares)
    row.origin = _has_origin(cursor, at)
    at += 2 * row.origin
    mode = cursor.peek(at)
    if mode.kind is Kind.MODE:
        row.kernel = {"k": True, "g": True, ".": False, "u": False}.get(mode.text[1])
        at += 1
    row.tail = read_tail(cursor, at, len(shares), heading, mode.kind is Kind.MODE)
    row.words = at + row.tail.words
    return row


def _keep(row: Row, column: Column, cell: str) -> None:
    if column is c.UNNAMED_COUNT:
        row.unnamed += 1
    elif column.shape is Shape.PROCESS:
        row.process = cell
    elif column.value:
        row.numbers[column.value] = int(cell, 16 if column.shape is Shape.ADDRESS else 10)
