# SPDX-License-Identifier: GPL-2.0-or-later
"""Walks over the tokens of a text and names its pieces; every token is looked at a bounded number of times."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from linesmith.plugins.profiles.callgraph import read_callers
from linesmith.plugins.profiles.columns import Columns
from linesmith.plugins.profiles.headings import read_heading, table_heading
from linesmith.plugins.profiles.linetable import read_line_head, read_table_row
from linesmith.plugins.profiles.own_heading import read_own_heading
from linesmith.plugins.profiles.pieces import Banner, Callers, Headed, Piece, Prose, Section, Unread
from linesmith.plugins.profiles.rows import Row, read_row, share_run
from linesmith.plugins.profiles.summary import known_words, read_event, read_total
from linesmith.plugins.profiles.tokens import Cursor, Kind, Token

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
