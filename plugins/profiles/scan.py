# SPDX-License-Identifier: GPL-2.0-or-later
"""Walks over the tokens of a text and names its pieces; every token is looked at a bounded number of times."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from linesmith.analyzer.model import CACHE_LINE_BYTES
from linesmith.plugins.profiles.columns import (
    TABLE_FORMS,
    Columns,
    TableForm,
    read_heading,
    read_own_heading,
    table_form,
    table_heading,
)
from linesmith.plugins.profiles.draft import (
    Banner,
    Callers,
    Headed,
    LineHead,
    Piece,
    Prose,
    Section,
    TableRow,
    Unread,
    known_words,
    read_event,
    read_total,
)
from linesmith.plugins.profiles.rows import Row, read_row, share_run
from linesmith.plugins.profiles.tokens import BEHIND_BLANK, Cursor, Kind, Token

# Call graphs that ``perf c2c report -g`` prints below a row.

_MOST_WORDS = 512
_MOST_LINE_WORDS = 24
_MOST_CALLERS = 127  # perf's default of kernel.perf_event_max_stack
# Branches, and the share, count or period of one: |--12.50%--, --7--.
_BRANCH = re.compile(r"[|-]*(?:\d{1,20}(?:\.\d{1,2}%)?-+)?")
_FUNCTION = re.compile(r"[A-Za-z_.$~][\w.$:~<>,()*&@\[\]/-]{0,200}$")
_ON_LINE = frozenset((Kind.GRAPH, Kind.WORD, Kind.INTEGER, Kind.HEX))
_OPENING, _CLOSING = re.compile(r"[<(\[{]"), re.compile(r"[>)\]}]")


def read_callers(cursor: Cursor) -> tuple[tuple[str, ...], int] | None:
    """The functions of the call graph at the cursor, innermost first, and the words that it took.

    A line of a graph holds one function behind its branches, and what perf adds to it: ``(inlined)``, a source line.
    The graph ends with a blank line, or where the words of something else begin in text without line ends.
    """
    if cursor.peek().kind is not Kind.GRAPH:
        return None
    collapsed = cursor.peek().gap >= 0
    names: list[str] = []
    at = 0
    while at < _MOST_WORDS and (words := _entry(cursor, at, collapsed)):
        name = _name([cursor.peek(at + ahead) for ahead in range(words)])
        if _FUNCTION.match(name.replace(" ", "")) and len(names) < _MOST_CALLERS:
            names.append(name)
        at += words
    return tuple(names), at


def _name(line: list[Token]) -> str:
    """The function on a line of a graph: the first word behind the branches, and more while its brackets are open."""
    first = next((at for at, token in enumerate(line) if _BRANCH.sub("", token.text, count=1)), len(line))
    if first == len(line):
        return ""
    name = _BRANCH.sub("", line[first].text, count=1)
    for token in line[first + 1 :]:
        if len(_OPENING.findall(name)) <= len(_CLOSING.findall(name)):
            break
        name += " " + token.text
    return name


def _entry(cursor: Cursor, at: int, collapsed: bool) -> int:
    """Words of the graph's next line (or next word of collapsed text); 0 where the graph ends."""
    token = cursor.peek(at)
    if token.kind not in (Kind.GRAPH, Kind.WORD):
        return 0
    if token.kind is Kind.WORD and cursor.peek(at + 1).kind is Kind.HEX:
        return 0
    if collapsed:
        return 1 if token.kind is Kind.GRAPH or _FUNCTION.match(token.text) else 0
    if at and token.gap == BEHIND_BLANK:
        return 0
    words = 1
    while words < _MOST_LINE_WORDS and cursor.peek(at + words).gap >= 0 and cursor.peek(at + words).kind in _ON_LINE:
        words += 1
    return words if cursor.peek(at + words).gap < 0 else 0


# Rows of the shared-lines table, and the raw counts that stand between rules in the distribution.

_INTEGER = frozenset((Kind.INTEGER,))
_SHARE = frozenset((Kind.PERCENT,))
_CELL = frozenset((Kind.INTEGER, Kind.NODE))
_MOST_CELLS = 24
# Up to 5.10 the records stand in front of the share.
_OLD_CELLS = {len(form.before): form.before for form in TABLE_FORMS if "records" in form.before}
_OLD_VALUES = ("total", "local", "remote", "stores", "stores_l1_hit", "stores_l1_miss")
_NEW_VALUES = ("total", "local", "remote", "records", "loads", "stores")
_TOTALS = range(3, 8)
_SURE_TOTALS = 4  # perf prints no fewer; authors who cut columns do
_RULES = frozenset((Kind.RULE, Kind.DASHES))
_SMALLEST_ADDRESS = 0x1000


def read_table_row(cursor: Cursor, peer: bool | None) -> tuple[TableRow, int] | None:
    """The table row at the cursor and its number of words; ``peer``: what the heading said, if there was one."""
    if cursor.peek().kind is not Kind.INTEGER or cursor.peek(1).kind is not Kind.HEX:
        return None
    before = cursor.run(_CELL, 2, 4)
    share = cursor.peek(2 + before)
    if share.kind is not Kind.PERCENT or cursor.peek(3 + before).kind is not Kind.INTEGER:
        return None
    form, count = _form(cursor, before, peer)
    cells = [int(cursor.peek(3 + before + at).text) for at in range(count)]
    values = form.values if form else _first_values(before, cells)
    counts = [(value, cell) for value, cell in zip(values, cells, strict=False) if value]
    for at, value in enumerate(form.before if form else _OLD_CELLS.get(before, ()) if values else ()):
        if value and cursor.peek(2 + at).kind is Kind.INTEGER:
            counts.append((value, int(cursor.peek(2 + at).text)))
    row = TableRow(
        int(cursor.peek().text),
        int(cursor.peek(1).text, 16),
        float(share.text[:-1]) / 100,
        tuple(counts),
        form,
        cursor.peek().line,
    )
    return row, 3 + before + count


def _form(cursor: Cursor, before: int, peer: bool | None) -> tuple[TableForm | None, int]:
    """The generation of the row at the cursor and how many counts follow its share.

    The counts end with the line, or (collapsed or wrapped text) where the next row's number and address begin.
    """
    start = 3 + before
    every = cursor.run(_INTEGER, start, _MOST_CELLS)
    every -= cursor.peek(start + every).kind is Kind.HEX
    on_line = min(1, every)
    while on_line < every and cursor.peek(start + on_line).gap >= 0:
        on_line += 1
    for count in (on_line, every):
        form = table_form(before, count, peer)
        if form is not None:
            return form, count
    return None, on_line


def _first_values(before: int, cells: list[int]) -> tuple[str, ...]:
    """What the counts of a row are that was cut, as far as their sums prove it.

    In every generation total, local and remote stand first behind the share; then stores and their kinds, or, from
    5.11 on, records, loads and stores.
    """
    if len(cells) < 3 or cells[0] != cells[1] + cells[2]:
        return ()
    values = _OLD_VALUES if before in _OLD_CELLS else _NEW_VALUES
    proven = len(cells) > 5 and cells[3] == cells[4] + cells[5]
    return values[: 6 if proven else 3]


def read_line_head(cursor: Cursor, behind_rule: bool) -> tuple[LineHead, int] | None:
    """The head of a line in the distribution and its number of words; ``behind_rule``: a dashed line precedes it.

    A head is counts and an address, followed by a rule or by the first row's shares. Between two rules
    the address may be missing. In a copied terminal window it is the word ``Cacheline`` and the address.
    """
    if cursor.peek().text == "Cacheline" and cursor.peek(1).kind is Kind.HEX:
        head = LineHead(None, int(cursor.peek(1).text, 16), (), cursor.peek().line)
        return head, 2
    number = cursor.run(_INTEGER, 0, _TOTALS.stop)
    if number not in _TOTALS:
        return None
    has_address = cursor.peek(number).kind is Kind.HEX
    address = int(cursor.peek(number).text, 16) if has_address else None
    follower = cursor.peek(number + has_address).kind
    closed = follower in _RULES or (has_address and follower is Kind.PERCENT)
    if number < _SURE_TOTALS and not (closed and (behind_rule if address is None else _begins_line(address))):
        return None
    if not closed and not (behind_rule and has_address):
        return None
    counts = tuple(int(cursor.peek(at).text) for at in range(number))
    words = number + has_address
    return LineHead(None, address, counts, cursor.peek().line, _shares_below(cursor, words)), words


def _shares_below(cursor: Cursor, at: int) -> int:
    """How many shares the row below the rule at ``at`` begins with, 0 where no row follows."""
    at += cursor.run(_RULES, at, _MOST_CELLS)
    return cursor.run(_SHARE, at, _TOTALS.stop)


def _begins_line(address: int) -> bool:
    """Whether this can be the address of a cache line; smaller ones are offsets."""
    return address >= _SMALLEST_ADDRESS and address % CACHE_LINE_BYTES == 0


_MOST_PROSE = 40
_MOST_CUT_WORDS = 3
_MARKS = frozenset((Kind.RULE, Kind.BANNER, Kind.MARGIN))
_SECTIONS = {section.value: section for section in Section}


class Scanner:
    """The state of one walk: the columns that the last heading named, and the words not yet understood."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._columns: Columns | None = None
        self._table_peer: bool | None = None
        self._behind_rule = False
        self._below_row = False
        self._words: list[str] = []
        self._words_line = 0
        self._recent: deque[str] = deque(maxlen=_MOST_PROSE)

    def pieces(self) -> Iterator[Piece]:
        """The pieces of the text, in order."""
        while (token := self._cursor.peek()).kind is not Kind.END:
            piece = self._marks(token) or self._data(token) or self._names()
            if piece is None:
                yield from self._prose(token)
                continue
            words, found = piece
            self._cursor.skip(words)
            yield from self._spoken()
            if found is not None:
                self._below_row = isinstance(found, (Row, Callers))
                self._behind_rule = False
                self._recent.clear()
                yield found
        yield from self._spoken()

    def _marks(self, token: Token) -> tuple[int, Piece | None] | None:
        if token.kind not in _MARKS:
            return None
        self._behind_rule = token.kind is Kind.RULE
        self._below_row = False
        return 1, None

    def _data(self, token: Token) -> tuple[int, Piece | None] | None:
        """A row, a table row, a line's head or a call graph."""
        if token.kind is Kind.PERCENT:
            return self._row()
        if token.kind is Kind.GRAPH and self._below_row:
            graph = read_callers(self._cursor)
            return (max(graph[1], 1), Callers(graph[0])) if graph else None
        if token.kind is not Kind.INTEGER and token.text != "Cacheline":
            return None
        found = read_table_row(self._cursor, self._table_peer) or read_line_head(self._cursor, self._behind_rule)
        return (found[1], found[0]) if found else None

    def _row(self) -> tuple[int, Piece | None] | None:
        row = read_row(self._cursor, self._columns)
        if row is not None:
            return row.words, row
        length = share_run(self._cursor)
        if length < 3:
            return None
        text = " ".join(self._cursor.peek(at).text for at in range(length + 2)).strip()
        return length, Unread(text, self._cursor.peek().line)

    def _names(self) -> tuple[int, Piece | None] | None:
        """A heading, a section's title or a count of the summary."""
        if (table := table_heading(self._cursor)) is not None:
            words, self._table_peer = table
            return words, Headed(self._table_peer, self._double())
        snooped = "Snoop" in self._recent and "Peer" in self._recent
        heading = read_heading(self._cursor, snooped) or read_own_heading(self._cursor)
        if heading is not None:
            self._columns = heading.columns
            words = heading.words + self._rest_of_heading(heading.words)
            return words, Headed(heading.peer, self._double())
        if (total := read_total(self._cursor)) is not None:
            return total[1], total[0]
        if (event := read_event(self._cursor)) is not None:
            return event[1], event[0]
        known = known_words(self._cursor)
        if known is not None and known[0] in _SECTIONS:
            return known[1], Banner(_SECTIONS[known[0]], self._cursor.peek().line)
        return None

    def _rest_of_heading(self, at: int) -> int:
        """Words behind the columns on the line of a heading: a pager cut the last one (``No>``)."""
        words = 0
        while words < _MOST_CUT_WORDS and self._cursor.peek(at + words).gap >= 0:
            words += 1
        return words if self._cursor.peek(at + words).gap < 0 else 0

    def _double(self) -> bool:
        return any(word.startswith("Double-C") for word in self._recent)

    def _prose(self, token: Token) -> Iterator[Piece]:
        """Keeps the token as one of the words between two pieces; a new line closes the words before."""
        if token.gap < 0:
            yield from self._spoken()
        if not self._words:
            self._words_line = token.line
        self._words.append(token.text)
        self._recent.append(token.text)
        del self._words[:-_MOST_PROSE]
        self._behind_rule = False
        self._cursor.skip(1)

    def _spoken(self) -> Iterator[Piece]:
        if self._words:
            yield Prose(" ".join(self._words), self._words_line)
        self._words.clear()
