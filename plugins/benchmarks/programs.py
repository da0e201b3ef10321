# SPDX-License-Identifier: GPL-2.0-or-later
"""The C programs of this package, compiled where they are used and kept under the digest of all that went into them.

All are a crew of workers (``sources/crew.c``): they have in common how much they do, and the lines in which they say
what they did. ``copies`` runs several copies of a command at the same time, in a fresh folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from linesmith.analyzer.base.child import Command, run
from linesmith.analyzer.base.errors import DiskFull, OutputError, ToolMissing
from linesmith.analyzer.base.files import FULL
from linesmith.analyzer.model import Done
from linesmith.plugins.benchmarks.settings import BenchmarkSettings, Given, NamedBenchmark, words_of

# How a program is linked; `automatic` is static where the C library can be had so: a guest may have no libraries.
_LINKINGS = {"automatic": (("-static",), ()), "static": (("-static",),), "dynamic": ((),)}
COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-std=c11", "-O2", "-g", "-pthread")
_COMPILE_SECONDS = 120
_COMPLAINT_CHARACTERS = 400
_LINE = re.compile(r"(benchmark|workers|operations|seconds|cpu-seconds) (\S+)")
_NUMBERS = ("workers", "operations", "seconds", "cpu-seconds")


_COPIES = "copies"


class CompiledSettings(BenchmarkSettings, frozen=True):
    """What a user can say of compiling, for every benchmark that has a program compiled."""

    compiler: str = ""
    linking: Literal["automatic", "static", "dynamic"] = "automatic"

    def find_compiler(self) -> str | None:
        """The path of the compiler that the settings name, or of the first there is; ``None`` without one."""
        return next(filter(None, map(shutil.which, (self.compiler,) if self.compiler else COMPILERS)), None)

    def compiler_obstacle(self) -> str | None:
        """Why nothing can be compiled here, a sentence without its full stop."""
        if self.find_compiler():
            return None
        if self.compiler:
            return f"the compiler {self.compiler} is not found"
        return "no C compiler was found; install the package gcc"


def compiled(program: str, given: CompiledSettings, scratch: Path) -> Path:
    """The program of that name, compiled below ``scratch`` unless it is there already from the same sources.

    Raises ``ToolMissing`` when there is no compiler or it cannot compile, ``DiskFull``.
    """
    compiler = given.find_compiler()
    if compiler is None:
        raise ToolMissing(f"the program {program} has to be compiled: {given.compiler_obstacle()}")
    folder_of_sources = files("linesmith.plugins.benchmarks") / "sources"
    names = (f"{program.replace('-', '_')}.c", "crew.c", "crew.h")
    sources = {name: (folder_of_sources / name).read_text("utf-8") for name in names}
    parts = (given.linking, compiler, *_FLAGS, *sources.values())
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    place = scratch / "programs" / digest / program
    if place.is_file():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            for name, text in sources.items():
                (Path(folder) / name).write_text(text, "utf-8")
            units = [name for name in sources if name.endswith(".c")]
            for way in _LINKINGS[given.linking]:
                command = (compiler, *_FLAGS, *way, "-o", program, *units)
                ended = run(Command(command, Path(folder), _COMPILE_SECONDS, variables=os.environ))
                if ended.status == 0:
                    (Path(folder) / program).replace(place)  # whole or not at all, whoever else compiles it now
                    return place
    except OSError as error:
        words = f"the program {program} cannot be put into {place.parent} ({error.strerror})"
        if error.errno in FULL:
            raise DiskFull(f"{words}; free some room there") from error
        raise OutputError(f"{words}; make it writable or name another --run") from error
    lines = ended.output.splitlines() or [f"it ended with status {ended.status}"]
    complaint = next((line for line in lines if "error" in line or "cannot" in line), lines[-1])
    raise ToolMissing(f"{compiler} cannot compile the program {program}: {complaint[:_COMPLAINT_CHARACTERS]}")


@dataclass(frozen=True, slots=True)
class CrewTally:
    """What a crew did in ``seconds``, from its first beginning to its last end; ``cpu`` seconds are of all together."""

    workers: int
    operations: float
    seconds: float
    cpu: float


def tally(benchmark: NamedBenchmark[Given], program: str, done: Done) -> CrewTally:
    """What the program of that name printed; raises ``BenchmarkNonsense`` when that is not what it prints."""
    text = words_of(done)
    found = {match[1]: match[2] for match in map(_LINE.fullmatch, text.splitlines()) if match}
    if found.get("benchmark") != program:
        raise benchmark.nonsense(f"it has no line 'benchmark {program}'", text)
    values = []
    for name in _NUMBERS:
        if name not in found:
            raise benchmark.nonsense(f"it has no line '{name}'", text)
        values.append(benchmark.number(name, found[name], text))
    workers, operations, seconds, cpu = values
    return CrewTally(int(workers), operations, seconds, cpu)


def copies(
    given: CompiledSettings, count: int, scratch: Path, command: Sequence[str], files: Sequence[Path] = ()
) -> tuple[str, ...]:
    """The words that run ``count`` copies of ``command`` and print their wall time; ``files`` are linked next to them.

    The command's program is named by its path. Raises what compiling raises.
    """
    program = compiled(_COPIES, given, scratch)
    links = (word for path in files for word in ("--file", str(path)))
    return (str(program), "--workers", str(count), *links, "--", *command)


def without_rights(given: CompiledSettings, scratch: Path, command: Sequence[str]) -> tuple[str, ...]:
    """The words that run ``command`` as a user without rights, also where root runs them: guests know only root."""
    return (str(compiled(_COPIES, given, scratch)), "--nobody", "--", *command)


def copies_tally(benchmark: NamedBenchmark[Given], done: Done) -> CrewTally:
    """How many copies ended and how long they took; raises ``BenchmarkNonsense``."""
    return tally(benchmark, _COPIES, done)
