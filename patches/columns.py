# SPDX-License-Identifier: GPL-2.0-or-later
"""Columns of source text, with tab stops at every eighth."""

from __future__ import annotations

import re

TAB = 8
_TRAILING = re.compile(rb"(?P<code>[^\n]*?;)(?P<blanks>[ \t]+)(?=/[/*])")


def width(text: bytes) -> int:
    """The columns that ``text``, which begins a line, takes."""
    return len(text.decode("utf-8", "replace").expandtabs(TAB))


def blanks(start: int, end: int, like: bytes) -> bytes:
    """Blanks from column ``start`` to ``end``, of the kind of ``like``; at least one where there is no room."""
    if b"\t" not in like:
        return b" " * max(end - start, 1)
    tabs = max(-(-end // TAB) - start // TAB, 1)
    return b"\t" * tabs if end % TAB == 0 or end <= start else _mixed(start, end)


def with_insertion(line: bytes, place: int, added: bytes) -> bytes:
    """``line`` with ``added`` at byte ``place``; a comment behind the code stays in its column if it can."""
    longer = line[:place] + added + line[place:]
    before, after = _TRAILING.match(line), _TRAILING.match(longer)
    if before is None or after is None or before.end("code") < place:
        return longer
    column = width(before[0])
    gap = blanks(width(after["code"]), column, before["blanks"])
    return after["code"] + gap + longer[after.end() :]


def _mixed(start: int, end: int) -> bytes:
    stop = end // TAB * TAB
    return b"\t" * max(stop // TAB - start // TAB, 0) + b" " * (end - max(stop, start))
