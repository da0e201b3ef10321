# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a ``perf c2c report`` and a cursor over them; then its columns, and the headings over those.

The columns are those of the ``dim_*`` tables in ``tools/perf/builtin-c2c.c``; ``rows.py``, ``printed.py`` and
``scan.py`` read what is in them. Mails often keep perf's headings, commit messages never do: git takes ``#`` for a
comment. Some authors write headings of their own over the columns they left: perf's words, in columns of their own.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from linesmith.plugins.profiles.formats import TextLine

# The words of a report text with their kind, and a cursor over them that never holds more than a window.

FIRST, BEHIND_BLANK = -1, -2
_WORDS = re.compile(r"(\s*)(\S+)")
_LONGEST_WORD = 512


class WordKind(IntEnum):
    """What a word can be in a c2c report, by its own characters only; numbers, for sets of them are quick."""

    PERCENT = auto()
    INTEGER = auto()
    HEX = auto()
    NODE = auto()
    THREAD = auto()
    MODE = auto()
    RULE = auto()
    DASHES = auto()
    BANNER = auto()
    MARGIN = auto()
    GRAPH = auto()
    WORD = auto()
    END = auto()


class Token(NamedTuple):
    """A word; ``line`` counts from 1, ``gap`` is the number of blanks in front.

    It is ``FIRST`` for the first word of a line, ``BEHIND_BLANK`` for that of a line behind an empty one.
    """

    kind: WordKind
    text: str
    line: int
    gap: int


# One alternative per kind, tried in order; every alternative is linear in the length of the word.
_KINDS = re.compile(
    r"""(?P<PERCENT>\d{1,5}\.\d{1,2}%)$
      | (?P<INTEGER>\d{1,18})$
      | (?P<HEX>0x[0-9a-fA-F]{1,16})$
      | (?P<NODE>N/A|\d{1,5}(?:[-,]\d{1,5}){1,64})$
      | (?P<THREAD>\d{1,10}:.{0,64})$
      | (?P<MODE>\[[k.guH]\])$
      | (?P<RULE>\#?-{20,})$
      | (?P<DASHES>-{5,19})$
      | (?P<BANNER>={10,})$
      | (?P<MARGIN>\#|\.{4,}|\#\.{4,})$
      | (?P<GRAPH>\|.*|--.*)$
    """,
    re.VERBOSE | re.ASCII,
)


# Most words of a report come again and again: shares, small numbers, names.
@lru_cache(maxsize=1 << 14)
def _kind(word: str) -> WordKind:
    if word[0].isalpha() or len(word) > _LONGEST_WORD:
        return WordKind.WORD if word != "N/A" else WordKind.NODE
    found = _KINDS.match(word)
    return WordKind[found.lastgroup] if found and found.lastgroup else WordKind.WORD


class TextCursor:
    """Looks ahead in the words of a text without keeping what is behind; one longer than any that perf prints is cut.

    Between two lines it gives them whole, too.
    """

    _DROP_BEHIND = 4096

    def __init__(self, lines: Iterable[TextLine]) -> None:
        self._lines = iter(lines)
        self._ahead: deque[TextLine] = deque()
        self._window: list[Token] = []
        self._at = 0
        self._first = FIRST
        self._end = Token(WordKind.END, "", 0, -1)

    def peek(self, ahead: int = 0) -> Token:
        """The token ``ahead`` of the next one; behind the last word always a token of kind ``END``."""
        try:
            return self._window[self._at + ahead]
        except IndexError:
            return self._fill(self._at + ahead)

    def _fill(self, index: int) -> Token:
        while len(self._window) <= index:
            line = self._ahead.popleft() if self._ahead else next(self._lines, None)
            if line is None:
                return self._end
            gap = self._first
            # Blanks at the end would be tried from each of them on.
            for blanks, word in _WORDS.findall(line.text.rstrip()):
                gap = len(blanks) if gap >= 0 else self._first
                self._window.append(Token(_kind(word), word[:_LONGEST_WORD], line.number, gap))
                gap = 0
            self._first = BEHIND_BLANK if gap < 0 else FIRST
        return self._window[index]

    def line(self, ahead: int = 0) -> TextLine | None:
        """The line ``ahead`` of the next one; ``None`` behind the last, and behind words looked at already."""
        if self._at < len(self._window):
            return None
        if len(self._ahead) <= ahead:
            self._ahead.extend(islice(self._lines, ahead + 1 - len(self._ahead)))
        return self._ahead[ahead] if ahead < len(self._ahead) else None

    def lines(self, most: int) -> Iterator[TextLine]:
        """The next lines, at most so many; none behind words looked at already."""
        if self._at < len(self._window):
            return iter(())
        self._ahead.extend(islice(self._lines, max(most - len(self._ahead), 0)))
        return islice(self._ahead, most)

    def skip_lines(self, count: int) -> None:
        """Leave lines behind, which ``line`` gave and the last of which is not empty."""
        for _ in range(count):
            self._ahead.popleft()
        self._first = FIRST

    def skip(self, count: int) -> None:
        """Leave ``count`` tokens behind."""
        self._at += count
        if self._at > self._DROP_BEHIND:
            del self._window[: self._at]
            self._at = 0

    def run(self, kinds: frozenset[WordKind], start: int, limit: int) -> int:
        """How many tokens from ``start`` on are of ``kinds``, at most ``limit``."""
        length = 0
        while length < limit and self.peek(start + length).kind in kinds:
            length += 1
        return length


# Words that can be a cell.
SHARE = frozenset((WordKind.PERCENT,))
ADDRESS = frozenset((WordKind.HEX,))
NODE = frozenset((WordKind.INTEGER, WordKind.NODE))
COUNT = frozenset((WordKind.INTEGER,))
PROCESS = frozenset((WordKind.INTEGER, WordKind.THREAD))
TEXT: frozenset[WordKind] = frozenset()

_LONGEST_LABEL = 3
_FEWEST_COLUMNS = 4
_MOST_WORDS = 96
_MOST_TABLE_WORDS = 32


@dataclass(frozen=True, slots=True, eq=False)
class ReportColumn:
    """A column, of which there is one object.

    ``cells`` are the kinds of words in it (none: text), ``value`` what it fills (``""``: not kept), ``labels`` perf's
    headings, ``words`` those of authors, each one of several (``rmt|remote``).
    """

    cells: frozenset[WordKind]
    value: str = ""
    labels: tuple[str, ...] = ()
    words: str = ""


Columns = tuple[ReportColumn, ...]

# The distribution ("Pareto"). A share is one of the line's raw total of the same value.
# Loads that hit or missed, of `-d all` and `-d llc` in mails about perf: no sign of contention.
LOAD_HIT = ReportColumn(SHARE, "", ("LclHit", "Hit"))
LOAD_MISS = ReportColumn(SHARE, "", ("Miss",))
RMT_HITM = ReportColumn(SHARE, "remote", ("RmtHitm", "Rmt"), "rmt|remote")
LCL_HITM = ReportColumn(SHARE, "local", ("LclHitm", "Lcl"), "lcl|local")
L1_HIT = ReportColumn(SHARE, "stores_l1_hit", ("L1 Hit", "L1Hit"), "l1 hit")
L1_MISS = ReportColumn(SHARE, "stores_l1_miss", ("L1 Miss", "L1Miss"), "l1 miss")
STORES_NA = ReportColumn(SHARE, "stores_na", ("N/A",), "n/a")
OFFSET = ReportColumn(ADDRESS, "offset", ("Offset", "Off"), "offset|off")
OFFSET_NODE = ReportColumn(NODE, "", ("Node",))
PAGES = ReportColumn(COUNT, "", ("PA cnt",))
PID = ReportColumn(PROCESS, "process", ("Pid",))
TID = ReportColumn(PROCESS, "process", ("Tid",))
CODE = ReportColumn(ADDRESS, "code_address", ("Code address",), "code")
MEAN_RMT = ReportColumn(COUNT, "cycles_remote", ("rmt hitm", "rmt peer"))
MEAN_LCL = ReportColumn(COUNT, "cycles_local", ("lcl hitm", "lcl peer"))
MEAN_LOAD = ReportColumn(COUNT, "cycles_load", ("load",), "load cycles")
RECORDS = ReportColumn(COUNT, "records", ("records",), "records")
CPUS = ReportColumn(COUNT, "cpus", ("cnt",), "cnt|cpu|cpus")
SYMBOL = ReportColumn(TEXT, "function", ("Symbol",), "symbol|function")
OBJECT = ReportColumn(TEXT, "object_file", ("Object",), "object")
SOURCE = ReportColumn(TEXT, "source", ("Source:Line",), "source:line")
_NODE_LABELS = ("Node{cpu list}", "Node{cpus %hitms %stores}", "Node{cpus %peers %stores}", "Node")
NODES = ReportColumn(TEXT, "nodes", _NODE_LABELS, "node|nodes")
UNNAMED_SHARE = ReportColumn(SHARE, "?")
UNNAMED_COUNT = ReportColumn(COUNT)

# In the order in which perf prints them, so that "Node" is the offset's before it is the list of nodes.
DISTRIBUTION: Columns = (
    LOAD_HIT, LOAD_MISS, RMT_HITM, LCL_HITM, L1_HIT, L1_MISS, STORES_NA, OFFSET, OFFSET_NODE, PAGES, PID, TID, CODE,
    MEAN_RMT, MEAN_LCL, MEAN_LOAD, RECORDS, CPUS, SYMBOL, OBJECT, SOURCE, NODES,
)  # fmt: skip
# The shares by how many a row has: perf up to 5.18, and from 5.19 on.
SHARES: dict[int, Columns] = {number: DISTRIBUTION[2:][:number] for number in (4, 5)}
# The counts in front of the symbol, by how many there are: up to 4.18 there were no records.
COUNTS: dict[int, Columns] = {
    4: (MEAN_RMT, MEAN_LCL, MEAN_LOAD, CPUS),
    5: (MEAN_RMT, MEAN_LCL, MEAN_LOAD, RECORDS, CPUS),
}
# What columns of stores count.
STORES = tuple(column.value for column in (L1_HIT, L1_MISS, STORES_NA))

# The shared-lines table: the values of the counts behind the share, by the number of cells between address and share
# and that of the counts. ``""`` is not kept. Up to 5.10 the records stand in front of the share.
_OLD = ("total", "local", "remote", "stores", "stores_l1_hit", "stores_l1_miss", "", "", "", "loads", *5 * ("",))
_NEW = ("total", "local", "remote", "records", "loads", "stores", "stores_l1_hit", "stores_l1_miss")
_HITS = ("", "", "", "", "llc_hitm", "", "rmt_hitm", "", "")
RECORDS_FIRST = (1, 3)
TABLE_COUNTS = {(1, 15): _OLD, (3, 15): _OLD, (2, 17): (*_NEW, *_HITS), (2, 18): (*_NEW, "stores_na", *_HITS)}
_TABLE_WORDS = frozenset((
    "Index", "Address", "Cacheline", "Node", "PA", "cnt", "Hitm", "Snoop", "Peer", "Total", "records", "Loads",
    "Stores", "L1Hit", "L1Miss", "N/A", "LclHitm", "RmtHitm", "Local", "Remote", "Lcl", "Rmt", "Ld", "Miss", "FB", "L1",
    "L2", "Llc", "LclHit", "RmtHit",
))  # fmt: skip


def table_values(before: int, words: list[str]) -> tuple[str, ...]:
    """What the counts of a table's row are, whose address and share have ``before`` cells between them.

    Of a row that was cut it is what the sums prove. In every generation total, local and remote stand first behind the
    share; then stores and their kinds, or, from 5.11 on, records, loads and stores.
    """
    values = TABLE_COUNTS.get((before, len(words)))
    if values is not None:
        return values
    cells = list(map(int, words))
    if len(cells) < 3 or cells[0] != cells[1] + cells[2]:
        return ()
    proven = len(cells) > 5 and cells[3] == cells[4] + cells[5]
    return (_OLD if before in RECORDS_FIRST else _NEW)[: 6 if proven else 3]


@dataclass(frozen=True, slots=True)
class Heading:
    """The columns that a heading names; ``peer`` tells whether remote and local mean peer snoops."""

    columns: Columns
    peer: bool
    words: int


_FIRST_WORDS = frozenset(label.split()[0] for column in DISTRIBUTION for label in column.labels)
_OWN_WORDS = {column: [frozenset(word.split("|")) for word in column.words.split()] for column in DISTRIBUTION}
# Words over several columns, or next to the one that counts.
_WORDS_BESIDE = frozenset(("hitm", "store", "stores", "data", "address", "total", "shared", "peer", "snoop"))
_KNOWN_WORDS = _WORDS_BESIDE.union(*(choice for words in _OWN_WORDS.values() for choice in words))


def read_heading(cursor: TextCursor, behind_peer_snoop: bool) -> Heading | None:
    """The heading of the distribution that begins at the cursor, or ``None``.

    ``behind_peer_snoop``: the upper of the two heading lines spoke of peer snoops.
    """
    at = 1 if cursor.peek().text == "Num" else 0
    columns: list[ReportColumn] = []
    labels: set[str] = set()
    last = -1
    while (found := _column(cursor, at, last)) is not None:
        last, label = found
        columns.append(DISTRIBUTION[last])
        labels.add(label)
        at += len(label.split())
    if len(columns) < _FEWEST_COLUMNS or not any(column.cells is SHARE for column in columns):
        return None
    peer = bool(labels & {"rmt peer", "lcl peer"}) or (behind_peer_snoop and "RmtHitm" not in labels)
    return Heading(tuple(columns), peer, at)


def _column(cursor: TextCursor, at: int, last: int) -> tuple[int, str] | None:
    """The number of the next column behind number ``last``, and its label; the longest label first."""
    if cursor.peek(at).text not in _FIRST_WORDS:
        return None
    for words in range(_LONGEST_LABEL, 0, -1):
        label = " ".join(cursor.peek(at + ahead).text for ahead in range(words))
        for index in range(last + 1, len(DISTRIBUTION)):
            if label in DISTRIBUTION[index].labels:
                return index, label
    return None


def read_own_heading(cursor: TextCursor) -> Heading | None:
    """The heading at the cursor that is not perf's own, or ``None``: words of columns only, one of them the symbol's.

    It may stand on several lines, between rules or not. Where the rows have other columns than it names, they are
    read by their own shape.
    """
    words: list[str] = []
    while len(words) < _MOST_WORDS:
        token = cursor.peek(len(words))
        word = token.text.lower().strip("%")
        if word not in _KNOWN_WORDS and (token.kind is not WordKind.DASHES or not words):
            break
        words.append(word)
    if not words:
        return None
    columns = tuple(
        column for column, named in _OWN_WORDS.items() if named and all(choice.intersection(words) for choice in named)
    )
    if len(columns) < _FEWEST_COLUMNS or SYMBOL not in columns or columns[0].cells is not SHARE:
        return None
    return Heading(columns, "peer" in words, len(words))


def table_heading(cursor: TextCursor) -> tuple[int, bool] | None:
    """Words of the low heading line of the shared-lines table at the cursor, and whether it counts peers."""
    if cursor.peek().text != "Index" or cursor.peek(1).text not in ("Address", "Cacheline"):
        return None
    words = 0
    while words < _MOST_TABLE_WORDS and cursor.peek(words).text in _TABLE_WORDS:
        words += 1
    return words, any(cursor.peek(at).text in ("Snoop", "Remote") for at in range(words))
