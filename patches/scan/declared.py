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


@dataclass(frozen=True, slots=True)
class Titles:
    """What a record is called: by its ``tag`` behind struct or union, and by ``typedefs``."""

    tag: bytes
    typedefs: frozenset[bytes]

    @property
    def words(self) -> frozenset[bytes]:
        """All of its names."""
        return self.typedefs | {self.tag}

    def pattern(self, behind: bytes = b"") -> re.Pattern[bytes]:
        """Matches a use of the type, followed by the expression ``behind``."""
        tagged = rb"\b(?:struct|union)\s+%s\b" % re.escape(self.tag)
        ways = (tagged, *(rb"\b%s\b" % re.escape(name) for name in sorted(self.typedefs)))
        return re.compile(rb"(?:%s)%s" % (b"|".join(ways), behind))


def declares(record: bytes) -> re.Pattern[bytes]:
    """Matches in a file that may declare ``record``."""
    name = re.escape(record)
    return re.compile(
        rb"\b(?:struct|union)\s+(?:__\w+(?:\([^()]*\))?\s+)*%s\b[^;{}()=]*\{|\}\s*(?:\w+\s+)*%s\s*[;,]" % (name, name)
    )


def titles(record: bytes, texts: Iterable[HeaderText]) -> Titles:
    """The names of ``record``: its own, and typedefs of it before or behind its body."""
    typedefs: set[bytes] = set()
    for code in (text.code for text in texts):
        if record in code:
            typedefs.update(name for tag, name in _TYPEDEF.findall(code) if tag == record)
            for body in _bodies(record, code):
                typedefs.update(body.typedefs)
    return Titles(record, frozenset(typedefs))


def words_inside(record: bytes, texts: Iterable[HeaderText]) -> frozenset[bytes]:
    """Every word in the body of ``record``, of each declaration: its members are among them."""
    bodies = (body for text in texts if record in text.code for body in _bodies(record, text.code))
    return frozenset(word for body in bodies for word in _WORD.findall(body.text))


@dataclass(frozen=True, slots=True)
class _Body:
    """The ``text`` between the braces of a declaration, and the names that ``typedef`` gives it."""

    text: bytes
    typedefs: frozenset[bytes]


def _bodies(record: bytes, code: bytes) -> Iterator[_Body]:
    """The bodies of ``record``, found forward from its tag, or back from its typedef."""
    for match in declares(record).finditer(code):
        if match[0].endswith(b"{"):
            opening = match.end() - 1
            closing = opening + 1 + _closing(code[opening + 1 :], b"{")
        else:
            closing = match.start()
            opening = closing - 1 - _closing(code[:closing][::-1], b"}")
        head = re.split(rb"[;{}]", code[max(0, opening - _MOST_HEAD) : max(0, opening)])[-1]
        typedefs = _TAIL.match(code, closing + 1) if b"typedef" in head.split() else None
        if typedefs is not None or match[0].endswith(b"{"):
            names = _WORD.findall(typedefs[0]) if typedefs is not None else ()
            yield _Body(code[opening + 1 : closing], frozenset(names))


def _closing(text: bytes, opening: bytes) -> int:
    """Where the brace is that encloses the start of ``text``, at its end where there is none."""
    depth = 0
    for mark in _BRACE.finditer(text):
        depth += 1 if mark[0] == opening else -1
        if depth < 0:
            return mark.start()
    return len(text)
