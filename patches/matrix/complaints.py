# SPDX-License-Identifier: GPL-2.0-or-later
"""What a compiler complains of, and what of that is new: lines move with a change, so they are not compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.patches.overlay import Overlay

_COMPLAINT = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?P<kind>warning|(?:fatal )?error): (?P<text>.*)$"
)
_MOST_OF_A_LINE = 2000
_MOST_OF_A_TEXT = 300


@dataclass(frozen=True, slots=True)
class Complaint:
    """A warning or an error of a compiler; ``file`` is relative to the tree where it lies there."""

    file: str
    line: int
    text: str
    is_error: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def complaints(output: str, overlay: Overlay) -> tuple[Complaint, ...]:
    """The warnings and errors that the compiler wrote, each once, in their order."""
    return tuple(dict.fromkeys(_read(output, overlay)))


def _read(output: str, overlay: Overlay) -> Iterator[Complaint]:
    for line in output.splitlines():
        match = _COMPLAINT.match(line[:_MOST_OF_A_LINE])
        if match:
            text = match["text"].replace(f"{overlay.root}/", "").replace(f"{overlay.tree}/", "")[:_MOST_OF_A_TEXT]
            is_error = match["kind"] != "warning"
            yield Complaint(overlay.original(match["file"]), int(match["line"]), text, is_error)


def new(before: Sequence[Complaint], after: Sequence[Complaint]) -> tuple[Complaint, ...]:
    """The warnings ``after`` that are not there ``before`` in the same file with the same text, as often."""
    known = Counter((one.file, one.text) for one in before)
    found = []
    for one in after:
        known[one.file, one.text] -= 1
        if known[one.file, one.text] < 0 and not one.is_error:
            found.append(one)
    return tuple(found)


def first_error(found: Sequence[Complaint], output: str) -> str:
    """The first error that names a line, else the first other one, else the last line that was written."""
    error = next((one for one in found if one.is_error), None)
    if error:
        return str(error)
    lines = output.strip().splitlines() or ["no message"]
    return next((line for line in lines if "error: " in line), lines[-1])[:_MOST_OF_A_TEXT]
