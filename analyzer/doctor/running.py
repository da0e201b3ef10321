# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks programs of this machine what they are, within a time limit."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from linesmith.analyzer.errors import LinesmithError
from linesmith.patches.child import Command, Ended, run

_SECONDS = 10
_RELEASE = re.compile(r"\d+(?:\.\d+)+")


def found(program: str) -> Path | None:
    """Where the program is."""
    place = shutil.which(program)
    return Path(place) if place else None


def release(program: str, option: str = "--version") -> str:
    """The release that the program tells of itself; empty where it tells none, or does not end in time."""
    done = ended(program, option)
    return release_in(done) if done else ""


def release_in(done: Ended) -> str:
    """The release in what a program has said; empty where it ended otherwise than well."""
    match = _RELEASE.search(done.output) if done.status == 0 else None
    return match[0] if match else ""


def ended(*argv: str, seconds: int = _SECONDS) -> Ended | None:
    """How the command ended; ``None`` where it cannot be run or did not end in time."""
    try:
        return run(Command(argv, Path("/"), seconds))
    except LinesmithError:
        return None
