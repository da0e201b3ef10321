# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of others that a benchmark runs: found in PATH, or where the user says, or in a folder that the user has."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from linesmith.analyzer.errors import BenchmarkUnknown
from linesmith.plugins.benchmarks.settings import Given

PROGRAM = "program"
DIRECTORY = "directory"


def program(given: Given, name: str) -> str:
    """The path of the program called ``name``, or of what ``program`` names; its bare name where it is not here."""
    named = given.text(PROGRAM, name)
    found = shutil.which(named)
    return os.path.abspath(found) if found else named  # noqa: PTH100 - a link's own name says what it is to do


def program_obstacle(given: Given, name: str, package: str) -> str | None:
    """Why it cannot be run, a sentence without its full stop; what ``program`` names may be on another machine."""
    if PROGRAM in given.settings or shutil.which(name):
        return None
    return f"{name} is not installed; install the package {package}, or name it with {PROGRAM} = PATH"


def directory(given: Given, what: str) -> Path:
    """The folder that the user has; raises ``BenchmarkUnknown`` when none is named."""
    if DIRECTORY not in given.settings:
        raise BenchmarkUnknown(
            f'the benchmark {given.benchmark} does not come with linesmith; say where it is with {DIRECTORY} = "{what}"'
        )
    return Path(os.path.abspath(Path(given.text(DIRECTORY)).expanduser()))  # noqa: PTH100 - links keep their names


def files_obstacle(given: Given, *files: Path) -> str | None:
    """The first file that is not there, a sentence without its full stop."""
    missing = next((path for path in files if not path.exists()), None)
    return f"{missing} is not there; build {given.benchmark} in its folder first" if missing else None
