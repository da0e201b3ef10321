# SPDX-License-Identifier: GPL-2.0-or-later
"""Minimal unified diffs, as bytes, with the headers that git writes.

The shortest edit script is found with Myers' O(ND) algorithm (Algorithmica 1, 1986). Of several that are as short git
may take another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import FileChange

CONTEXT_LINES = 3
_FUNCTION = re.compile(rb"[A-Za-z_$]")
_FUNCTION_BYTES = 80
_PLUS_MINUS = 50

_Step = tuple[bytes, int, int]
"""A sign, and the numbers of the line in the old and in the new text."""
_Path = tuple["_Path", _Step] | None
"""The steps so far, the last one first."""


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One line of an edit script: ``sign`` is a space, ``-`` or ``+``; numbers count from 0."""

    sign: bytes
    text: bytes
    old: int
    new: int


def unified_diff(old: bytes, new: bytes, path: str) -> bytes:
    """The diff from ``old`` to ``new`` for ``git apply`` and ``patch -p1``; empty when they are equal."""
    if old == new:
        return b""
    before = _lines(old)
    script = tuple(edit_script(before, _lines(new)))
    name = path.encode("utf-8", "surrogateescape")
    head = b"diff --git a/%b b/%b\n--- a/%b\n+++ b/%b\n" % (name, name, name, name)
    return head + b"".join(_hunk(script[start:end], before) for start, end in _hunks(script))


def files_diff(changes: Sequence[FileChange]) -> bytes:
    """The diff of several files, some of them perhaps new or gone."""
    return b"".join(_file_diff(change) for change in changes)


def _file_diff(change: FileChange) -> bytes:
    old, new = change.before or b"", change.after or b""
    name = change.file.encode("utf-8", "surrogateescape")
    head, mode = b"diff --git a/%b b/%b\n" % (name, name), b"file mode 100644\n"
    diff = unified_diff(old, new, change.file)
    if change.before is None:
        return head + b"new " + mode + diff.removeprefix(head).replace(b"--- a/" + name, b"--- /dev/null", 1)
    if change.after is None:
        return head + b"deleted " + mode + diff.removeprefix(head).replace(b"+++ b/" + name, b"+++ /dev/null", 1)
    return diff


def files_stat(changes: Sequence[FileChange]) -> str:
    """What ``git diff --stat`` prints for several files."""
    return diffstat([(change.file, _file_diff(change)) for change in changes])


def diffstat(diffs: Sequence[tuple[str, bytes]]) -> str:
    """What ``git diff --stat`` prints for diffs of one file each, which follow its name."""
    counts: list[tuple[str, int, int]] = []
    for file, diff in diffs:
        lines = diff.partition(b"\n@@ ")[2].split(b"\n")[1:]
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in (b"+", b"-"))
        counts.append((file, added, removed))
    widest = max(len(file) for file, _, _ in counts)
    most = max(added + removed for _, added, removed in counts)
    digits, scale = len(str(most)), min(1.0, _PLUS_MINUS / most) if most else 0
    rows = []
    for file, added, removed in counts:
        bars = (sign * max(round(lines * scale), lines > 0) for sign, lines in (("+", added), ("-", removed)))
        rows.append(f" {file:<{widest}} | {added + removed:{digits}} {''.join(bars)}\n")
    added, removed = sum(one[1] for one in counts), sum(one[2] for one in counts)
    changed = [f" {added} insertion{'s' * (added != 1)}(+)"] * (added > 0)
    changed += [f" {removed} deletion{'s' * (removed != 1)}(-)"] * (removed > 0)
    return "".join(rows) + f" {len(counts)} file{'s' * (len(counts) != 1)} changed,{','.join(changed)}\n"


def edit_script(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[ScriptLine]:
    """The shortest script of unchanged, removed and added lines."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    yield from (ScriptLine(b" ", old[at], at, at) for at in range(head))
    for sign, x, y in _shortest(middle_old, middle_new):
        text = middle_new[y] if sign == b"+" else middle_old[x]
        yield ScriptLine(sign, text, head + x, head + y)
    for at in range(tail, 0, -1):
        yield ScriptLine(b" ", old[len(old) - at], len(old) - at, len(new) - at)


def _lines(text: bytes) -> list[bytes]:
    parts = text.split(b"\n")
    whole = [part + b"\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def _common(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(old), len(new)))


def _shortest(old: Sequence[bytes], new: Sequence[bytes]) -> list[_Step]:
    # How far a script comes on each diagonal (place in the old text minus place in the new one), and its steps.
    reached: dict[int, tuple[int, _Path]] = {1: (0, None)}
    path: _Path = None
    for distance in range(len(old) + len(new) + 1):
        for diagonal in range(-distance, distance + 1, 2):
            down = diagonal == -distance or (
                diagonal != distance and reached[diagonal - 1][0] < reached[diagonal + 1][0]
            )
            x, path = reached[diagonal + 1 if down else diagonal - 1]
            if distance:
                path = (path, (b"+", x, x - diagonal - 1) if down else (b"-", x, x + 1 - diagonal))
            x += not down
            while x < len(old) and x - diagonal < len(new) and old[x] == new[x - diagonal]:
                path = (path, (b" ", x, x - diagonal))
                x += 1
            reached[diagonal] = x, path
            if x >= len(old) and x - diagonal >= len(new):
                steps = []
                while path is not None:
                    path, step = path
                    steps.append(step)
                return steps[::-1]
    return []


def _hunks(script: Sequence[ScriptLine]) -> Iterator[tuple[int, int]]:
    """Stretches of the script: changes with their context, joined where contexts touch."""
    start = end = -1
    for at, line in enumerate(script):
        if line.sign == b" ":
            continue
        if start >= 0 and at - CONTEXT_LINES > end:
            yield start, end
            start = -1
        start = max(0, at - CONTEXT_LINES) if start < 0 else start
        end = min(len(script), at + CONTEXT_LINES + 1)
    yield start, end


def _hunk(lines: Sequence[ScriptLine], before: Sequence[bytes]) -> bytes:
    old = sum(line.sign != b"+" for line in lines)
    new = sum(line.sign != b"-" for line in lines)
    first = lines[0]
    # An empty side is numbered by the line in front of it, a filled one by its first line.
    place = b"@@ -%b +%b @@" % (_range(first.old + (old > 0), old), _range(first.new + (new > 0), new))
    # The last line in front of the hunk that begins like a definition, as git cuts it.
    above = (before[at] for at in range(min(first.old, len(before)) - 1, -1, -1))
    function = next((line for line in above if _FUNCTION.match(line)), b"").rstrip()[:_FUNCTION_BYTES].rstrip()
    return place + (b" " + function if function else b"") + b"\n" + b"".join(_printed(line) for line in lines)


def _range(start: int, count: int) -> bytes:
    return b"%d" % start if count == 1 else b"%d,%d" % (start, count)


def _printed(line: ScriptLine) -> bytes:
    if line.text.endswith(b"\n"):
        return line.sign + line.text
    return line.sign + line.text + b"\n\\ No newline at end of file\n"
