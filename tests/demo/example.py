# SPDX-License-Identifier: GPL-2.0-or-later
"""The example program of the package, as the demo and the README compile it."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

PROFILE, HEADER = "bench.c2c", "session_index.h"
FLAGS = ("-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-pthread")
UNITS = ("guard.c", "session_index.c", "bench.c")


def unpacked(folder: Path) -> Path:
    """The sources and the profile in ``folder``, which must not exist yet."""
    with as_file(files("linesmith.analyzer") / "demo" / "sources") as origin:
        shutil.copytree(origin, folder)
    return folder


def compiled_in(folder: Path, compiler: str = "gcc", *flags: str) -> Path:
    """The program, made of the sources in ``folder`` beside them."""
    subprocess.run([compiler, *FLAGS, *flags, "-o", "bench", *UNITS], cwd=folder, check=True)
    return folder / "bench"


def example_program(folder: Path) -> Path:
    """The program in ``folder`` with its sources and its profile."""
    return compiled_in(unpacked(folder))
