# SPDX-License-Identifier: GPL-2.0-or-later
"""The C programs of this package, compiled where they are used and kept under the digest of all that went into them."""

from __future__ import annotations

import errno
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from linesmith.analyzer.errors import DiskFull, LinesmithError, OutputError, ToolMissing
from linesmith.plugins.benchmarks.settings import Given
from linesmith.plugins.machines.child import Streams, child

# What a user can say of compiling, for every benchmark that has a program compiled.
SETTINGS = ("linking", "compiler")
# How a program is linked; `automatic` is static where the C library can be had so: a guest may have no libraries.
LINKINGS = ("automatic", "static", "dynamic")
COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-std=c11", "-O2", "-g", "-pthread")
_COMPILE_SECONDS = 120
_COMPLAINT_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Program:
    """A program by its name and the files of ``sources/`` that it is made of, headers too."""

    name: str
    sources: tuple[str, ...]

    def text(self, source: str) -> str:
        """The source file of that name."""
        return (files("linesmith.plugins.benchmarks") / "sources" / source).read_text("utf-8")


def find_compiler(given: Given) -> str | None:
    """The path of the compiler that the settings name, or of the first there is; ``None`` without one."""
    named = given.text("compiler")
    return next(filter(None, map(shutil.which, (named,) if named else COMPILERS)), None)


def compiler_obstacle(given: Given) -> str | None:
    """Why nothing can be compiled here, a sentence without its full stop."""
    if find_compiler(given):
        return None
    named = given.text("compiler")
    return f"the compiler {named} is not found" if named else "no C compiler was found; install the package gcc"


def linking(given: Given) -> str:
    """How programs are to be linked; raises ``BenchmarkUnknown``."""
    return given.choice("linking", LINKINGS)


def compiled(program: Program, given: Given, scratch: Path) -> Path:
    """The program, compiled below ``scratch`` unless it is there already from the same sources.

    Raises ``ToolMissing`` when there is no compiler or it cannot compile, ``DiskFull``.
    """
    found = find_compiler(given)
    if found is None:
        raise ToolMissing(f"the benchmark {given.benchmark} has to be compiled: {compiler_obstacle(given)}")
    return _kept(program, linking(given), found, scratch)


def _kept(program: Program, linked: str, found: str, scratch: Path) -> Path:
    place = scratch / "programs" / _digest(program, linked, found) / program.name
    if place.is_file():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            made = _compile(program, linked, found, Path(folder))
            made.replace(place)  # whole or not at all, whoever else compiles it now
    except OSError as error:
        raise _unwritten(program, place.parent, error) from error
    return place


def _unwritten(program: Program, place: Path, error: OSError) -> LinesmithError:
    words = f"the benchmark {program.name} cannot be put into {place} ({error.strerror})"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{words}; free some room there")
    return OutputError(f"{words}; make it writable or name another --run")


def _digest(program: Program, linked: str, compiler: str) -> str:
    parts = (linked, compiler, *_FLAGS, *(program.text(source) for source in program.sources))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _compile(program: Program, linked: str, compiler: str, folder: Path) -> Path:
    for source in program.sources:
        (folder / source).write_text(program.text(source), "utf-8")
    ways = {"automatic": (("-static",), ()), "static": (("-static",),), "dynamic": ((),)}[linked]
    made = folder / program.name
    complaint = ""
    for way in ways:
        units = [source for source in program.sources if source.endswith(".c")]
        complaint = _complaint((compiler, *_FLAGS, *way, "-o", made.name, *units), folder)
        if not complaint and made.is_file():
            return made
    raise ToolMissing(f"{compiler} cannot compile the benchmark {program.name}: {complaint}")


def _complaint(command: Sequence[str], folder: Path) -> str:
    """What the compiler has against it, empty if nothing."""
    log = folder / "log"
    with log.open("wb") as file, child(command, folder, Streams(subprocess.DEVNULL, file, file)) as process:
        try:
            status = process.wait(_COMPILE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"it did not end within {_COMPILE_SECONDS} s"
    if status == 0:
        return ""
    lines = log.read_text("utf-8", "replace").splitlines() or [f"it ended with status {status}"]
    return next((line for line in lines if "error" in line or "cannot" in line), lines[-1])[:_COMPLAINT_CHARACTERS]
