# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a guest's console: how a kernel says that it has died, and the last lines to show."""

from __future__ import annotations

import re
from pathlib import Path

# Source: kernel/panic.c, arch/x86/mm/fault.c, arch/arm64/mm/fault.c, lib/bug.c; each begins a report that ends the run.
_DEATHS = (
    re.compile(r"Kernel panic - not syncing: (?P<why>.*)"),
    re.compile(r"(?P<why>BUG: (?:unable to handle|kernel NULL).*)"),
    re.compile(r"(?P<why>kernel BUG at \S+:\d+!)"),
    re.compile(r"(?P<why>Unable to handle kernel .*)"),
    re.compile(r"(?P<why>general protection fault.*\[#\d+\].*)"),
    re.compile(r"(?P<why>Internal error: .*\[#\d+\].*)"),
)
# Source: mm/oom_kill.c.
_STARVATION = re.compile(
    r"[Oo]ut of memory: Killed process .*"
    r"|Kernel panic - not syncing: .*(?:[Oo]ut of memory|deadlocked on memory).*"
)
_TIMESTAMP = re.compile(r"^\[\s*\d+\.\d+\](?:\[\s*\w+\])? ?")
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
LAST_LINES = 5


class Console:
    """The log that a guest's console is written to, read as it grows."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._bytes = 0
        self._death: str | None = None

    def text(self) -> str:
        """Everything so far, without control characters; empty before the first byte."""
        try:
            return _CONTROLS.sub("", self.log.read_bytes().decode("utf-8", "replace").replace("\r", ""))
        except FileNotFoundError:
            return ""

    def death(self) -> str | None:
        """What the kernel said when it died; ``None`` while it lives. A log that has not grown is not read again."""
        size = self.log.stat().st_size if self.log.exists() else 0
        if size != self._bytes:
            self._bytes, self._death = size, death(self.text())
        return self._death

    def starved(self) -> str | None:
        """What the kernel said when it first killed for want of memory; ``None`` when it never did."""
        found = _STARVATION.search(self.text())
        return found[0].strip() if found else None

    def last_lines(self) -> str:
        """The last lines that are not empty, in one line for a message; of a dead guest those up to its death."""
        text = self.text()
        died = _first_death(text)
        lines = [_TIMESTAMP.sub("", line).strip() for line in text[: died.end() if died else None].splitlines()]
        shown = [line for line in lines if line][-LAST_LINES:]
        return " | ".join(shown) if shown else "nothing was printed"


def death(text: str) -> str | None:
    """The reason that the first report of a panic or an oops in ``text`` gives; ``None`` without one."""
    found = _first_death(text)
    return found["why"].strip() if found else None


def _first_death(text: str) -> re.Match[str] | None:
    found = (match for pattern in _DEATHS if (match := pattern.search(text)))
    return min(found, key=lambda match: match.start(), default=None)
