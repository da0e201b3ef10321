# SPDX-License-Identifier: GPL-2.0-or-later
"""C text without a parser: comments blanked, macros apart from code, and what braces enclose.

It holds for all arms of ``#if`` at once, and where braces do not match because of them it recovers at the next brace
in the first column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_COMMENT = re.compile(rb"/\*|//[^\n]*+")
_DIRECTIVE = re.compile(rb"^[ \t]*+#(?:[^\n\\]++|\\.)*+", re.MULTILINE | re.DOTALL)
_MACRO = re.compile(rb"[ \t]*#[ \t]*define[ \t]+(\w+)(.*)", re.DOTALL)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_MARK = re.compile(rb"[{}();]")
_RECORD = re.compile(rb"\b(?:struct|union)\b\s*+(?:__\w++\s*+)*+(\w*+)")


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro's name, the text behind it, parameters included, and the words in that."""

    name: bytes
    body: bytes
    words: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class HeaderText:
    """``code`` is a file without comments and directives, ``macros`` are those that it defines."""

    code: bytes
    macros: tuple[Macro, ...]


def header_text(content: bytes) -> HeaderText:
    """The parts of a file."""
    text = _without_comments(content)
    macros = (_MACRO.match(one[0]) for one in _DIRECTIVE.finditer(text) if b"define" in one[0])
    return HeaderText(_DIRECTIVE.sub(b"", text), tuple(_macro(one) for one in macros if one))


def _without_comments(content: bytes) -> bytes:
    """The text with a blank for each comment; what opens one without an end stays, and is looked behind once."""
    parts: list[bytes] = []
    position = at = 0
    last = content.rfind(b"*/")
    while (found := _COMMENT.search(content, at)) is not None:
        start, at = found.span()
        if found[0] == b"/*":
            if at > last:
                continue
            at = content.index(b"*/", at) + 2
        parts += (content[position:start], b" ")
        position = at
    return b"".join((*parts, content[position:]))


def _macro(found: re.Match[bytes]) -> Macro:
    return Macro(found[1], found[2], frozenset(_WORD.findall(found[2])))


def each_word(text: bytes, wanted: frozenset[bytes]) -> Iterator[re.Match[bytes]]:
    """The words of ``text`` that are ``wanted``; the time does not depend on how many are."""
    return (found for found in _WORD.finditer(text) if found[0] in wanted)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What encloses a place: ``record`` is the innermost one with a name, empty where there is none.

    ``in_code`` tells a function or an initialiser, ``in_parentheses`` a parameter.
    """

    record: bytes
    in_code: bool
    in_parentheses: bool


def surroundings(code: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[re.Match[bytes], Surroundings]]:
    """Each match of ``pattern`` in ``code`` with what encloses it."""
    enclosing = [Surroundings(b"", in_code=False, in_parentheses=False)]
    parentheses, since, at = 0, 0, 0
    marks = _MARK.finditer(code)
    mark = next(marks, None)
    for found in pattern.finditer(code):
        while mark is not None and mark.start() < found.start():
            at = mark.start()
            match mark[0]:
                case b"(":
                    parentheses += 1
                case b")":
                    parentheses = max(0, parentheses - 1)
                case b"{":
                    enclosing.append(_within(code[since:at], enclosing[-1]))
                case b"}":
                    _close(enclosing, in_first_column=at == 0 or code[at - 1 : at] == b"\n")
            if mark[0] in b"{};":
                since, parentheses = mark.end(), 0
            mark = next(marks, None)
        yield found, replace(enclosing[-1], in_parentheses=parentheses > 0)


def _within(head: bytes, outer: Surroundings) -> Surroundings:
    """What encloses the text behind the brace that follows ``head``; the same object where it is the same."""
    found = None if b")" in head else _RECORD.search(head.rpartition(b"=")[2])
    name, in_code = (found[1] or outer.record, outer.in_code) if found else (outer.record, True)
    return outer if (name, in_code) == (outer.record, outer.in_code) else replace(outer, record=name, in_code=in_code)


def _close(enclosing: list[Surroundings], *, in_first_column: bool) -> None:
    if in_first_column:
        del enclosing[1:]
    elif len(enclosing) > 1:
        enclosing.pop()
