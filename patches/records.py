# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a file declares a record: found by bracket pairs, so that the rest of the file may be anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from linesmith.patches.lines import Lines
from linesmith.patches.masking import closings, without_comments, without_directives

# Possessive, so that a long row of underscores or of attributes is read in one way only.
_PARENTHESIS = rb"\((?:[^(){};]|\((?:[^(){};]|\([^(){};]*+\))*+\))*+\)"
_WORD = re.compile(rb"(\w++)\s*+(" + _PARENTHESIS + rb")?+\s*+")
_OPENED = re.compile(rb"\b(struct|union)\s++((?:(?!(?:struct|union)\b)\w++\s*+(?:" + _PARENTHESIS + rb")?+\s*+)++)\{")
_PACKED = re.compile(rb"packed", re.IGNORECASE)
_PRAGMA = re.compile(rb"^[ \t]*+#[ \t]*+pragma[ \t]++pack[ \t]*+\(([^)\n]*+)\)", re.MULTILINE)
# The whole statement, so that none of its words begins another look at the rest.
_TYPEDEF = re.compile(rb"\btypedef\b[^;{}]*+(?P<brace>\{)?")
_ANONYMOUS = re.compile(rb"\btypedef\s++(?:const\s++)?(struct|union)\b")
_NOT_PLAIN = re.compile(rb"[^\w\s()]")
_BEHIND = re.compile(rb"\}([^;{}]*+);")
_NAME = re.compile(rb"\w+")
_TEXTS_AT_HAND = 8
# Attributes and declarators behind a body are shorter; a text without semicolons is not read to its end for each.
_MOST_BEHIND = 1 << 9

_Found = dict[bytes, dict[int, tuple[bytes, int, bool]]]
"""By name and opening brace: keyword, where that is, and whether the name is a typedef."""


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
    return all_records(source).get(name, ()) if name.encode() in source else ()


def is_packed(source: bytes, record: Record) -> bool:
    """Whether the declaration says ``packed``, by an attribute, a macro called so, or ``#pragma pack`` above it."""
    code = without_comments(source)
    head, tail = code[record.start : record.opening], code[record.closing : code.find(b";", record.closing)]
    if _PACKED.search(head) or _PACKED.search(tail):
        return True
    pragmas = _PRAGMA.findall(code, 0, record.start)
    return bool(pragmas) and bool(re.search(rb"\d", pragmas[-1]))


def declaration_end(source: bytes, closing: int) -> int:
    """Where the declaration ends whose body ends at ``closing``: at its semicolon, behind the attributes."""
    end = source.find(b";", closing, closing + _MOST_BEHIND)
    return end if end >= 0 else min(closing + _MOST_BEHIND, len(source))


@lru_cache(maxsize=_TEXTS_AT_HAND)
def all_records(source: bytes) -> Mapping[str, tuple[Record, ...]]:
    """All records of a text, by name, those of one name in file order; a text is read once while it is at hand."""
    code = without_directives(without_comments(source))
    found: _Found = {}
    _add_typedefs(code, found)
    _add_tagged(code, found)
    ends = closings(code, {opening for places in found.values() for opening in places})
    lines = Lines(source)
    named = {}
    for name, places in found.items():
        title = name.decode("ascii")
        named[title] = tuple(
            Record(title, kind.decode(), start, opening, ends[opening], lines.number(start), typedef)
            for opening, (kind, start, typedef) in sorted(places.items())
            if opening in ends
        )
    return named


def _add_tagged(code: bytes, found: _Found) -> None:
    for match in _OPENED.finditer(code):
        for name in _tags(match[2]):
            found.setdefault(name, {})[match.end() - 1] = (match[1], match.start(), False)


def _tags(head: bytes) -> Iterable[bytes]:
    """The words between keyword and brace that can be the tag: the others are attributes, which begin with ``__``."""
    words = [(one[1], one[2] is not None) for one in _WORD.finditer(head)]
    plain = [(name, called) for name, called in words if not name.startswith(b"__")]
    if len(plain) > 1:
        return ()
    return dict.fromkeys(name for name, called in plain or words if not called)


def _add_typedefs(code: bytes, found: _Found) -> None:
    behind = {match.start(): match for match in _BEHIND.finditer(code)}
    heads = dict(_typedefs(code))
    for opening, end in closings(code, heads).items():
        if end in behind:
            for name in _NAME.findall(behind[end][1]):
                found.setdefault(name, {})[opening] = (heads[opening][1], heads[opening].start(1), True)


def _typedefs(code: bytes) -> Iterator[tuple[int, re.Match[bytes]]]:
    """The opening brace of each record that a typedef names, and its head."""
    for match in _TYPEDEF.finditer(code):
        if match["brace"]:
            brace = match.start("brace")
            # Nothing but words and parentheses may stand between the typedef and the brace.
            plain = max((one.end() for one in _NOT_PLAIN.finditer(code, match.start(), brace)), default=match.start())
            head = _ANONYMOUS.search(code, plain, brace)
            if head:
                yield brace, head
