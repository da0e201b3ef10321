# SPDX-License-Identifier: GPL-2.0-or-later
"""C whose accesses are plain from its text, and what the access map says of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.model import CodeAccess

CLANG = next((name for name in ("clang-19", "clang") if shutil.which(name)), "clang-19")
COMPILERS = ("gcc", CLANG)

TYPES = """
struct lock { int word; };
struct node { struct node *next; struct lock guard; int count; long total; };
struct outer { long key; struct node node; struct node many[4]; unsigned low:3, high:5; };
"""


def compiled(folder: Path, source: str, *flags: str, compiler: str = "gcc", name: str = "subject.o") -> Path:
    """``source`` behind the types, compiled with ``flags`` or else to an object file with ``-O2``."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (folder / "subject.c").write_text(TYPES + source)
    subprocess.run([compiler, "-g", *(flags or ("-O2", "-c")), "-o", name, "subject.c"], check=True, cwd=folder)
    return folder / name


def accesses(elf: Path, function: str = "f") -> tuple[CodeAccess, ...]:
    """Every access of the function that is not to its stack."""
    (found,) = accesses_in(function, read_accesses(elf).accesses)
    return tuple(one for one in found.accesses if one.outcome.value != "stack")


def shown(elf: Path, function: str = "f") -> list[str]:
    """``read struct node.count`` for each distinct access of the function, sorted; reasons where it is not known."""
    return sorted({f"{one.kind.value} {one.place or one.outcome.value}" for one in accesses(elf, function)})
