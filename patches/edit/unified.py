# SPDX-License-Identifier: GPL-2.0-or-later
"""Minimal unified diffs, as bytes, with the headers that git writes.

The shortest edit script is found with Myers' O(ND) algorithm (Algorithmica 1, 1986).
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


@dataclass(frozen=True, slots=True)
class Line:
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


def changed_lines(diff: bytes) -> tuple[int, int]:
    """How many lines a diff of one file adds and removes."""
    body = diff.partition(b"\n@@ ")[2].split(b"\n")[1:]
    return sum(line.startswith(b"+") for line in body), sum(line.startswith(b"-") for line in body)


def diffstat(diff: bytes, path: str) -> str:
    """What ``git diff --stat`` prints for a diff of one file."""
    return _stat([(path, *changed_lines(diff))])


def files_stat(changes: Sequence[FileChange]) -> str:
    """What ``git diff --stat`` prints for several files."""
    return _stat([(change.file, *changed_lines(_file_diff(change))) for change in changes])


def _stat(counts: Sequence[tuple[str, int, int]]) -> str:
    """Rows and sum for each file's name with the lines that are added and removed."""
    widest = max(len(file) for file, _, _ in counts)
    most = max(added + removed for _, added, removed in counts)
    digits, scale = len(str(most)), min(1.0, _PLUS_MINUS / most) if most else 0
    rows = [
        f" {file:<{widest}} | {added + removed:{digits}} {_bar(added, scale, '+')}{_bar(removed, scale, '-')}\n"
        for file, added, removed in counts
    ]
    return "".join(rows) + _sum(len(counts), sum(one[1] for one in counts), sum(one[2] for one in counts))


def _bar(lines: int, scale: float, sign: str) -> str:
    return sign * max(round(lines * scale), lines > 0)


def _sum(files: int, added: int, removed: int) -> str:
    counts = [f" {added} insertion{'s' * (added != 1)}(+)"] * (added > 0)
    counts += [f" {removed} deletion{'s' * (removed != 1)}(-)"] * (removed > 0)
    return f" {files} file{'s' * (files != 1)} changed,{','.join(counts)}\n"


def edit_script(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Line]:
    """The shortest script of kept, removed and added lines."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    yield from (Line(b" ", old[at], at, at) for at in range(head))
    for sign, x, y in _shortest(middle_old, middle_new):
        text = middle_new[y] if sign == b"+" else middle_old[x]
        yield Line(sign, text, head + x, head + y)
    for at in range(tail, 0, -1):
        yield Line(b" ", old[len(old) - at], len(old) - at, len(new) - at)


def _lines(text: bytes) -> list[bytes]:
    parts = text.split(b"\n")
    kept = [part + b"\n" for part in parts[:-1]]
    return [*kept, parts[-1]] if parts[-1] else kept


def _common(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(old), len(new)))


def _shortest(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[bytes, int, int]]:
    reached = {1: 0}
    history: list[dict[int, int]] = []
    for distance in range(len(old) + len(new) + 1):
        history.append(dict(reached))
        for diagonal in range(-distance, distance + 1, 2):
            x = _farthest(reached, diagonal, distance)
            while x < len(old) and x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            reached[diagonal] = x
            if x >= len(old) and x - diagonal >= len(new):
                return _walk_back(history, len(old), len(new))
    return []


def _farthest(reached: dict[int, int], diagonal: int, distance: int) -> int:
    down = diagonal == -distance or (diagonal != distance and reached[diagonal - 1] < reached[diagonal + 1])
    return reached[diagonal + 1] if down else reached[diagonal - 1] + 1


def _walk_back(history: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[bytes, int, int]]:
    script: list[tuple[bytes, int, int]] = []
    for distance in range(len(history) - 1, -1, -1):
        reached, diagonal = history[distance], x - y
        down = diagonal == -distance or (diagonal != distance and reached[diagonal - 1] < reached[diagonal + 1])
        previous = diagonal + 1 if down else diagonal - 1
        from_x = reached[previous]
        from_y = from_x - previous
        start_x = 0 if not distance else from_x + (not down)
        while x > start_x:
            x, y = x - 1, y - 1
            script.append((b" ", x, y))
        if distance:
            script.append((b"+", x, y - 1) if down else (b"-", x - 1, y))
            x, y = from_x, from_y
    return script[::-1]


def _hunks(script: Sequence[Line]) -> Iterator[tuple[int, int]]:
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


def _hunk(lines: Sequence[Line], before: Sequence[bytes]) -> bytes:
    old = sum(line.sign != b"+" for line in lines)
    new = sum(line.sign != b"-" for line in lines)
    first = lines[0]
    # An empty side is numbered by the line in front of it, a filled one by its first line.
    place = b"@@ -%b +%b @@" % (_range(first.old + (old > 0), old), _range(first.new + (new > 0), new))
    function = _function(before, first.old)
    return place + (b" " + function if function else b"") + b"\n" + b"".join(_printed(line) for line in lines)


def _range(start: int, count: int) -> bytes:
    return b"%d" % start if count == 1 else b"%d,%d" % (start, count)


def _function(before: Sequence[bytes], start: int) -> bytes:
    """The last line in front of the hunk that begins like a definition, as git cuts it."""
    above = (before[at] for at in range(min(start, len(before)) - 1, -1, -1))
    found = next((line for line in above if _FUNCTION.match(line)), b"")
    return found.rstrip()[:_FUNCTION_BYTES].rstrip()


def _printed(line: Line) -> bytes:
    if line.text.endswith(b"\n"):
        return line.sign + line.text
    return line.sign + line.text + b"\n\\ No newline at end of file\n"
