# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that parses units: where it is installed, what it is asked, and what identifies its build."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import msgspec

from linesmith.analyzer.errors import ToolMissing, TreeError
from linesmith.patches.flags import from_words
from linesmith.patches.scan.unit import Unit

_PLACE = "plugins/bin/linesmith-source-scan"
_ELSEWHERE = "LINESMITH_SOURCE_SCAN"
_OWN_HEADERS = (
    "usr/lib/llvm-*/lib/clang/*/include/stddef.h",
    "usr/lib*/clang/*/include/stddef.h",
    "usr/lib*/gcc/*/*/include/stddef.h",
)
_SECONDS = 10
# Kbuild records what is run on the object behind the compiler.
_FURTHER = (" ; ", " && ")


def program() -> Path:
    """The program of this installation, or the one that the environment names; raises ``ToolMissing``."""
    named = os.environ.get(_ELSEWHERE)
    path = Path(named) if named else Path(str(distribution("linesmith").locate_file(f"linesmith/{_PLACE}")))
    if not os.access(path, os.X_OK):
        raise ToolMissing(
            f"the program that parses sources is not part of this installation ({path}); install libclang-19-dev and "
            "llvm-19-dev (or those of a later release), then install linesmith again"
        )
    return path


def release(path: Path) -> str:
    """What the program says of itself, such as ``LLVM 19.1.7``; raises ``ToolMissing`` where it does not run."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolMissing(f"{path} does not run ({error}); install linesmith again") from error
    said = re.search(r"LLVM version \S+", done.stdout)
    return said[0].replace("version ", "") if said else "of an unknown release of LLVM"


def stamp(path: Path) -> str:
    """What changes when the program does."""
    return hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()


def question(unit: Unit, outside: tuple[Path, ...]) -> bytes:
    """The line that asks for a unit, its command reduced to what decides how it is read.

    Raises ``TreeError`` where the command is no lone call of a C compiler from outside of the trees ``outside``.
    """
    words = unit.command if isinstance(unit.command, tuple) else tuple(_words(unit))
    flags = from_words(words, unit.origin, unit.directory, outside)
    own = () if "-nostdinc" in flags.options else own_headers()
    asked = {
        "directory": str(unit.directory),
        "file": unit.file,
        "arguments": (flags.compiler, *flags.options, *own, unit.file),
    }
    try:
        return msgspec.json.encode(asked) + b"\n"
    except UnicodeEncodeError as error:
        raise TreeError(f"{unit.origin}: the recorded command is no text in UTF-8") from error


@cache
def own_headers() -> tuple[str, ...]:
    """Options that find the headers a compiler brings along (stddef.h): Clang's of the latest release, else GCC's."""
    for pattern in _OWN_HEADERS:
        found = sorted(Path("/").glob(pattern), key=_release)
        if found:
            return ("-isystem", str(found[-1].parent))
    return ()


def _release(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path.parent))]


def _words(unit: Unit) -> list[str]:
    command = str(unit.command)
    for mark in _FURTHER:
        command = command.partition(mark)[0]
    try:
        return shlex.split(command.replace("$(pound)", "#").replace("$$", "$"))
    except ValueError as error:
        raise TreeError(f"{unit.origin}: the recorded command cannot be read ({error})") from error
