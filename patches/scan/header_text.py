# SPDX-License-Identifier: GPL-2.0-or-later
"""C text without a parser: comments blanked, macros apart from code, what braces enclose, where records are declared.

It holds for all arms of ``#if`` at once, and where braces do not match because of them it recovers at the next brace
in the first column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from linesmith.patches.source.macros import Span, closing

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
    parts = (Macro(one[1], one[2], frozenset(_WORD.findall(one[2]))) for one in macros if one)
    return HeaderText(_DIRECTIVE.sub(b"", text), tuple(parts))


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
                    # A brace in the first column ends all that is open.
                    in_first_column = at == 0 or code[at - 1 : at] == b"\n"
                    del enclosing[1 if in_first_column else max(1, len(enclosing) - 1) :]
            if mark[0] in b"{};":
                since, parentheses = mark.end(), 0
            mark = next(marks, None)
        yield found, replace(enclosing[-1], in_parentheses=parentheses > 0)


def _within(head: bytes, outer: Surroundings) -> Surroundings:
    """What encloses the text behind the brace that follows ``head``; the same object where it is the same."""
    found = None if b")" in head else _RECORD.search(head.rpartition(b"=")[2])
    name, in_code = (found[1] or outer.record, outer.in_code) if found else (outer.record, True)
    return outer if (name, in_code) == (outer.record, outer.in_code) else replace(outer, record=name, in_code=in_code)


# Initialisers of a record lie in fewer others of the same record; those deeper are not looked at.
MOST_LEVELS = 4

_BRACKETS = re.compile(rb"[][(){},]")
_ZERO = re.compile(rb"[\s{}]*+(?:0|NULL)?[\s{},]*+")


def given_by_place(code: bytes, span: Span, is_array: bool) -> int:
    """Values from the first on without a name, in the list whose braces ``span`` names; the most of any element.

    0 for one that only clears, and for what macros hide. ``code`` has no comments.
    """
    opening, end = span
    if _ZERO.fullmatch(code, opening, end):
        return 0
    elements = _elements(code, opening + 1, end)
    if not is_array:
        return _leading(code, elements)
    counts = (_of_element(code, start, stop) for start, stop in elements)
    return max(counts, default=0)


def _of_element(code: bytes, start: int, stop: int) -> int:
    """The same of one element of an array, which may have its number in front."""
    opening = code.find(b"{", start, stop)
    before = code[start:opening].strip() if opening >= 0 else b"?"
    if before and not (before.startswith(b"[") and before.endswith(b"=")):
        return 0
    end = closing(code, opening)
    if end is None or _ZERO.fullmatch(code, opening, end):
        return 0
    return _leading(code, _elements(code, opening + 1, end))


def _leading(code: bytes, elements: Iterable[Span]) -> int:
    count = 0
    for start, stop in elements:
        text = code[start:stop].strip()
        if not text or text.startswith((b".", b"[")) or re.match(rb"\w+\s*:[^:]", text):
            break
        count += 1
    return count


def _elements(code: bytes, start: int, end: int) -> Iterator[Span]:
    """The parts between the commas that lie in no inner brackets."""
    depth, since = 0, start
    for mark in _BRACKETS.finditer(code, start, end):
        if mark[0] == b",":
            if depth == 0:
                yield since, mark.start()
                since = mark.end()
        else:
            depth += 1 if mark[0] in b"([{" else -1
    if code[since:end].strip():
        yield since, end


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
        for _, names in _bodies(records, code):
            typedefs.update(names)
    return Titles(records, frozenset(typedefs))


def words_inside(record: bytes, texts: Iterable[HeaderText]) -> frozenset[bytes]:
    """Every word in the body of ``record``, of each declaration: its members are among them."""
    bodies = (body for text in texts if record in text.code for body, _ in _bodies((record,), text.code))
    return frozenset(word for body in bodies for word in _WORD.findall(body))


def _bodies(records: Iterable[bytes], code: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """The text between the braces of each declaration of ``records``, and the names that ``typedef`` gives it.

    They are found forward from a tag, or back from a typedef; none is within another one.
    """
    behind = 0
    for opening, end, tagged in sorted(_enclosed(records, code)):
        if opening < behind:
            continue
        behind = end
        head = re.split(rb"[;{}]", code[max(0, opening - _MOST_HEAD) : max(0, opening)])[-1]
        typedefs = _TAIL.match(code, end + 1) if b"typedef" in head.split() else None
        if typedefs is not None or tagged:
            yield code[opening + 1 : end], _WORD.findall(typedefs[0]) if typedefs is not None else []


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
