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
    return _realigned(line, longer, place) or longer


def replaced_blanks(line: bytes, start: int, end: int, gap: bytes) -> bytes | None:
    """``line`` with ``gap`` from ``start`` to ``end``; ``None`` where a comment behind it would lose its column."""
    changed = line[:start] + gap + line[end:]
    if _TRAILING.match(line) is None:
        return changed
    moved = _realigned(line, changed, start)
    before, after = _TRAILING.match(line), _TRAILING.match(moved or b"")
    same = before is not None and after is not None and width(before[0]) == width(after[0])
    return moved if same else None


def _realigned(line: bytes, changed: bytes, place: int) -> bytes | None:
    """``changed`` with the comment behind its code in the column that it has in ``line``, as far as there is room."""
    before, after = _TRAILING.match(line), _TRAILING.match(changed)
    if before is None or after is None or before.end("code") < place:
        return None
    gap = blanks(width(after["code"]), width(before[0]), before["blanks"])
    return after["code"] + gap + changed[after.end() :]


def _mixed(start: int, end: int) -> bytes:
    stop = end // TAB * TAB
    return b"\t" * max(stop // TAB - start // TAB, 0) + b" " * (end - max(stop, start))
