# SPDX-License-Identifier: GPL-2.0-or-later
"""Call graphs that ``perf c2c report -g`` prints below a row."""

from __future__ import annotations

import re

from linesmith.plugins.profiles.tokens import BEHIND_BLANK, Cursor, Kind, Token

_MOST_WORDS = 512
_MOST_LINE_WORDS = 24
_MOST_CALLERS = 127  # perf's default of kernel.perf_event_max_stack
# Branches, and the share, count or period of one: |--12.50%--, --7--.
_BRANCH = re.compile(r"[|-]*(?:\d{1,20}(?:\.\d{1,2}%)?-+)?")
_FUNCTION = re.compile(r"[A-Za-z_.$~][\w.$:~<>,()*&@\[\]/-]{0,200}$")
_ON_LINE = frozenset((Kind.GRAPH, Kind.WORD, Kind.INTEGER, Kind.HEX))
_OPENING, _CLOSING = re.compile(r"[<(\[{]"), re.compile(r"[>)\]}]")


def read_callers(cursor: Cursor) -> tuple[tuple[str, ...], int] | None:
    """The functions of the call graph at the cursor, innermost first, and the words that it took.

    A line of a graph holds one function behind its branches, and what perf adds to it: ``(inlined)``, a source line.
    The graph ends with a blank line, or where the words of something else begin in text without line ends.
    """
    if cursor.peek().kind is not Kind.GRAPH:
        return None
    collapsed = cursor.peek().gap >= 0
    names: list[str] = []
    at = 0
    while at < _MOST_WORDS and (words := _entry(cursor, at, collapsed)):
        name = _name([cursor.peek(at + ahead) for ahead in range(words)])
        if _FUNCTION.match(name.replace(" ", "")) and len(names) < _MOST_CALLERS:
            names.append(name)
        at += words
    return tuple(names), at


def _name(line: list[Token]) -> str:
    """The function on a line of a graph: the first word behind the branches, and more while its brackets are open."""
    first = next((at for at, token in enumerate(line) if _BRANCH.sub("", token.text, count=1)), len(line))
    if first == len(line):
        return ""
    name = _BRANCH.sub("", line[first].text, count=1)
    for token in line[first + 1 :]:
        if len(_OPENING.findall(name)) <= len(_CLOSING.findall(name)):
            break
        name += " " + token.text
    return name


def _entry(cursor: Cursor, at: int, collapsed: bool) -> int:
    """Words of the graph's next line (or next word of collapsed text); 0 where the graph ends."""
    token = cursor.peek(at)
    if token.kind not in (Kind.GRAPH, Kind.WORD):
        return 0
    if token.kind is Kind.WORD and cursor.peek(at + 1).kind is Kind.HEX:
        return 0
    if collapsed:
        return 1 if token.kind is Kind.GRAPH or _FUNCTION.match(token.text) else 0
    if at and token.gap == BEHIND_BLANK:
        return 0
    words = 1
    while words < _MOST_LINE_WORDS and cursor.peek(at + words).gap >= 0 and cursor.peek(at + words).kind in _ON_LINE:
        words += 1
    return words if cursor.peek(at + words).gap < 0 else 0
