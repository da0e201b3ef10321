# SPDX-License-Identifier: GPL-2.0-or-later
"""The example program: its sources in the package, and how they are compiled."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from linesmith.analyzer.errors import ToolMissing, VerificationFailed
from linesmith.patches.child import Command, run

PROFILE = "bench.c2c"
HEADER = "session_index.h"
SOURCES = ("guard.c", "session_index.c", "bench.c")
FLAGS = ("-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-pthread")

COMPILERS = ("cc", "gcc", "clang")
COMPILE_SECONDS = 60


def unpack(directory: Path) -> Path:
    """Copy the sources and the profile into ``directory``, which must not exist yet; returns it."""
    with as_file(files("linesmith.analyzer") / "demo" / "sources") as origin:
        shutil.copytree(origin, directory)
    return directory


def find_compiler() -> str:
    """Path of a C compiler; raises ``ToolMissing`` where there is none."""
    for name in COMPILERS:
        if found := shutil.which(name):
            return found
    raise ToolMissing("the demo compiles its example program, but no C compiler was found; install the package gcc")


def compile_command(compiler: str) -> list[str]:
    """The command that makes ``bench`` in the directory of the sources."""
    return [compiler, *FLAGS, "-o", "bench", *SOURCES]


def build(directory: Path, compiler: str) -> Path:
    """Compile the sources in ``directory``; returns the executable.

    Raises ``VerificationFailed`` with the compiler's first complaint.
    """
    ended = run(Command(tuple(compile_command(compiler)), directory, COMPILE_SECONDS))
    if ended.status != 0:
        complaint = next((line for line in ended.output.splitlines() if "error" in line), ended.output.strip())
        raise VerificationFailed(f"{compiler} cannot compile the example program: {complaint}")
    return directory / "bench"
