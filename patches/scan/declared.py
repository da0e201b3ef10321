# SPDX-License-Identifier: GPL-2.0-or-later
"""Where text declares a record: by its tag, or by the typedef behind an unnamed body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from linesmith.patches.scan.header_text import HeaderText

_WORD = re.compile(rb"[A-Za-z_]\w*")
_TYPEDEF = re.compile(rb"\btypedef\s+(?:struct|union)\s+(\w+)\s+\**(\w+)\s*;")
_BRACE = re.compile(rb"[{}]")
_TAIL = re.compile(rb"[^;{}]*;")
_MOST_HEAD = 300
# A tag may have so many attributes before it, and so many bytes of them behind it.
_ATTRIBUTES = rb"(?:__\w++(?:\([^()]{0,200}+\))?+\s++){0,20}"
_BEHIND = rb"[^;{}()=]{0,300}+"


@dataclass(frozen=True, slots=True)
class Titles:
    """What records are called: by their ``tags`` behind struct or union, and by ``typedefs``."""

    tags: frozenset[bytes]
    typedefs: frozenset[bytes]

    @property
    def words(self) -> frozenset[bytes]:
        """All of their names."""
        return self.typedefs | self.tags

    def pattern(self, behind: bytes = b"") -> re.Pattern[bytes]:
        """Matches a use of one of the types, followed by the expression ``behind``."""
        tagged = rb"\b(?:struct|union)\s+%s\b" % one_of(self.tags)
        ways = (tagged, rb"\b%s\b" % one_of(self.typedefs)) if self.typedefs else (tagged,)
        return re.compile(rb"(?:%s)%s" % (b"|".join(ways), behind))


def one_of(words: Iterable[bytes]) -> bytes:
    """The expression that matches any of the words."""
    return rb"(?:%s)" % b"|".join(map(re.escape, sorted(words)))


def declares(records: Iterable[bytes]) -> re.Pattern[bytes]:
    """Matches in a file that may declare one of ``records``."""
    name = one_of(records)
    tagged = rb"\b(?:struct|union)\s++%s%s\b%s\{" % (_ATTRIBUTES, name, _BEHIND)
    return re.compile(rb"%s|\}\s*+(?:\w+\s+)*%s\s*+[;,]" % (tagged, name))


def titles(records: frozenset[bytes], texts: Iterable[HeaderText]) -> Titles:
    """The names of ``records``: their own, and typedefs of them before or behind their bodies."""
    typedefs: set[bytes] = set()
    for code in (text.code for text in texts if any(one in text.code for one in records)):
        typedefs.update(name for tag, name in _TYPEDEF.findall(code) if tag in records)
        for body in _bodies(records, code):
            typedefs.update(body.typedefs)
    return Titles(records, frozenset(typedefs))


def words_inside(record: bytes, texts: Iterable[HeaderText]) -> frozenset[bytes]:
    """Every word in the body of ``record``, of each declaration: its members are among them."""
    bodies = (body for text in texts if record in text.code for body in _bodies((record,), text.code))
    return frozenset(word for body in bodies for word in _WORD.findall(body.text))


@dataclass(frozen=True, slots=True)
class _Body:
    """The ``text`` between the braces of a declaration, and the names that ``typedef`` gives it."""

    text: bytes
    typedefs: frozenset[bytes]


def _bodies(records: Iterable[bytes], code: bytes) -> Iterator[_Body]:
    """The bodies of ``records``, found forward from its tag, or back from its typedef; none within another one."""
    behind = 0
    for opening, closing, tagged in sorted(_enclosed(records, code)):
        if opening < behind:
            continue
        behind = closing
        head = re.split(rb"[;{}]", code[max(0, opening - _MOST_HEAD) : max(0, opening)])[-1]
        typedefs = _TAIL.match(code, closing + 1) if b"typedef" in head.split() else None
        if typedefs is not None or tagged:
            names = _WORD.findall(typedefs[0]) if typedefs is not None else ()
            yield _Body(code[opening + 1 : closing], frozenset(names))


def _enclosed(records: Iterable[bytes], code: bytes) -> Iterator[tuple[int, int, bool]]:
    """Where the braces of each declaration open and close, and whether it was found by its tag.

    A brace that never closes does so at the end of ``code``; one that never opened did before its start (-1).
    """
    found = list(declares(records).finditer(code))
    openings = {one.end() - 1 for one in found if one[0].endswith(b"{")}
    closings = {one.start() for one in found if not one[0].endswith(b"{")}
    waiting: list[int] = []
    for mark in _BRACE.finditer(code) if found else ():
        if mark[0] == b"{":
            waiting.append(mark.start())
            continue
        opening = waiting.pop() if waiting else -1
        if opening in openings or mark.start() in closings:
            yield opening, mark.start(), opening in openings
    yield from ((opening, len(code), True) for opening in openings.intersection(waiting))
