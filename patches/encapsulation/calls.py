# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of an accessor without the parentheses that stood around the expression in front of ``->``."""

from __future__ import annotations

import re

from linesmith.patches.masking import closings, without_comments

_CALL = re.compile(rb"\b(?P<name>[A-Za-z_]\w*)(?P<blank> ?)\(")
_KEYWORDS = frozenset(
    (b"if", b"for", b"while", b"switch", b"return", b"sizeof", b"typeof", b"__attribute__", b"defined")
)


def plain_calls(source: bytes, name: str) -> bytes:
    """``name((x))`` and ``name(&(*x))`` as ``name(x)``, the rest as it is."""
    code = without_comments(source)
    result, position = bytearray(), 0
    calls = list(re.finditer(rb"\b" + re.escape(name.encode()) + rb"\((?P<taken>&?)(?=\()", code))
    ends = closings(code, (match.end() for match in calls))
    for match in calls:
        span = match.end(), ends.get(match.end())
        inner = _between(code, span, dereferenced=bool(match["taken"]))
        if inner is None or match.start() < position:
            continue
        result += source[position : match.start("taken")] + source[inner[0] : inner[1]]
        position = inner[2]
    return bytes(result + source[position:])


def spaced(source: bytes) -> bool:
    """Whether most calls in ``source`` have a blank in front of their parenthesis, as the GNU style wants."""
    code = without_comments(source)
    found = [match for match in _CALL.finditer(code) if match["name"] not in _KEYWORDS]
    return 2 * sum(bool(match["blank"]) for match in found) > len(found)


def in_style(text: bytes, name: str, *, blank: bool) -> bytes:
    """``text`` with a ``blank`` between ``name`` and its parenthesis, where there is to be one."""
    word = re.escape(name.encode())
    return re.sub(rb"(?<!define )\b" + word + rb"\(", name.encode() + b" (", text) if blank else text


def _between(code: bytes, span: tuple[int, int | None], *, dereferenced: bool) -> tuple[int, int, int] | None:
    """Start and end of what the parenthesis with this ``span`` holds, and the end of the parenthesis.

    ``None`` where it is not the whole argument, or, if it has to be ``dereferenced``, is not.
    """
    opening, end = span
    if end is None or code[end + 1 : end + 2] != b")":
        return None
    start = opening + 1
    if not dereferenced:
        return start, end, end + 1
    return (start + 1, end, end + 1) if re.fullmatch(rb"\*\w+", code[start:end]) else None
