# SPDX-License-Identifier: GPL-2.0-or-later
"""How the command line refuses a file: one sentence, exit status 2, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LINESMITH = Path(sys.executable).with_name("linesmith")

# Prints the class of the error that reading the file given ends in.
_CLASS_OF_ERROR = """
import pathlib, sys
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.errors import LinesmithError
try:
    read_layouts(pathlib.Path(sys.argv[1]))
except LinesmithError as error:
    print(type(error).__name__)
"""


@dataclass(frozen=True)
class Refusal:
    """The class of the error, and its sentence with the file's name as ``FILE``."""

    error: str
    sentence: str


def refusal(file: Path) -> Refusal:
    """What ``linesmith layout FILE`` says; fails unless it ends with status 2 and exactly one sentence."""
    ran = subprocess.run([LINESMITH, "layout", file], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 2, (ran.returncode, ran.stderr)
    assert ran.stdout == ""
    prefix, sentence = ran.stderr[:11], ran.stderr[11:].removesuffix("\n")
    assert prefix == "linesmith: "
    assert "\n" not in sentence, "more than one line"
    return Refusal(error_class(file), sentence.replace(str(file), "FILE"))


def error_class(file: Path) -> str:
    """Name of the class that the reader raises, empty when it reads the file; a crash fails the test."""
    child = [sys.executable, "-c", _CLASS_OF_ERROR, str(file)]
    ran = subprocess.run(child, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    return ran.stdout.strip()
