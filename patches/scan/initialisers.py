# SPDX-License-Identifier: GPL-2.0-or-later
"""How many values an initialiser gives by their place, read from its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from linesmith.patches.masking import Span, closing

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
