# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a file declares a record: found by bracket pairs, so that the rest of the file may be anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.patches.masking import closing, without_comments, without_directives

# Possessive, so that a long row of underscores is read in one way only.
_PARENTHESIS = rb"\((?:[^(){};]|\((?:[^(){};]|\([^(){};]*+\))*+\))*+\)"
_ATTRIBUTE = rb"(?:__\w++(?:\s*+" + _PARENTHESIS + rb")?\s*+)*+"
_KEYWORD_BEFORE = re.compile(rb"\b(struct|union)\s+" + _ATTRIBUTE + rb"\Z")
_PACKED = re.compile(rb"packed", re.IGNORECASE)
_PRAGMA = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+pack[ \t]*\(([^)\n]*)\)", re.MULTILINE)
_ANONYMOUS_BEFORE = re.compile(rb"\btypedef\s+(?:const\s+)?(struct|union)\b[\w\s()]*\Z")


@dataclass(frozen=True, slots=True)
class Record:
    """A record with a body, as byte offsets in its file.

    ``start`` is the keyword, ``opening`` and ``closing`` are the braces; ``line`` counts from 1. ``typedef`` tells
    that ``name`` is no tag.
    """

    name: str
    kind: str
    start: int
    opening: int
    closing: int
    line: int
    typedef: bool = False

    @property
    def title(self) -> str:
        """The type as C code names it."""
        return self.name if self.typedef else f"{self.kind} {self.name}"


def records_named(source: bytes, name: str) -> tuple[Record, ...]:
    """Every record with this tag, or with this typedef name and a body of its own, in file order."""
    word = name.encode()
    if word not in source:
        return ()
    code = without_directives(without_comments(source))
    found = {record.opening: record for record in _typedefs(code, name)}
    found.update({record.opening: record for record in _tagged(code, name)})
    return tuple(found[opening] for opening in sorted(found))


def is_packed(source: bytes, record: Record) -> bool:
    """Whether the declaration says ``packed``, by an attribute, a macro called so, or ``#pragma pack`` above it."""
    code = without_comments(source)
    head, tail = code[record.start : record.opening], code[record.closing : code.find(b";", record.closing)]
    if _PACKED.search(head) or _PACKED.search(tail):
        return True
    pragmas = _PRAGMA.findall(code, 0, record.start)
    return bool(pragmas) and bool(re.search(rb"\d", pragmas[-1]))


def _tagged(code: bytes, name: str) -> Iterator[Record]:
    pattern = re.compile(rb"\b" + re.escape(name.encode()) + rb"\b\s*" + _ATTRIBUTE + rb"\{")
    for match in pattern.finditer(code):
        before = _KEYWORD_BEFORE.search(code, _statement_start(code, match.start()), match.start())
        if before:
            yield from _record(code, name, before, match.end() - 1, typedef=False)


def _typedefs(code: bytes, name: str) -> Iterator[Record]:
    end_pattern = re.compile(rb"\}[^;{}]*?\b" + re.escape(name.encode()) + rb"\b[^;{}]*;")
    ends = {match.start() for match in end_pattern.finditer(code)}
    if not ends:
        return
    for match in re.finditer(rb"\btypedef\b[^;{}]*(\{)", code):
        before = _ANONYMOUS_BEFORE.search(code, match.start(), match.start(1))
        if before and closing(code, match.start(1)) in ends:
            yield from _record(code, name, before, match.start(1), typedef=True)


def _record(code: bytes, name: str, before: re.Match[bytes], opening: int, *, typedef: bool) -> Iterator[Record]:
    end = closing(code, opening)
    if end is not None:
        start = before.start(1)
        line = code.count(b"\n", 0, start) + 1
        yield Record(name, before[1].decode(), start, opening, end, line, typedef)


def _statement_start(code: bytes, offset: int) -> int:
    return max(code.rfind(mark, 0, offset) for mark in (b";", b"{", b"}")) + 1
