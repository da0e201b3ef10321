# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that ``spatch`` broke, as a person breaks them: tabs as the neighbours have them, arguments filled up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from linesmith.patches.unified import edit_script

WIDTH = 80
_TAB = 8
_LEADING = re.compile(rb"[ \t]*")


def tidy(before: bytes, after: bytes) -> bytes:
    """``after`` with the lines that are not in ``before`` laid out anew; all others stay."""
    script = edit_script(before.splitlines(keepends=True), after.splitlines(keepends=True))
    lines: list[bytes] = []
    waiting = False
    for changed, group in groupby(script, key=lambda line: line.sign != b" "):
        hunk = list(group)
        if changed:
            old = [line.text for line in hunk if line.sign == b"-"]
            new = [line.text for line in hunk if line.sign == b"+"]
            lines += _laid_out(old, new)
            waiting = len(new) > len(old) > 0
            continue
        kept = [line.text for line in hunk]
        if waiting and lines and _belong(lines[-1], kept[0], beside=True):
            lines[-1] = _joined(lines[-1], kept.pop(0))
        lines += kept
    return b"".join(lines)


def _laid_out(old: Sequence[bytes], new: Sequence[bytes]) -> list[bytes]:
    tabs = any(line.startswith(b"\t") for line in old)
    lines = [_indented(line) for line in new] if tabs else list(new)
    return list(_filled(lines, one=len(old) == 1)) if len(new) > len(old) > 0 else lines


def _indented(line: bytes) -> bytes:
    """The line with tabs in place of eight columns each."""
    text = line.lstrip(b" \t")
    columns = _columns(line[: len(line) - len(text)])
    return b"\t" * (columns // _TAB) + b" " * (columns % _TAB) + text


def _filled(lines: Sequence[bytes], *, one: bool) -> Iterator[bytes]:
    """Arguments that go on one line put there; ``one`` tells that all come from one line, so any break may go."""
    current, depth = lines[0], 0
    for line in lines[1:]:
        inside = depth + _opened(current) > 0
        if inside and _belong(current, line, beside=not one):
            current = _joined(current, line)
            continue
        depth += _opened(current)
        yield current
        current = line
    yield current


def _belong(line: bytes, following: bytes, *, beside: bool) -> bool:
    """Whether both fit on one line; ``beside`` asks that they begin in the same column."""
    if not line.rstrip().endswith(b",") or not following.strip():
        return False
    aligned = _columns(_LEADING.match(line)[0]) == _columns(_LEADING.match(following)[0])  # type: ignore[index]
    return (aligned or not beside) and _columns(_joined(line, following).rstrip(b"\r\n")) <= WIDTH


def _joined(line: bytes, following: bytes) -> bytes:
    return line.rstrip() + b" " + following.lstrip(b" \t")


def _opened(line: bytes) -> int:
    return line.count(b"(") - line.count(b")")


def _columns(text: bytes) -> int:
    return len(text.expandtabs(_TAB))
