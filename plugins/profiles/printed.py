# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that stand as perf printed them are read whole, by one pattern each; the others go word by word.

A pattern takes a line only where the grammar of ``rows.py`` and ``scan.py`` would read the same from it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from linesmith.plugins.profiles import columns as c
from linesmith.plugins.profiles.columns import Columns, TextCursor, WordKind
from linesmith.plugins.profiles.draft import LineHead, TableRow
from linesmith.plugins.profiles.formats import TextLine
from linesmith.plugins.profiles.rows import KERNEL_MODES, ReportRow, RowTail, read_tail

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
_TAIL = rf" +\[([k.guH])\] +(\S+(?: +(?!{_NODES}(?: |$))\S+)*)(?: +({_NODES}(?: +{_NODES}){{0,40}}))? *$"
# What ends a row above it: a row, or a rule.
_BEHIND_ROW = re.compile(r" *(?:\d{1,5}\.\d{1,2}%|-{20,})(?: |$)", re.ASCII)
_RULE = re.compile(r" *-{20,} *$")
_SHARES = re.compile(r" *((?:\d{1,5}\.\d{1,2}% +){1,6})0x", re.ASCII)
_HEAD = re.compile(r" *(\d{1,18}(?: +\d{1,18}){3,6}) +(0x[0-9a-fA-F]{1,16}) *$", re.ASCII)
_TABLE_ROW = re.compile(
    rf" *(\d{{1,18}}) +(0x[0-9a-fA-F]{{1,16}})((?: +(?:{_NODE})){{1,3}}) +(\d{{1,5}}\.\d{{1,2}})%"
    r"((?: +\d{1,18}){15,18}) *$",
    re.ASCII,
)
_LONGEST = 4096


class RowPattern:
    """Reads rows below a heading of perf's own."""

    def __init__(self, heading: Columns) -> None:
        self._heading = heading
        front = [column for column in heading if column.cells]
        cells = (_OFFSET if column is c.OFFSET else _CELLS[column.cells] for column in front)
        self._pattern = re.compile(" *" + " +".join(cells) + _TAIL, re.ASCII)
        self._shares = tuple(column.value for column in front if column.cells is c.SHARE)
        number = len(self._shares)
        places = [(at, column) for at, column in enumerate(front) if column.value and at >= number]
        self._process = max((at for at, column in places if column.cells is c.PROCESS), default=-1)
        numbers = [(at, column) for at, column in places if column.cells is not c.PROCESS]
        self._places = [at for at, _ in numbers]
        self._values = [column.value for _, column in numbers]
        self._bases = [16 if column.cells is c.ADDRESS else 10 for _, column in numbers]

    def read(self, line: TextLine) -> ReportRow | None:
        """The row that is all of the line; ``None`` where it has to be read word by word."""
        found = self._pattern.match(line.text) if len(line.text) < _LONGEST else None
        if found is None:
            return None
        cells = found.groups()
        mode, text, nodes = cells[-3:]
        tail = _tail(text, self._heading)
        if tail is None:
            return None
        return ReportRow(
            line.number,
            self._shares,
            tuple(map(_percent, cells[: len(self._shares)])),
            dict(zip(self._values, map(int, [cells[at] for at in self._places], self._bases), strict=True)),
            cells[self._process] if self._process >= 0 else None,
            KERNEL_MODES.get(mode),
            tail if nodes is None else RowTail(tail[0], tail[1], tail[2], " ".join(nodes.split())),
        )


# Shares have few values, and the same instruction accesses many lines.
_percent = lru_cache(maxsize=1 << 14)(float)


@lru_cache(maxsize=1 << 15)
def _tail(text: str, heading: Columns) -> RowTail | None:
    """Symbol, object and source, if they are all of the text."""
    cursor = TextCursor([TextLine(1, f"[k] {text}")])
    tail = read_tail(cursor, 1, heading, marked=True)
    return tail if tail.nodes is None and cursor.peek(1 + tail.words).kind is WordKind.END else None


def ends_row(cursor: TextCursor) -> bool:
    """Whether the row on the next line of the cursor ends with the line."""
    ahead = 1
    while (behind := cursor.line(ahead)) is not None:
        if _BEHIND_ROW.match(behind.text):
            return True
        if behind.text.strip():
            return False
        ahead += 1
    return True


def printed_table_row(line: TextLine) -> TableRow | None:
    """The row of the shared-lines table that is all of the line, with all its counts."""
    found = _TABLE_ROW.match(line.text)
    if found is None:
        return None
    before, cells = found[3].split(), [int(cell) for cell in found[5].split()]
    if (len(before), len(cells)) not in c.TABLE_COUNTS:
        return None
    values = c.table_values(len(before), cells)
    counts = [(value, cell) for value, cell in zip(values, cells, strict=True) if value]
    if len(before) in c.RECORDS_FIRST and before[-1].isdecimal():
        counts.append(("records", int(before[-1])))
    return TableRow(int(found[1]), int(found[2], 16), float(found[4]) / 100, tuple(counts), line.number)


def printed_line_head(cursor: TextCursor, line: TextLine) -> LineHead | None:
    """The head that is all of the line, above a rule and a row with an offset."""
    found = _HEAD.match(line.text)
    rule, row = (cursor.line(1), cursor.line(2)) if found else (None, None)
    if found is None or rule is None or row is None or not _RULE.match(rule.text):
        return None
    shares = _SHARES.match(row.text)
    if shares is None:
        return None
    return LineHead(int(found[2], 16), tuple(map(int, found[1].split())), line.number, shares[1].count("%"))
