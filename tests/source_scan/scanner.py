# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of linesmith-source-scan on sources written in tests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

BUILT = Path(__file__).parents[2] / "build/dev/plugins/source_scan/linesmith-source-scan"
INSTALLED = "linesmith/plugins/bin/linesmith-source-scan"
Unit = dict[str, Any]


def program() -> Path | None:
    """The program: ``LINESMITH_SOURCE_SCAN``, else that of ``make native``, else the installed one."""
    installed = Path(str(distribution("linesmith").locate_file(INSTALLED)))
    named = os.environ.get("LINESMITH_SOURCE_SCAN")
    places = [Path(named)] if named else [BUILT, installed]
    return next((place for place in places if place.exists()), None)


def run(
    executable: Path, records: Sequence[str], commands: Sequence[object], options: Sequence[str] = ()
) -> list[Unit]:
    """What the program says of each command."""
    arguments = [str(executable), *(word for record in records for word in ("--record", record)), *options]
    lines = "".join(json.dumps(command) + "\n" for command in commands)
    done = subprocess.run(arguments, input=lines, capture_output=True, text=True, timeout=300, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def scan(executable: Path, source: Path, records: Sequence[str] = ("rec",), flags: Sequence[str] = ()) -> Unit:
    """What the program says of one file that has to compile."""
    command = {"directory": str(source.parent), "file": source.name, "arguments": ["gcc", "-O2", *flags, "-c", "x.c"]}
    (unit,) = run(executable, records, [command])
    assert (unit["errors"], unit["complaint"]) == (0, "")
    return unit
