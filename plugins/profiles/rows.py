# SPDX-License-Identifier: GPL-2.0-or-later
"""The grammar of a row of the distribution: shares, offset, counts, then symbol, object, source and nodes.

Columns are named by the heading, or by the row's own shape where there is none or it does not fit. The words at the end
are split by the blanks between columns where they are left, by their looks where a mail wrapped or joined lines.
A row that stands on a line of its own below a heading is read by ``printed.py``, with the same result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from linesmith.plugins.profiles import columns as c
from linesmith.plugins.profiles.columns import Columns, TextCursor, Token, WordKind

_MOST_SHARES = 7
_FEWEST_SHARES = 2
_FEWEST_SHARES_ALONE = 3  # perf report prints two shares and a symbol
_MOST_CELLS = 16
_LARGEST_LINE = 256
_NUMERIC = frozenset((WordKind.INTEGER, WordKind.HEX, WordKind.NODE, WordKind.THREAD))
_MOST_WORDS = 48
_MOST_WRAPPED_WORDS = 5
_MOST_NODE_WORDS = 256
_NOTE = ("<-", "<=", "^", "//", "/*")
_STOP = frozenset(
    (WordKind.PERCENT, WordKind.RULE, WordKind.BANNER, WordKind.MARGIN, WordKind.GRAPH, WordKind.MODE, WordKind.END)
)
KERNEL_MODES = {"k": True, "g": True, ".": False, "u": False}
_NODE_WORD = re.compile(r"\d{1,4}\{.*", re.ASCII)
_SOURCE = re.compile(r"\?\?:0$|.*[^+]\+\d+$|.*:\d+$|[^\[]+\[[0-9a-f]+\]$", re.ASCII)
_OBJECT = re.compile(r"\[[^\[\]]+\]$|.*\.so(?:[.\-]\w+)*$|.*\.(?:ko|map|exe)$|/.*", re.ASCII)


class RowTail(NamedTuple):
    """What follows the counts of a row; ``words`` is how many tokens it took."""

    symbol: str | None = None
    object_file: str | None = None
    source: str | None = None
    nodes: str | None = None
    words: int = 0


class ReportRows(NamedTuple):
    """Rows with the same columns, one below the other, column by column.

    ``shares`` are in percent of what ``values`` names, column by column; ``numbers`` are by name. ``unnamed`` counts
    cells of a row whose column is not known. ``origin``: an address stands before the symbol.
    """

    text_line: Sequence[int]
    values: tuple[str, ...]
    shares: Sequence[Sequence[float]]
    numbers: dict[str, Sequence[int]]
    process: Sequence[str | None]
    kernel: Sequence[bool | None]
    symbol: Sequence[str | None]
    object_file: Sequence[str | None]
    source: Sequence[str | None]
    nodes: Sequence[str | None]
    origin: bool = False
    unnamed: int = 0
    words: int = 0


def read_row(cursor: TextCursor, heading: Columns | None) -> ReportRows | None:
    """The row at the cursor by its heading, or by its own shape when heading and row disagree."""
    shares = share_run(cursor)
    cells = tuple(_cells(cursor, shares))
    origin = len(cells) > 1 and _has_origin(cursor, shares + len(cells) - 1)
    cells = cells[:-1] if origin else cells
    marked = origin or cursor.peek(shares + len(cells)).kind is WordKind.MODE
    named = _named_by(heading, shares, cells, marked) if heading else None
    columns = named or _inferred(shares, cells, marked)
    return None if columns is None else _read(cursor, columns, heading if named else None)


def share_run(cursor: TextCursor) -> int:
    """How many shares begin at the cursor; a line with as many shares as this one is a row of its own."""
    lengths = [0, 0]
    at, part = 0, 0
    while at < _MOST_SHARES and cursor.peek(at).kind is WordKind.PERCENT:
        part += at > 0 and cursor.peek(at).gap < 0
        if part > 1:
            break
        lengths[part] += 1
        at += 1
    return lengths[0] if lengths[1] >= lengths[0] else sum(lengths)


def _cells(cursor: TextCursor, start: int) -> Iterator[Token]:
    """The numeric cells behind the shares; a thread's name may have blanks in front of the code address."""
    words = 0
    for at in range(start, start + _MOST_CELLS):
        token = cursor.peek(at)
        inside_name = words and token.kind is WordKind.WORD and words < 4
        if token.kind not in _NUMERIC and not inside_name:
            return
        words = 1 if token.kind is WordKind.THREAD else words + 1 if inside_name else 0
        yield token


def _has_origin(cursor: TextCursor, at: int) -> bool:
    """Whether ``perf -v`` put the address and a letter for the symbol table in front of the symbol."""
    address, table, mode = (cursor.peek(at + ahead) for ahead in range(3))
    return address.kind is WordKind.HEX and len(table.text) == 1 and mode.kind is WordKind.MODE


def _named_by(heading: Columns, shares: int, cells: tuple[Token, ...], marked: bool) -> Columns | None:
    """The heading's columns in front of the symbol, if the row has just these cells."""
    front = tuple(column for column in heading if column.cells)
    values = front[shares:]
    in_place = ((column.cells is c.SHARE) == (at < shares) for at, column in enumerate(front))
    if front[:shares] != heading[:shares] or not all(in_place):
        return None
    plain = [cell for cell in cells if cell.kind is not WordKind.WORD]
    exact = marked or c.SYMBOL in heading or c.OBJECT in heading
    if len(plain) < len(values) or (exact and len(plain) != len(values)):
        return None
    for column, cell in zip(values, plain, strict=False):
        beyond = column is c.OFFSET and cell.kind is WordKind.HEX and int(cell.text, 16) >= _LARGEST_LINE
        if beyond or cell.kind not in column.cells:
            return None
    return front


def _inferred(shares: int, cells: tuple[Token, ...], marked: bool) -> Columns | None:
    """Columns by the number of cells between shares, addresses and symbol; ``None``: this is no row."""
    plain = [cell for cell in cells if cell.kind is not WordKind.WORD]
    has_offset = bool(plain) and plain[0].kind is WordKind.HEX and int(plain[0].text, 16) < _LARGEST_LINE
    if shares < (_FEWEST_SHARES if has_offset else _FEWEST_SHARES_ALONE) or not (has_offset or marked):
        return None
    rest = plain[1:] if has_offset else plain
    number = len(rest)
    unnamed = (c.UNNAMED_COUNT,) * number
    code = next((index for index, cell in enumerate(rest) if cell.kind is WordKind.HEX), None)
    if code is not None:
        behind = number - code - 1
        middle = (*_before_code(rest[:code]), c.CODE, *c.COUNTS.get(behind, unnamed[:behind]))
    elif number == 7:  # rows that are distinguished by object, or whose code address was cut out
        middle = (c.OFFSET_NODE, c.PAGES, *c.COUNTS[5])
    else:
        middle = c.COUNTS.get(number, unnamed) if marked or number == 4 else unnamed
    # Cells behind the columns are nodes; a cell of another kind is not what it seems.
    pairs = zip(middle, rest, strict=False)
    fitting = (column if cell.kind in column.cells else c.UNNAMED_COUNT for column, cell in pairs)
    return (*c.SHARES.get(shares, (c.UNNAMED_SHARE,) * shares), *((c.OFFSET,) if has_offset else ()), *fitting)


def _before_code(cells: list[Token]) -> Columns:
    """Node and page count, process, thread: what stands between offset and code address."""
    tasks = sum(1 for cell in cells if cell.kind is WordKind.THREAD)
    place = 2 if len(cells) - tasks >= 2 else 0
    process = len(cells) - tasks - place
    if process > 1 or tasks > 1:
        return (c.UNNAMED_COUNT,) * len(cells)
    return (*(c.OFFSET_NODE, c.PAGES)[:place], *(c.PID,) * process, *(c.TID,) * tasks)


def _read(cursor: TextCursor, columns: Columns, heading: Columns | None) -> ReportRows:
    """The row's values; the cells are known to fit the columns."""
    values = tuple(column.value for column in columns if column.cells is c.SHARE)
    shares: list[tuple[float]] = []
    numbers: dict[str, Sequence[int]] = {}
    process: str | None = None
    at = 0
    for column in columns:
        while cursor.peek(at).kind is WordKind.WORD:
            process = f"{process} {cursor.peek(at).text}"
            at += 1
        cell = cursor.peek(at).text
        at += 1
        if column.cells is c.SHARE:
            shares.append((float(cell[:-1]),))
        elif column.cells is c.PROCESS:
            process = cell
        elif column.value:
            numbers[column.value] = (int(cell, 16 if column.cells is c.ADDRESS else 10),)
    origin = _has_origin(cursor, at)
    at += 2 * origin
    mode = cursor.peek(at)
    marked = mode.kind is WordKind.MODE
    at += marked
    symbol, object_file, source, nodes, words = read_tail(cursor, at, heading, marked)
    kernel = KERNEL_MODES.get(mode.text[1]) if marked else None
    cells = (process,), (kernel,), (symbol,), (object_file,), (source,), (nodes,)
    unnamed = columns.count(c.UNNAMED_COUNT)
    return ReportRows((cursor.peek().line,), values, shares, numbers, *cells, origin, unnamed, at + words)


def read_tail(cursor: TextCursor, start: int, heading: Columns | None, marked: bool) -> RowTail:
    """The end of the row whose cells end at ``start``; ``marked``: a ``[k]`` or ``[.]`` stands in front.

    Ends where the next row, a rule, a heading or a call graph begins, or at the end of the line when the
    row is whole. ``heading`` tells which of symbol, object and source to expect; without it the words themselves tell.
    """
    expected = (marked, True, marked)
    if heading is not None:
        expected = (c.SYMBOL in heading, c.OBJECT in heading, c.SOURCE in heading)
    texts: list[Token] = []
    while any(expected) and len(texts) < _MOST_WORDS:
        token = cursor.peek(start + len(texts))
        if token.kind in _STOP or token.text.startswith(_NOTE) or _is_complete(texts, expected):
            break
        if token.gap < 0 and not _continues(cursor, start + len(texts)):
            break
        if (texts or not expected[0]) and _is_node(token):
            break
        texts.append(token)
    nodes = _nodes(cursor, start + len(texts))
    listed = " ".join(token.text for token in nodes)
    return RowTail(*_fields(texts, expected), nodes=listed or None, words=len(texts) + len(nodes))


def _is_node(token: Token) -> bool:
    return token.kind is WordKind.INTEGER or _NODE_WORD.match(token.text) is not None


def _is_complete(found: list[Token], expected: tuple[bool, bool, bool]) -> bool:
    """Whether the words so far end in the last column that is expected."""
    symbol, has_object, source = expected
    if len(found) < max(symbol + has_object, 1):
        return False
    last = found[-1].text
    if source:
        return _SOURCE.match(last) is not None
    return not symbol or _OBJECT.match(last) is not None


def _continues(cursor: TextCursor, at: int) -> bool:
    """Whether the line that begins at ``at`` is the rest of a row that a mail wrapped.

    It is when it holds a few words, the last of which looks like a source or an object or is followed by
    nodes, and nothing else.
    """
    line = cursor.peek(at).line
    words = 0
    while words <= _MOST_WRAPPED_WORDS:
        token = cursor.peek(at + words)
        if token.line != line or token.kind in _STOP or _is_node(token):
            break
        words += 1
    if not 0 < words <= _MOST_WRAPPED_WORDS:
        return False
    last = cursor.peek(at + words - 1).text
    ended = cursor.peek(at + words).gap < 0
    return _only_nodes(cursor, at + words) or (ended and bool(_SOURCE.match(last) or _OBJECT.match(last)))


def _fields(texts: list[Token], expected: tuple[bool, bool, bool]) -> tuple[str | None, str | None, str | None]:
    """Symbol, object and source; by the columns' margins where they are left, by their looks where not."""
    # perf puts two blanks between columns and pads them.
    cells: list[str] = []
    for token in texts:
        if cells and token.gap == 1:
            cells[-1] += " " + token.text
        else:
            cells.append(token.text)
    symbol, has_object, source = expected
    if len(cells) == symbol + has_object + source > 1:
        left = iter(cells)
        return tuple(next(left) if one else None for one in expected)  # type: ignore[return-value]
    words = [token.text for token in texts]
    end = _source_start(words, has_object) if source else len(words)
    place = max(end - 1, 1) if symbol else 0
    parts = (words[:place] if symbol else [], words[place:end], words[end:])
    return tuple(" ".join(part) or None for part in parts)  # type: ignore[return-value]


def _source_start(words: list[str], has_object: bool) -> int:
    """Where the source begins: a source without debug information repeats the symbol, blanks and all."""
    for at in range(1 + has_object, len(words)):
        if words[at] == words[0] or words[at].startswith(words[0] + "+"):
            return at
    # perf writes some objects in brackets (kernel, module, vdso).
    for at in range(1, len(words)):
        if words[at][0] == "[" and words[at][-1] == "]":
            return at + 1
    return len(words) - 1 if len(words) > 1 and _SOURCE.match(words[-1]) else len(words)


def _nodes(cursor: TextCursor, start: int) -> list[Token]:
    """The list of nodes behind the words of a row."""
    found: list[Token] = []
    inside = False
    while len(found) < _MOST_NODE_WORDS:
        token = cursor.peek(start + len(found))
        if token.kind is WordKind.END or not (inside or _is_node(token)):
            break
        if token.gap < 0 and not inside and not _only_nodes(cursor, start + len(found)):
            break
        inside = (inside or "{" in token.text) and not token.text.endswith("}")
        found.append(token)
    return found


def _only_nodes(cursor: TextCursor, start: int) -> bool:
    """Whether the line goes on from ``start`` with nodes and nothing else, and no line's head begins there."""
    line = cursor.peek(start).line
    at, inside = start, False
    while (token := cursor.peek(at)).line == line and at - start < _MOST_WORDS:
        if not (inside or _is_node(token)):
            return False
        inside = (inside or "{" in token.text) and not token.text.endswith("}")
        at += 1
    return at > start and cursor.peek(at).kind is not WordKind.HEX
