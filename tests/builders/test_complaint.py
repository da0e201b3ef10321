# SPDX-License-Identifier: GPL-2.0-or-later
"""What a failed build says comes down to one line, and to what kind of failure it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linesmith.analyzer.base.errors import BuildFailed, CompilerKilled, DiskFull, LinesmithError, ToolMissing
from linesmith.plugins.builders.building import failure

MAKE = "make[1]: *** [Makefile:7: a.o] Error 1\nmake: *** [Makefile:3: all] Error 2\n"


def failed(folder: Path, text: str, status: int) -> LinesmithError:
    """The error of a command that has said this and ended so."""
    (folder / "log").write_text(text)
    return failure(folder / "log", status)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            f"  CC a.o\nb.c:1:2: warning: odd\na.c: In function 'f':\na.c:5:3: error: no such thing\n{MAKE}",
            "a.c:5:3: error: no such thing",
        ),
        (f"a.c:1:10: fatal error: none.h: No such file or directory\n{MAKE}", "a.c:1:10: fatal error: none.h: No such"),
        (f"{{standard input}}:9: Error: no such instruction\n{MAKE}", "{standard input}:9: Error: no such instruction"),
        (
            f"/usr/bin/ld: a.o: in function `f':\na.c:3: undefined reference to `g'\n{MAKE}",
            "a.c:3: undefined reference",
        ),
        (
            "CMake Error at CMakeLists.txt:3 (add):\n  Cannot find b.c\n\nmore\n",
            "CMake Error at CMakeLists.txt:3 (add): Ca",
        ),
        ("configure: error: no libfoo\n", "configure: error: no libfoo"),
        (MAKE, "make[1]: *** [Makefile:7: a.o] Error 1"),
        ("***\n*** The source tree is not clean\n***\n", "*** The source tree is not clean"),
        ("\nsomething odd\n\n", "something odd"),
        ("", "the build failed without a word"),
    ],
)
def test_the_first_complaint(tmp_path: Path, text: str, line: str) -> None:
    assert str(failed(tmp_path, text, 2)).startswith(line)


@pytest.mark.parametrize(
    ("text", "status", "kind", "words"),
    [
        ("a.c:1: error: x\n", 2, BuildFailed, r"^a\.c:1: error: x; see "),
        (
            "gcc: fatal error: Killed signal terminated program cc1\n",
            2,
            CompilerKilled,
            "terminated program cc1; use fewer",
        ),
        (
            "collect2: fatal error: ld terminated with signal 9 [Killed]\n",
            2,
            CompilerKilled,
            "ld terminated with signal 9",
        ),
        ("clang: error: unable to execute command: Killed\n", 1, CompilerKilled, "unable to execute command: Killed"),
        ("cc1: out of memory allocating 65536 bytes after a total of 7 bytes\n", 2, CompilerKilled, "out of memory"),
        ("make: *** [Makefile:2: a.o] Error 137\n", 2, CompilerKilled, "Error 137"),
        ("", 139, CompilerKilled, "the build was killed by Segmentation fault"),
        ("ld: final link failed: No space left on device\n", 1, DiskFull, "no space left on a disk"),
        ("sh: 1: cmake: not found\n", 127, ToolMissing, "cmake is not installed; install the package cmake"),
        ("sh: 1: ninja: not found\n", 127, ToolMissing, "install the package ninja-build"),
        ("make: autoreconf: No such file or directory\n", 2, ToolMissing, "install the package autoconf"),
        ("/bin/sh: 1: pahole: not found\nmake: *** [x] Error 127\n", 2, ToolMissing, "install the package dwarves"),
        ("sh: 1: git: not found\na.c:1: error: x\n", 2, BuildFailed, "error: x"),
    ],
)
def test_the_kind_of_failure(tmp_path: Path, text: str, status: int, kind: type[Exception], words: str) -> None:
    error = failed(tmp_path, text, status)
    assert type(error) is kind
    assert re.search(words, str(error))
    assert str(error).endswith(f" {tmp_path / 'log'}")
