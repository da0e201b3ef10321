# SPDX-License-Identifier: GPL-2.0-or-later
"""C text with everything blanked that is not code, byte for byte as long as before."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

_OPENER = re.compile(rb"//|/\*|[\"']")
_WHOLE = {
    b"//": re.compile(rb"//(?:[^\\\n]|\\\r?\n|\\)*+"),  # to the end of the line, which a backslash continues
    b'"': re.compile(rb'"(?:[^"\\\n]|\\.)*+(?P<closed>")?', re.DOTALL),
    b"'": re.compile(rb"'(?:[^'\\\n]|\\.)*+(?P<closed>')?", re.DOTALL),
}
_DIRECTIVE = re.compile(rb"^[ \t]*+\#(?:[^\\\n]|\\\r?\n|\\)*+", re.MULTILINE)
_BLANKED = bytes(byte if byte in b"\r\n" else ord(" ") for byte in range(256))
_BRACKETS = re.compile(rb"[][(){}]")
_DEEPEST = 100
_OPENING = {ord("("): ord(")"), ord("["): ord("]"), ord("{"): ord("}")}
# A change is looked at from several sides, so both of its texts are asked for again and again.
_TEXTS_AT_HAND = 8

Span = tuple[int, int]
"""Offsets of a bracket and of the one that closes it."""


def blank(text: bytes) -> bytes:
    """Spaces in place of every byte but line ends."""
    return text.translate(_BLANKED)


@lru_cache(maxsize=_TEXTS_AT_HAND)
def without_comments(source: bytes) -> bytes:
    """``source`` with comments, strings and character constants blanked; offsets stay valid.

    A quote without a partner on its line is code, a comment without an end goes on to the end of the text.
    """
    parts: list[bytes] = []
    position = 0
    for start, end in _no_code(source):
        parts += (source[position:start], blank(source[start:end]))
        position = end
    return b"".join((*parts, source[position:]))


def _no_code(source: bytes) -> Iterator[Span]:
    """Where comments, strings and character constants begin and end."""
    # Between a quote without a partner and the end of its line, no quote of its kind has one.
    alone = {b'"': 0, b"'": 0}
    at = 0
    while (opener := _OPENER.search(source, at)) is not None:
        sign, start, at = opener[0], *opener.span()
        if sign == b"/*":
            at = source.find(b"*/", at) + 2
            at = at if at > 1 else len(source)
        elif start < alone.get(sign, 0):
            continue
        else:
            whole = _WHOLE[sign].match(source, start)
            if whole is None or (sign in alone and not whole["closed"]):
                alone[sign] = whole.end() if whole else at
                continue
            at = whole.end()
        yield start, at


def without_directives(code: bytes) -> bytes:
    """``code`` (which has no comments) with preprocessor lines blanked; offsets stay valid."""
    return _DIRECTIVE.sub(lambda match: blank(match[0]), code)


def closing(code: bytes, opening: int) -> int | None:
    """Offset of the bracket that closes the one at ``opening``.

    ``None`` when brackets do not pair, or lie deeper in each other than people write.
    """
    return closings(code, (opening,)).get(opening)


def closings(code: bytes, openings: Iterable[int]) -> dict[int, int]:
    """What ``closing`` says of each of the ``openings``, without those that nothing closes; each byte is read once."""
    wanted = frozenset(openings)
    found: dict[int, int] = {}
    behind = 0
    for opening in sorted(wanted):
        if opening >= behind:
            behind = _pair(code, opening, wanted, found)
    return found


def _pair(code: bytes, first: int, wanted: Collection[int], found: dict[int, int]) -> int:
    """Add the pairs from ``first`` on to ``found``, until no wanted bracket is open; returns the place behind that."""
    opened: deque[int] = deque()
    waiting = 0
    for match in _BRACKETS.finditer(code, first):
        at = match.start()
        if code[at] in _OPENING:
            opened.append(at)
            waiting += at in wanted
            if len(opened) > _DEEPEST:
                waiting -= opened.popleft() in wanted
        elif _OPENING[code[opened[-1]]] != code[at]:
            return at + 1
        elif (opening := opened.pop()) in wanted:
            found[opening] = at
            waiting -= 1
        if not waiting:
            return at + 1
    return len(code)


def within(spans: Iterable[Span], most: int) -> Iterator[Span]:
    """Those of the ``spans`` that lie in fewer than ``most`` others, in their order.

    So that reading each of them reads no byte more than ``most`` times.
    """
    around: list[int] = []
    for start, end in sorted(spans):
        while around and around[-1] < start:
            around.pop()
        if len(around) < most:
            around.append(end)
            yield start, end
