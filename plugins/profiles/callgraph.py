# SPDX-License-Identifier: GPL-2.0-or-later
"""Call graphs that ``perf c2c report -g`` prints below a row."""

from __future__ import annotations

import re

from linesmith.plugins.profiles.tokens import Cursor, Kind

_MOST_WORDS = 512
_MOST_CALLERS = 127  # perf's default of kernel.perf_event_max_stack
_BRANCH = re.compile(r"[|-]*(?:\d{1,3}\.\d{1,2}%-*)?")
_FUNCTION = re.compile(r"[A-Za-z_.$~][\w.$:~<>,()*&@\[\]/-]{0,200}$")


def read_callers(cursor: Cursor) -> tuple[tuple[str, ...], int] | None:
    """The functions of the call graph at the cursor, innermost first, and the words that it took.

    A line of a graph holds one function behind its branches; a line with more words ends the graph unless
    the whole text lost its line ends.
    """
    if cursor.peek().kind is not Kind.GRAPH:
        return None
    collapsed = cursor.peek().gap >= 0
    names: list[str] = []
    at = 0
    while at < _MOST_WORDS and (words := _entry(cursor, at, collapsed)):
        name = _BRANCH.sub("", cursor.peek(at + words - 1).text, count=1)
        if _FUNCTION.match(name) and len(names) < _MOST_CALLERS:
            names.append(name)
        at += words
    return tuple(names), at


def _entry(cursor: Cursor, at: int, collapsed: bool) -> int:
    """Words of the graph's next line (or next word of collapsed text); 0 where the graph ends."""
    token = cursor.peek(at)
    if token.kind not in (Kind.GRAPH, Kind.WORD):
        return 0
    if collapsed:
        return 1 if token.kind is Kind.GRAPH or _FUNCTION.match(token.text) else 0
    words = 1
    while cursor.peek(at + words).kind is Kind.GRAPH and cursor.peek(at + words).gap >= 0:
        words += 1
    follower = cursor.peek(at + words)
    if follower.gap >= 0 and follower.kind is Kind.WORD and cursor.peek(at + words - 1).kind is Kind.GRAPH:
        words += 1
        follower = cursor.peek(at + words)
    return words if follower.gap < 0 else 0
