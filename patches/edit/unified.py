# SPDX-License-Identifier: GPL-2.0-or-later
"""Unified diffs as ``git diff --no-index`` writes them, by a git that knows no configuration and no attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from linesmith.analyzer.base.child import Command, environment, run_apart
from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.model import FileChange
from linesmith.patches.build.overlay import scratch

_DIFF = (
    "git", "-c", "core.attributesFile=/dev/null", "-c", "core.quotePath=false", "diff", "--no-index", "--no-prefix",
    "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--text", "--minimal",
)  # fmt: skip
_VARIABLES = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1"}
_SECONDS = 60
# The names of blobs, which say nothing outside of a repository.
_INDEX = re.compile(rb"^index [0-9a-f]+\.\.[0-9a-f]+ \d+\n", re.MULTILINE)
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_FILE = re.compile(rb"^diff --git ", re.MULTILINE)
_PLUS_MINUS = 50


def unified_diff(old: bytes, new: bytes, path: str) -> bytes:
    """The diff from ``old`` to ``new`` for ``git apply`` and ``patch -p1``; empty when they are equal."""
    return files_diff((FileChange(path, old, new),))


def files_diff(changes: Sequence[FileChange]) -> bytes:
    """The diff of several files, which are there before and after; raises ``ToolMissing`` without git."""
    return _INDEX.sub(b"", _said(changes, "--unified=3"))


def changed_lines(old: bytes, new: bytes) -> Iterator[tuple[range, range]]:
    """The lines that differ, counted from 0, of the ``old`` and of the ``new`` text, in order."""
    for hunk in _HUNK.finditer(_said((FileChange("text", old, new),), "--unified=0")):
        sides = []
        for start, count in ((hunk[1], hunk[2]), (hunk[3], hunk[4])):
            number = 1 if count is None else int(count)
            # An empty side is numbered by the line in front of it, a filled one by its first line.
            first = int(start) - (number > 0)
            sides.append(range(first, first + number))
        yield sides[0], sides[1]


def _said(changes: Sequence[FileChange], context: str) -> bytes:
    if all(change.before == change.after for change in changes):
        return b""
    with scratch("linesmith-diff-") as folder:
        for change in changes:
            for side, content in (("a", change.before), ("b", change.after)):
                place = folder / side / change.file
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content or b"")
        command = Command((*_DIFF, context, "a", "b"), folder, _SECONDS, variables={**environment(), **_VARIABLES})
        ended = run_apart(command)
    if ended.status not in (0, 1):
        raise TreeError(f"git diff failed ({ended.errors.strip() or ended.status}); check the installation of git")
    return ended.output


def diffstat(diff: bytes) -> str:
    """What ``git diff --stat`` prints for a diff of one or several files."""
    counts: list[tuple[str, int, int]] = []
    for part in _FILE.split(diff)[1:]:
        head, _, hunks = part.partition(b"\n@@ ")
        file = head.rpartition(b"\n+++ b/")[2].rstrip(b"\t").decode("utf-8", "surrogateescape")
        added, removed = (sum(line.startswith(sign) for line in hunks.split(b"\n")[1:]) for sign in (b"+", b"-"))
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
