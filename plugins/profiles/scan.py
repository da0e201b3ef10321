# SPDX-License-Identifier: GPL-2.0-or-later
"""Walks over the tokens of a text and names its pieces; every token is looked at a bounded number of times.

Lines that stand as perf printed them are read whole, by one pattern each; the others go word by word, those of rows to
``rows.py``. A pattern takes a line only where the grammar would read the same from it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from linesmith.analyzer.model import CACHE_LINE_BYTES
from linesmith.plugins.profiles import columns as c
from linesmith.plugins.profiles.columns import BEHIND_BLANK, TextCursor, Token, WordKind
from linesmith.plugins.profiles.draft import (
    Headed,
    LineHead,
    Piece,
    Prose,
    RecordedEvent,
    ReportSection,
    Total,
    Unread,
)
from linesmith.plugins.profiles.printed import Found, RowPattern, printed_line_head, printed_table_row, table_row
from linesmith.plugins.profiles.rows import ReportRows, read_row, share_run

_MOST_GRAPH_WORDS = 512
_MOST_GRAPH_LINE = 24
_ON_GRAPH_LINE = frozenset((WordKind.GRAPH, WordKind.WORD, WordKind.INTEGER, WordKind.HEX))
_MOST_CELLS = 24
_TOTALS = range(3, 8)
_SURE_TOTALS = 4  # perf prints no fewer; authors who cut columns do
_RULES = frozenset((WordKind.RULE, WordKind.DASHES))
_SMALLEST_ADDRESS = 0x1000
_MOST_PROSE = 40
_MARKS = frozenset((WordKind.RULE, WordKind.BANNER, WordKind.MARGIN))
# PMU, terms between slashes, modifiers: cpu/mem-loads,ldlat=30/P
_EVENT = re.compile(r"\w{1,40}/[^/]{0,300}/\w{0,10}", re.ASCII)
# The counts above the tables, by the names that perf prints (``print_c2c__display_stats`` and its neighbours).
_KEYS = (
    "Total records", "Locked Load/Store Operations", "Load Operations", "Loads - uncacheable", "Loads - IO",
    "Loads - Miss", "Loads - no mapping", "Load Fill Buffer Hit", "Load L1D hit", "Load L2D hit", "Load LLC hit",
    "Load Local HITM", "Load Remote HITM", "Load Remote HIT", "Load Local DRAM", "Load Remote DRAM",
    "Load MESI State Exclusive", "Load MESI State Shared", "Load LLC Misses", "Load access blocked by data",
    "Load access blocked by address", "Load HIT Local Peer", "Load HIT Remote Peer", "Store Operations",
    "Store - uncacheable", "Store - no mapping", "Store L1D Hit", "Store L1D Miss", "Store No available memory level",
    "No Page Map Rejects", "Unable to parse data source", "Total Shared Cache Lines", "Load HITs on shared lines",
    "Fill Buffer Hits on shared lines", "L1D hits on shared lines", "L2D hits on shared lines",
    "LLC hits on shared lines", "Load hits on peer cache or nodes", "Locked Access on shared lines",
    "Blocked Access on shared lines", "Store HITs on shared lines", "Store L1D hits on shared lines",
    "Total Merged records",
)  # fmt: skip
_BY_FIRST_WORD: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
for _key in (*_KEYS, *(section.value for section in ReportSection)):
    _BY_FIRST_WORD.setdefault(_key.split()[0], []).append((_key, tuple(_key.split())))


class Scanner:
    """The state of one walk: the columns that the last heading named, and the words not yet understood."""

    def __init__(self, cursor: TextCursor) -> None:
        self._cursor = cursor
        self._columns: c.Columns | None = None
        self._rows: RowPattern | None = None
        self._behind_rule = False
        self._below_row = False
        self._words: list[str] = []
        self._words_line = 0
        self._recent: deque[str] = deque(maxlen=_MOST_PROSE)

    def pieces(self) -> Iterator[Piece]:
        """The pieces of the text, in order."""
        while True:
            while whole := self._printed():
                if self._words:
                    yield from self._finished_prose()
                yield whole
            token = self._cursor.peek()
            if token.kind is WordKind.END:
                break
            if token.kind in _MARKS:
                self._behind_rule = token.kind is WordKind.RULE
                self._below_row = False
                self._cursor.skip(1)
                yield from self._finished_prose()
                continue
            # In text without line ends there is no graph.
            if token.kind is WordKind.GRAPH and token.gap < 0 and self._below_row:
                self._cursor.skip(graph_words(self._cursor))
                continue
            found = self._data(token) or self._names()
            if found is None:
                yield from self._prose(token)
                continue
            piece, words = found
            self._cursor.skip(words)
            yield from self._finished_prose()
            self._below_row = isinstance(piece, ReportRows)
            self._behind_rule = False
            self._recent.clear()
            yield piece
        yield from self._finished_prose()

    def _printed(self) -> Piece | None:
        """The piece that is all of the next lines: rows, a line's head or a row of the table."""
        line = self._cursor.line()
        if line is None:
            return None
        rows = self._rows.read(self._cursor) if self._rows is not None else None
        found = (rows, len(rows.text_line)) if rows else printed_line_head(self._cursor) or printed_table_row(line)
        if found is None:
            return None
        piece, lines = found
        self._cursor.skip_lines(lines)
        self._below_row = rows is not None
        self._behind_rule = False
        self._recent.clear()
        return piece

    def _data(self, token: Token) -> Found | None:
        """A row, a table row or a line's head."""
        if token.kind is WordKind.PERCENT:
            return self._row()
        if token.kind is not WordKind.INTEGER and token.text != "Cacheline":
            return None
        return read_table_row(self._cursor) or read_line_head(self._cursor, self._behind_rule)

    def _row(self) -> Found | None:
        row = read_row(self._cursor, self._columns)
        if row is not None:
            return row, row.words
        length = share_run(self._cursor)
        if length < 3:
            return None
        text = " ".join(self._cursor.peek(at).text for at in range(length + 2)).strip()
        return Unread(text, self._cursor.peek().line), length

    def _names(self) -> Found | None:
        """A heading, a section's title or a count of the summary."""
        if (table := c.table_heading(self._cursor)) is not None:
            return self._headed(table[1], table[0])
        snooped = "Snoop" in self._recent and "Peer" in self._recent
        heading = c.read_heading(self._cursor, snooped) or c.read_own_heading(self._cursor)
        if heading is not None:
            self._columns = heading.columns
            self._rows = RowPattern(heading.columns)
            return self._headed(heading.peer, heading.words)
        return read_summary(self._cursor)

    def _headed(self, peer: bool, words: int) -> Found:
        return Headed(peer, any(word.startswith("Double-C") for word in self._recent)), words

    def _prose(self, token: Token) -> Iterator[Piece]:
        """Keeps the token as one of the words between two pieces; a new line closes the words before."""
        if token.gap < 0:
            yield from self._finished_prose()
        if not self._words:
            self._words_line = token.line
        self._words.append(token.text)
        self._recent.append(token.text)
        del self._words[:-_MOST_PROSE]
        self._behind_rule = False
        self._cursor.skip(1)

    def _finished_prose(self) -> Iterator[Piece]:
        if self._words:
            yield Prose(" ".join(self._words), self._words_line)
        self._words.clear()


def read_summary(cursor: TextCursor) -> Found | None:
    """A ``key : count`` at the cursor, an event behind ``Events :`` or a line below it, or a section's title."""
    known = _known_words(cursor)
    if known is not None:
        key, words = known
        if cursor.peek(words).text == ":" and cursor.peek(words + 1).kind is WordKind.INTEGER:
            return Total(key, int(cursor.peek(words + 1).text)), words + 2
    at = 1 if cursor.peek().text == "Events" else 0
    name = cursor.peek(at + 1).text
    if cursor.peek(at).text == ":" and _EVENT.fullmatch(name):
        return RecordedEvent(name), at + 2
    return (ReportSection(known[0]), known[1]) if known is not None and known[0] not in _KEYS else None


def _known_words(cursor: TextCursor) -> tuple[str, int] | None:
    """The longest key or section title that begins at the cursor, and its number of words."""
    best: tuple[str, int] | None = None
    for key, words in _BY_FIRST_WORD.get(cursor.peek().text, ()):
        same = all(cursor.peek(at).text == word for at, word in enumerate(words))
        if same and (best is None or len(words) > best[1]):
            best = key, len(words)
    return best


def read_table_row(cursor: TextCursor) -> Found | None:
    """The row of the shared-lines table at the cursor.

    Its counts end with the line, or (collapsed or wrapped text) where the next row's number and address begin.
    """
    if cursor.peek().kind is not WordKind.INTEGER or cursor.peek(1).kind is not WordKind.HEX:
        return None
    before = cursor.run(c.NODE, 2, 4)
    share, start = cursor.peek(2 + before), 3 + before
    if share.kind is not WordKind.PERCENT or cursor.peek(start).kind is not WordKind.INTEGER:
        return None
    every = cursor.run(c.COUNT, start, _MOST_CELLS)
    every -= cursor.peek(start + every).kind is WordKind.HEX
    number = min(1, every)
    while number < every and cursor.peek(start + number).gap >= 0:
        number += 1
    if (before, number) not in c.TABLE_COUNTS and (before, every) in c.TABLE_COUNTS:
        number = every
    words = [cursor.peek(at).text for at in range(start + number)]
    return table_row(cursor.peek().line, words, before), start + number


def read_line_head(cursor: TextCursor, behind_rule: bool) -> Found | None:
    """The head of a line in the distribution; ``behind_rule``: a dashed line precedes it.

    A head is counts and an address, followed by a rule or by the first row's shares. Between two rules
    the address may be missing. In a copied terminal window it is the word ``Cacheline`` and the address.
    """
    if cursor.peek().text == "Cacheline" and cursor.peek(1).kind is WordKind.HEX:
        return LineHead(int(cursor.peek(1).text, 16), (), cursor.peek().line), 2
    number = cursor.run(c.COUNT, 0, _TOTALS.stop)
    if number not in _TOTALS:
        return None
    has_address = cursor.peek(number).kind is WordKind.HEX
    address = int(cursor.peek(number).text, 16) if has_address else None
    words = number + has_address
    follower = cursor.peek(words).kind
    closed = follower in _RULES or (has_address and follower is WordKind.PERCENT)
    # Smaller numbers than addresses of lines are offsets.
    begins_line = address is not None and address >= _SMALLEST_ADDRESS and address % CACHE_LINE_BYTES == 0
    if number < _SURE_TOTALS and not (closed and (behind_rule if address is None else begins_line)):
        return None
    if not closed and not (behind_rule and has_address):
        return None
    counts = tuple(int(cursor.peek(at).text) for at in range(number))
    # How many shares the row below the rule begins with.
    shares = cursor.run(c.SHARE, words + cursor.run(_RULES, words, _MOST_CELLS), _TOTALS.stop)
    return LineHead(address, counts, cursor.peek().line, shares), words


def graph_words(cursor: TextCursor) -> int:
    """Words of the call graph at the cursor (``perf c2c report -g``), which ends with a blank line."""
    at = 0
    while at < _MOST_GRAPH_WORDS and (words := _graph_line(cursor, at)):
        at += words
    return max(at, 1)


def _graph_line(cursor: TextCursor, at: int) -> int:
    """Words of the graph's next line; 0 where the graph ends."""
    token = cursor.peek(at)
    if token.kind not in (WordKind.GRAPH, WordKind.WORD) or (at and token.gap == BEHIND_BLANK):
        return 0
    if token.kind is WordKind.WORD and cursor.peek(at + 1).kind is WordKind.HEX:
        return 0
    words = 1
    while (
        words < _MOST_GRAPH_LINE and cursor.peek(at + words).gap >= 0 and cursor.peek(at + words).kind in _ON_GRAPH_LINE
    ):
        words += 1
    return words if cursor.peek(at + words).gap < 0 else 0
