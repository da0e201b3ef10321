# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a file declares a record: found by bracket pairs, so that the rest of the file may be anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from linesmith.patches.source.macros import LineCounter, closings, without_comments, without_directives

# In front of a body; deeper ones are told by ``is_obscure``.
MOST_PARENTHESES = 6


def _parentheses(levels: int) -> bytes:
    """Parentheses with others in them; possessive, so that long rows are read in one way only."""
    inner = rb"|" + _parentheses(levels - 1) if levels > 1 else b""
    return rb"\((?:[^(){};]" + inner + rb")*+\)"


PARENTHESIS = _parentheses(MOST_PARENTHESES)
_WORD = re.compile(rb"(\w++)\s*+(" + PARENTHESIS + rb")?+\s*+")
_OPENED = re.compile(rb"\b(struct|union)\s++((?:(?!(?:struct|union)\b)\w++\s*+(?:" + PARENTHESIS + rb")?+\s*+)++)\{")
_ROUND = re.compile(rb"[()]")
_PACKED = re.compile(rb"packed", re.IGNORECASE)
_PRAGMA = re.compile(rb"^[ \t]*+#[ \t]*+pragma[ \t]++pack[ \t]*+\(([^)\n]*+)\)", re.MULTILINE)
# The whole statement, so that none of its words begins another look at the rest.
_TYPEDEF = re.compile(rb"\btypedef\b[^;{}]*+(?P<brace>\{)?")
_ANONYMOUS = re.compile(rb"\btypedef\s++(?:const\s++)?(struct|union)\b")
_NOT_PLAIN = re.compile(rb"[^\w\s()]")
_BEHIND = re.compile(rb"\}([^;{}]*+);")
_NAME = re.compile(rb"\w+")
_TEXTS_AT_HAND = 8
# What ends a declaration behind its body; no byte is read for two bodies.
_END = re.compile(rb"[;{}]")
# Words that belong together on two lines, and brackets spelt otherwise (C11, 6.4.6): such a text is not looked through.
_OTHERWISE = re.compile(rb"\\\r?\n|<%|%>|<:|:>|%:|\?\?[<>()=/]")
_HEAD = re.compile(rb"\b(?:struct|union)\b(?P<words>[^;{}]*+)(?P<brace>\{)?")


@dataclass(frozen=True, slots=True)
class RecordSpan:
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


def records_named(source: bytes, name: str) -> tuple[RecordSpan, ...]:
    """Every record with this tag, or with this typedef name and a body of its own, in file order."""
    return all_records(source).get(name, ()) if name.encode() in source else ()


def is_packed(source: bytes, record: RecordSpan) -> bool:
    """Whether the declaration says ``packed``, by an attribute, a macro called so, or ``#pragma pack`` above it."""
    code = without_comments(source)
    head, tail = code[record.start : record.opening], code[record.closing : code.find(b";", record.closing)]
    if _PACKED.search(head) or _PACKED.search(tail):
        return True
    pragmas = _PRAGMA.findall(code, 0, record.start)
    return bool(pragmas) and bool(re.search(rb"\d", pragmas[-1]))


def declaration_end(code: bytes, closing: int) -> int:
    """Where the declaration ends whose body ends at ``closing``: at its semicolon, behind the attributes.

    ``code`` has no comments.
    """
    end = _END.search(code, closing + 1)
    return end.start() if end else len(code)


def is_obscure(source: bytes) -> bool:
    """Whether the text may hold a record that is not found in it, because of how it is written.

    So it is where the brackets of a record do not pair, as arms of ``#if`` may have them, lie deeper in each other than
    people write, or are spelt otherwise.
    """
    code = without_directives(without_comments(source))
    tagged = (match.end() - 1 for match in _OPENED.finditer(code) if _tags(match[2]))
    openings = frozenset((*tagged, *dict(_typedefs(code))))
    if is_spelt_otherwise(code) or not openings <= closings(code, openings).keys():
        return True
    return any(match["brace"] and _depth(match["words"]) > MOST_PARENTHESES for match in _HEAD.finditer(code))


def is_spelt_otherwise(code: bytes) -> bool:
    """Whether a word of ``code``, which has no directives, may go on on the next line, or a bracket be of two signs."""
    return _OTHERWISE.search(code) is not None


def heads(source: bytes) -> Iterator[frozenset[str]]:
    """The words between ``struct`` or ``union`` and each body that follows, be it of the record or of a function."""
    for match in _HEAD.finditer(without_directives(without_comments(source))):
        if match["brace"]:
            yield frozenset(name.decode("ascii") for name in _NAME.findall(match["words"]))


def _depth(words: bytes) -> int:
    """How many parentheses lie in each other at most."""
    deepest = depth = 0
    for mark in _ROUND.findall(words):
        depth += 1 if mark == b"(" else -1
        deepest = max(deepest, depth)
    return deepest


@lru_cache(maxsize=_TEXTS_AT_HAND)
def all_records(source: bytes) -> Mapping[str, tuple[RecordSpan, ...]]:
    """All records of a text, by name, those of one name in file order; a text is read once while it is at hand."""
    code = without_directives(without_comments(source))
    # By name and opening brace: keyword, where that is, and whether the name is a typedef.
    found: dict[bytes, dict[int, tuple[bytes, int, bool]]] = {}
    behind = {match.start(): match for match in _BEHIND.finditer(code)}
    heads = dict(_typedefs(code))
    for opening, end in closings(code, heads).items():
        for name in _NAME.findall(behind[end][1]) if end in behind else ():
            found.setdefault(name, {})[opening] = (heads[opening][1], heads[opening].start(1), True)
    for match in _OPENED.finditer(code):
        for name in _tags(match[2]):
            found.setdefault(name, {})[match.end() - 1] = (match[1], match.start(), False)
    ends = closings(code, {opening for places in found.values() for opening in places})
    lines = LineCounter(source)
    named = {}
    for name, places in found.items():
        title = name.decode("ascii")
        named[title] = tuple(
            RecordSpan(title, kind.decode(), start, opening, ends[opening], lines.number(start), typedef)
            for opening, (kind, start, typedef) in sorted(places.items())
            if opening in ends
        )
    return named


def _tags(head: bytes) -> Iterable[bytes]:
    """The words between keyword and brace that can be the tag: the others are attributes, which begin with ``__``."""
    words = [(one[1], one[2] is not None) for one in _WORD.finditer(head)]
    plain = [(name, called) for name, called in words if not name.startswith(b"__")]
    if len(plain) > 1:
        return ()
    return dict.fromkeys(name for name, called in plain or words if not called)


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
