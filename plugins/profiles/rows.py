# SPDX-License-Identifier: GPL-2.0-or-later
"""The grammar of a row of the distribution: shares, offset, counts, then symbol, object, source and nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from linesmith.plugins.profiles import columns as c
from linesmith.plugins.profiles.columns import Column, Columns, Shape
from linesmith.plugins.profiles.tokens import Cursor, Kind, Token

# The words at the end of a row: symbol, shared object, source line, and the list of nodes.

_MOST_WORDS = 48
_MOST_WRAPPED_WORDS = 5
_MOST_NODE_WORDS = 256
_FEWEST_TOTALS = 5
_CUT_SOURCE = 30  # SYMBOL_WIDTH of builtin-c2c.c: a long name's own source has lost its +12
_BRACKET = re.compile(r"[<>()]")
_NOTE = ("<-", "<=", "^", "//", "/*")
_STOP = frozenset((Kind.PERCENT, Kind.RULE, Kind.BANNER, Kind.MARGIN, Kind.GRAPH, Kind.MODE, Kind.END))
_NODE_WORD = re.compile(r"\d{1,4}\{.*", re.ASCII)
_SOURCE = re.compile(r"\?\?:0$|.*[^+]\+\d+$|.*:\d+$|[^\[]+\[[0-9a-f]+\]$", re.ASCII)
_OBJECT = re.compile(r"\[[^\[\]]+\]$|.*\.so(?:[.\-]\w+)*$|.*\.(?:ko|map|exe)$|/.*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Tail:
    """What follows the counts of a row; ``words`` is how many tokens it took."""

    symbol: str | None = None
    object_file: str | None = None
    source: str | None = None
    nodes: str | None = None
    words: int = 0


def read_tail(cursor: Cursor, start: int, shares: int, heading: Columns | None, marked: bool) -> Tail:
    """The end of the row whose cells end at ``start``; ``marked``: a ``[k]`` or ``[.]`` stands in front.

    Ends where the next row, a rule, a heading or a call graph begins, or at the end of the line when the
    row is whole. ``heading`` tells which columns to expect; without it the words themselves tell.
    """
    wanted = _wanted(heading, marked)
    texts = _texts(cursor, start, wanted)
    nodes = _nodes(cursor, start + len(texts), shares)
    fields = _fields(texts, wanted)
    listed = " ".join(token.text for token in nodes)
    return Tail(*fields, nodes=listed or None, words=len(texts) + len(nodes))


def _wanted(heading: Columns | None, marked: bool) -> tuple[bool, bool, bool]:
    """Whether symbol, object and source are to be expected."""
    if heading is None:
        return marked, True, marked
    return c.SYMBOL in heading, c.OBJECT in heading, c.SOURCE in heading


def _texts(cursor: Cursor, start: int, wanted: tuple[bool, bool, bool]) -> list[Token]:
    """The tokens of symbol, object and source."""
    found: list[Token] = []
    while any(wanted) and len(found) < _MOST_WORDS:
        token = cursor.peek(start + len(found))
        if token.kind in _STOP or token.text.startswith(_NOTE) or _complete(found, wanted):
            break
        if token.gap < 0 and not _continues(cursor, start + len(found)):
            break
        if (found or not wanted[0]) and _is_node(token):
            break
        found.append(token)
    return _plausible(found)


def _plausible(found: list[Token]) -> list[Token]:
    """Without the words that follow a cut row in collapsed text: only names with brackets have blanks in them."""
    bracketed = [at for at, token in enumerate(found) if _BRACKET.search(token.text)]
    symbol = bracketed[-1] + 1 if bracketed else 1
    if len(found) <= symbol + 1 or any(token.gap > 1 for token in found):
        return found
    source = found[symbol + 1].text
    if _SOURCE.match(source) or (len(source) == _CUT_SOURCE and source.startswith(found[0].text)):
        return found[: symbol + 2]
    if len(found) == symbol + 2 or _OBJECT.match(found[symbol].text):
        return found[: symbol + 1]
    return found[:symbol]


def _is_node(token: Token) -> bool:
    return token.kind is Kind.INTEGER or _NODE_WORD.match(token.text) is not None


def _complete(found: list[Token], wanted: tuple[bool, bool, bool]) -> bool:
    """Whether the words so far end in the last column that is expected."""
    symbol, has_object, source = wanted
    if len(found) < max(symbol + has_object, 1):
        return False
    last = found[-1].text
    if source:
        return _SOURCE.match(last) is not None
    return not symbol or _OBJECT.match(last) is not None


def _continues(cursor: Cursor, at: int) -> bool:
    """Whether the line that begins at ``at`` is the rest of a row that a mail wrapped.

    It is when it holds a few words, the last of which looks like a source or an object or is followed by
    nodes, and nothing else.
    """
    words = _word_run(cursor, at)
    if not 0 < words <= _MOST_WRAPPED_WORDS:
        return False
    listed = _only_nodes(cursor, at + words)
    ended = cursor.peek(at + words).gap < 0
    last = cursor.peek(at + words - 1).text
    return listed or (ended and bool(_SOURCE.match(last) or _OBJECT.match(last)))


def _word_run(cursor: Cursor, start: int) -> int:
    """Number of words from ``start`` to the end of its line that are neither nodes nor the next row."""
    line = cursor.peek(start).line
    words = 0
    while words <= _MOST_WRAPPED_WORDS:
        token = cursor.peek(start + words)
        if token.line != line or token.kind in _STOP or _is_node(token):
            break
        words += 1
    return words


def _fields(texts: list[Token], wanted: tuple[bool, bool, bool]) -> tuple[str | None, str | None, str | None]:
    """Symbol, object and source; by the columns' margins where they are left, by their looks where not."""
    groups = _margins(texts)
    symbol, has_object, source = wanted
    if len(groups) == symbol + has_object + source > 1:
        cells = iter(groups)
        return tuple(next(cells) if want else None for want in wanted)  # type: ignore[return-value]
    words = [token.text for token in texts]
    end = _source_start(words, has_object) if source else len(words)
    place = max(end - 1, 1) if symbol else 0
    return _joined(words[:place] if symbol else []), _joined(words[place:end]), _joined(words[end:])


def _joined(words: list[str]) -> str | None:
    return " ".join(words) or None


def _margins(texts: list[Token]) -> list[str]:
    """The words joined into cells: perf puts two blanks between columns and pads them."""
    cells: list[str] = []
    for token in texts:
        if cells and token.gap == 1:
            cells[-1] += " " + token.text
        else:
            cells.append(token.text)
    return cells


def _source_start(words: list[str], has_object: bool) -> int:
    """Where the source begins: a source without debug information repeats the symbol, blanks and all."""
    for at in range(1 + has_object, len(words)):
        if words[at] == words[0] or words[at].startswith(words[0] + "+"):
            return at
    known = _bracketed(words)
    if known:
        return known + 1
    return len(words) - 1 if len(words) > 1 and _SOURCE.match(words[-1]) else len(words)


def _bracketed(words: list[str]) -> int:
    """Place of an object that perf writes in brackets (kernel, module, vdso), 0 if there is none."""
    return next((at for at in range(1, len(words)) if words[at][0] == "[" and words[at][-1] == "]"), 0)


def _nodes(cursor: Cursor, start: int, shares: int) -> list[Token]:
    """The list of nodes; the totals of the next line may follow it without a rule and are left alone."""
    found: list[Token] = []
    inside = False
    while len(found) < _MOST_NODE_WORDS:
        token = cursor.peek(start + len(found))
        if token.kind is Kind.END or not (inside or _is_node(token)):
            break
        if token.gap < 0 and not inside and not _only_nodes(cursor, start + len(found)):
            break
        inside = (inside or "{" in token.text) and not token.text.endswith("}")
        found.append(token)
    if cursor.peek(start + len(found)).kind is Kind.HEX and len(found) >= _FEWEST_TOTALS:
        del found[max(len(found) - shares - 1, 0) :]
    return found


def _only_nodes(cursor: Cursor, start: int) -> bool:
    """Whether the line goes on from ``start`` with nodes and nothing else, and no line's head begins there."""
    line = cursor.peek(start).line
    at, inside = start, False
    while (token := cursor.peek(at)).line == line and at - start < _MOST_WORDS:
        if not (inside or _is_node(token)):
            return False
        inside = (inside or "{" in token.text) and not token.text.endswith("}")
        at += 1
    return at > start and cursor.peek(at).kind is not Kind.HEX


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
