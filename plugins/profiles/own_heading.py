# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the headings that authors write over the columns that they kept: perf's words, in columns of their own."""

from __future__ import annotations

from linesmith.plugins.profiles import columns as c
from linesmith.plugins.profiles.columns import Column, Shape
from linesmith.plugins.profiles.headings import Heading
from linesmith.plugins.profiles.tokens import Cursor, Kind

_FEWEST_COLUMNS = 4
_MOST_WORDS = 96
# The words over each column, in perf's order of the columns: one of each set stands there.
_WORDS: tuple[tuple[Column, tuple[frozenset[str], ...]], ...] = (
    (c.RMT_HITM, (frozenset(("rmt", "remote")),)),
    (c.LCL_HITM, (frozenset(("lcl", "local")),)),
    (c.L1_HIT, (frozenset(("l1",)), frozenset(("hit",)))),
    (c.L1_MISS, (frozenset(("l1",)), frozenset(("miss",)))),
    (c.STORES_NA, (frozenset(("n/a",)),)),
    (c.OFFSET, (frozenset(("offset", "off")),)),
    (c.CODE, (frozenset(("code",)),)),
    (c.MEAN_LOAD, (frozenset(("load",)), frozenset(("cycles",)))),
    (c.RECORDS, (frozenset(("records",)),)),
    (c.CPUS, (frozenset(("cnt", "cpu", "cpus")),)),
    (c.SYMBOL, (frozenset(("symbol", "function")),)),
    (c.OBJECT, (frozenset(("object",)),)),
    (c.SOURCE, (frozenset(("source:line",)),)),
    (c.NODES, (frozenset(("node", "nodes")),)),
)
# Words that stand over several columns, or beside the one that tells.
_BESIDE = frozenset(("hitm", "store", "stores", "data", "address", "total", "shared", "peer", "snoop"))
_KNOWN = _BESIDE.union(*(choice for _, words in _WORDS for choice in words))


def read_own_heading(cursor: Cursor) -> Heading | None:
    """The heading at the cursor that is not perf's own, or ``None``: words of columns only, one of them the symbol's.

    It may stand on several lines, between rules or not. Where the rows have other columns than it names, they are
    read by their own shape.
    """
    if _word(cursor, 0) not in _KNOWN:
        return None
    words: set[str] = set()
    at = 0
    while at < _MOST_WORDS and (cursor.peek(at).kind is Kind.DASHES or _word(cursor, at) in _KNOWN):
        words.add(_word(cursor, at))
        at += 1
    columns = tuple(column for column, named in _WORDS if all(words & choice for choice in named))
    if len(columns) < _FEWEST_COLUMNS or c.SYMBOL not in columns or columns[0].shape is not Shape.SHARE:
        return None
    return Heading(columns, "peer" in words, at)


def _word(cursor: Cursor, at: int) -> str:
    return cursor.peek(at).text.lower().strip("%")
