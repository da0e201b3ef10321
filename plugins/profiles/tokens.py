# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a report text with their kind, and a cursor over them that never holds more than a window."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum, auto
from functools import lru_cache
from typing import NamedTuple

FIRST, BEHIND_BLANK = -1, -2
_WORDS = re.compile(r"(\s*)(\S+)")
_LONGEST_WORD = 512


class TextLine(NamedTuple):
    """A line of the text as the report's author saw it; ``number`` is its first line in the input, from 1."""

    number: int
    text: str


class WordKind(IntEnum):
    """What a word can be in a c2c report, told from its own characters only; numbers, for sets of them are quick."""

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


def tokens(lines: Iterable[TextLine]) -> Iterator[Token]:
    """Every word of ``lines`` in order; a word longer than any that perf prints is cut."""
    first = FIRST
    for line in lines:
        gap = first
        # Blanks at the end would be tried from each of them on.
        for blanks, word in _WORDS.findall(line.text.rstrip()):
            gap = len(blanks) if gap >= 0 else first
            yield Token(_kind(word), word[:_LONGEST_WORD], line.number, gap)
            gap = 0
        first = BEHIND_BLANK if gap < 0 else FIRST


class TextCursor:
    """Looks ahead in a stream of tokens without keeping what is behind."""

    _DROP_BEHIND = 4096

    def __init__(self, stream: Iterator[Token]) -> None:
        self._stream = stream
        self._window: list[Token] = []
        self._at = 0
        self._end = Token(WordKind.END, "", 0, -1)

    def peek(self, ahead: int = 0) -> Token:
        """The token ``ahead`` of the next one; behind the last word always a token of kind ``END``."""
        try:
            return self._window[self._at + ahead]
        except IndexError:
            return self._fill(self._at + ahead)

    def _fill(self, index: int) -> Token:
        while len(self._window) <= index:
            token = next(self._stream, None)
            if token is None:
                return self._end
            self._window.append(token)
        return self._window[index]

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
