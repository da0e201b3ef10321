# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that stand as perf printed them, each read whole by one pattern: rows, heads of lines, rows of the table.

The pattern of the rows is made for each heading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from linesmith.plugins.profiles import columns as c
from linesmith.plugins.profiles.columns import Columns, TextCursor, WordKind
from linesmith.plugins.profiles.draft import LineHead, Piece, TableRow
from linesmith.plugins.profiles.formats import TextLine
from linesmith.plugins.profiles.rows import KERNEL_MODES, ReportRows, RowTail, read_tail

# A piece and the number of its words, or of its lines.
Found = tuple[Piece, int]
_NODE = r"N/A|\d{1,18}|\d{1,5}(?:[-,]\d{1,5}){1,64}"
_CELLS = {
    c.SHARE: r"(\d{1,5}\.\d{1,2})%",
    c.ADDRESS: r"(0x[0-9a-fA-F]{1,16})",
    c.NODE: rf"({_NODE})",
    c.COUNT: r"(\d{1,18})",
    c.PROCESS: r"(\d{1,18}|\d{1,10}:\S{0,64})",
}
# Larger ones are no offsets in a line.
_OFFSET = r"(0x[0-9a-fA-F]{1,2})"
_NODES = r"\d{1,4}(?:\{[^{}\s]{0,99}(?: +[^{}\s]{1,9}){0,4}\})?"
_TAIL = re.compile(rf"(\S+(?: +(?!{_NODES}(?: |$))\S+)*)(?: +({_NODES}(?: +{_NODES}){{0,40}}))? *", re.ASCII)
# What ends a row above it: a row, or a rule.
_BEHIND_ROW = re.compile(r" *(?:\d{1,5}\.\d{1,2}%|-{20,})(?: |$)", re.ASCII)
_LONGEST = 4096
# A word of each, of which no other column can be, and numbers of nodes.
_PLAIN_TAIL = (
    r"([a-zA-Z_][\w.]{0,99} {2,}(?:[a-zA-Z_][\w.]{0,99}|\[[\w.]{2,99}\]) {2,}[a-zA-Z_][\w./-]{0,99}[:+]\d{1,9})"
    r"((?: +\d{1,4}){0,16}) *"
)
_NO_PLAIN_TAIL = "(?!)()()"
_NAMED = frozenset((c.SYMBOL, c.OBJECT, c.SOURCE))
_MOST_ROWS = 64
_RULE = re.compile(r" *-{20,} *$")
_RULE_OR_EMPTY = re.compile(r" *(?:-{20,} *)?$")
_SHARES = re.compile(r" *((?:\d{1,5}\.\d{1,2}% +){1,6})0x", re.ASCII)
_TABLE_ROW = re.compile(
    rf" *\d{{1,18}} +0x[0-9a-fA-F]{{1,16}}(?: +(?:{_NODE})){{1,3}} +\d{{1,5}}\.\d{{1,2}}%(?: +\d{{1,18}}){{15,18}} *$",
    re.ASCII,
)
_HEAD = re.compile(r" *(\d{1,18}(?: +\d{1,18}){3,6}) +(0x[0-9a-fA-F]{1,16}) *$", re.ASCII)


def _cell(column: c.ReportColumn) -> str:
    """The pattern of the column's cells, a group where they are kept."""
    cell = _OFFSET if column is c.OFFSET else _CELLS[column.cells]
    return cell if column.value or column.cells is c.SHARE else cell.replace("(", "(?:", 1)


class RowPattern:
    """Reads rows that stand whole on a line below a heading, perf's or an author's; ``rows.py`` reads the others."""

    def __init__(self, heading: Columns) -> None:
        self._heading = heading
        front = [column for column in heading if column.cells]
        kept = [column for column in front if column.value or column.cells is c.SHARE]
        cells = map(_cell, front)
        tail = _PLAIN_TAIL if _NAMED.issubset(heading) else _NO_PLAIN_TAIL
        row = " *" + " +".join(cells) + rf" +\[([k.guH])\] +(?:{tail}|(\S.*))$"
        self._match = re.compile(row, re.ASCII).match
        self._shares = tuple(column.value for column in front if column.cells is c.SHARE)
        places = [(at, column) for at, column in enumerate(kept) if column.cells is not c.SHARE]
        self._process = max((at for at, column in places if column.cells is c.PROCESS), default=-1)
        numbers = [(at, column) for at, column in places if column.cells is not c.PROCESS]
        # What each number fills, where it stands and its base.
        self._numbers = [(column.value, at, 16 if column.cells is c.ADDRESS else 10) for at, column in numbers]

    def read(self, cursor: TextCursor) -> ReportRows | None:
        """The rows that are all of the next lines, some at a time; none where a line has to be read word by word."""
        lines: list[int] = []
        found: list[tuple[str, ...]] = []
        for line, words in cursor.lines(_MOST_ROWS):
            match = self._match(words) if len(words) < _LONGEST else None
            groups = match.groups() if match else ()
            if not groups or not (groups[-1] is None or _tail(groups[-1], self._heading)):
                break
            lines.append(line)
            found.append(groups)
        if found and not ends_row(cursor, len(found)):
            del lines[-1], found[-1]
        if not found:
            return None
        *cells, modes, names, nodes, texts = zip(*found, strict=True)
        shares = [list(map(float, column)) for column in cells[: len(self._shares)]]
        numbers: dict[str, Sequence[int]] = {
            name: list(map(int, cells[at], repeat(base))) for name, at, base in self._numbers
        }
        process = cells[self._process] if self._process >= 0 else (None,) * len(lines)
        kernel = list(map(KERNEL_MODES.get, modes))
        if any(texts):
            each = zip(names, nodes, texts, strict=True)
            tails = [
                _tail(text, self._heading) if text else (*_words(name), _joined(node)) for name, node, text in each
            ]
            symbol, object_file, source, nodes, *_ = zip(*tails, strict=False)
        else:
            symbol, object_file, source = zip(*map(_words, names), strict=True)
            nodes = tuple(map(_joined, nodes))
        return ReportRows(lines, self._shares, shares, numbers, process, kernel, symbol, object_file, source, nodes)


_words = lru_cache(maxsize=1 << 15)(str.split)


@lru_cache(maxsize=1 << 10)
def _joined(nodes: str) -> str | None:
    return " ".join(nodes.split()) or None


@lru_cache(maxsize=1 << 15)
def _tail(text: str, heading: Columns) -> RowTail | None:
    """Symbol, object, source and nodes, if they are all of the text."""
    found = _TAIL.fullmatch(text)
    if found is None:
        return None
    cursor = TextCursor([TextLine(1, f"[k] {found[1]}")])
    tail = read_tail(cursor, 1, heading, marked=True)
    if tail.nodes is not None or cursor.peek(1 + tail.words).kind is not WordKind.END:
        return None
    return tail if found[2] is None else RowTail(tail[0], tail[1], tail[2], " ".join(found[2].split()))


def ends_row(cursor: TextCursor, ahead: int) -> bool:
    """Whether the row in front of the line that is so far ahead ends with its line."""
    while (behind := cursor.line(ahead)) is not None:
        if _BEHIND_ROW.match(behind.text):
            return True
        if behind.text.strip():
            return False
        ahead += 1
    return True


def printed_line_head(cursor: TextCursor) -> Found | None:
    """The head that is all of its line, between rules and above a row with an offset, and how many lines it took."""
    at = 0
    # An empty line and a rule stand above most.
    while at < 2 and (above := cursor.line(at)) is not None and _RULE_OR_EMPTY.match(above.text):
        at += 1
    line, rule, row = (cursor.line(at + ahead) for ahead in range(3))
    found = _HEAD.match(line.text) if line else None
    if line is None or found is None or rule is None or row is None or not _RULE.match(rule.text):
        return None
    shares = _SHARES.match(row.text)
    if shares is None:
        return None
    head = LineHead(int(found[2], 16), tuple(map(int, found[1].split())), line.number, shares[1].count("%"))
    return head, at + 2


def printed_table_row(line: TextLine) -> Found | None:
    """The row of the shared-lines table that is all of the line, with all the columns of some release."""
    words = line.text.split() if _TABLE_ROW.match(line.text) else []
    before = next((at for at, word in enumerate(words) if word[-1] == "%"), 2) - 2
    whole = (before, len(words) - before - 3) in c.TABLE_COUNTS
    return (table_row(line.number, words, before), 1) if whole else None


def table_row(line: int, words: list[str], before: int) -> TableRow:
    """The row of these words, ``before`` of which are between address and share."""
    cells = words[3 + before :]
    values = c.table_values(before, cells)
    counts = [(value, int(cell)) for value, cell in zip(values, cells, strict=False) if value]
    if values and before in c.RECORDS_FIRST and words[1 + before].isdecimal():
        counts.append(("records", int(words[1 + before])))
    return TableRow(int(words[0]), int(words[1], 16), float(words[2 + before][:-1]) / 100, tuple(counts), line)
