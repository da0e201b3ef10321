# SPDX-License-Identifier: GPL-2.0-or-later
"""The C programs of this package, compiled where they are used and kept under the digest of all that went into them.

All are a crew of workers (``sources/crew.c``): they have in common how much they do, and the lines in which they say
what they did. ``copies`` runs several copies of a command at the same time, in a fresh folder.
"""

from __future__ import annotations

import errno
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from linesmith.analyzer.base.child import Streams, child
from linesmith.analyzer.base.errors import DiskFull, OutputError, ToolMissing
from linesmith.analyzer.model import Better, Done, Metric
from linesmith.plugins.benchmarks.settings import BenchmarkOptions, Values, nonsense, number, sound, words_of

# What a user can say of compiling, for every benchmark that has a program compiled.
SETTINGS = ("linking", "compiler")
# How a program is linked; `automatic` is static where the C library can be had so: a guest may have no libraries.
LINKINGS = ("automatic", "static", "dynamic")
COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-std=c11", "-O2", "-g", "-pthread")
_COMPILE_SECONDS = 120
_COMPLAINT_CHARACTERS = 400
CREW_SETTINGS = ("operations", "seconds", *SETTINGS)
_MOST_OPERATIONS = 10**12
_MOST_SECONDS = 3600.0
_LINE = re.compile(r"(benchmark|workers|operations|seconds|cpu-seconds|per-second) (\S+)")
_NUMBERS = ("workers", "operations", "seconds", "cpu-seconds", "per-second")
# Printed numbers are rounded, so those that belong together agree only nearly.
_AGREEMENT = 0.01


@dataclass(frozen=True, slots=True)
class SourceProgram:
    """A program by its name and the files of ``sources/`` that it is made of, headers too."""

    name: str
    sources: tuple[str, ...]

    def text(self, source: str) -> str:
        """The source file of that name."""
        return (files("linesmith.plugins.benchmarks") / "sources" / source).read_text("utf-8")


_COPIES = SourceProgram("copies", ("copies.c", "crew.c", "crew.h"))


def find_compiler(options: BenchmarkOptions) -> str | None:
    """The path of the compiler that the settings name, or of the first there is; ``None`` without one."""
    named = options.text("compiler")
    return next(filter(None, map(shutil.which, (named,) if named else COMPILERS)), None)


def compiler_obstacle(options: BenchmarkOptions) -> str | None:
    """Why nothing can be compiled here, a sentence without its full stop."""
    if find_compiler(options):
        return None
    named = options.text("compiler")
    return f"the compiler {named} is not found" if named else "no C compiler was found; install the package gcc"


def linking(options: BenchmarkOptions) -> str:
    """How programs are to be linked; raises ``BenchmarkUnknown``."""
    return options.choice("linking", LINKINGS)


def compiled(program: SourceProgram, options: BenchmarkOptions, scratch: Path) -> Path:
    """The program, compiled below ``scratch`` unless it is there already from the same sources.

    Raises ``ToolMissing`` when there is no compiler or it cannot compile, ``DiskFull``.
    """
    found = find_compiler(options)
    if found is None:
        raise ToolMissing(f"the benchmark {options.benchmark} has to be compiled: {compiler_obstacle(options)}")
    linked = linking(options)
    parts = (linked, found, *_FLAGS, *(program.text(source) for source in program.sources))
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    place = scratch / "programs" / digest / program.name
    if place.is_file():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            made = _compile(program, linked, found, Path(folder))
            made.replace(place)  # whole or not at all, whoever else compiles it now
    except OSError as error:
        words = f"the benchmark {program.name} cannot be put into {place.parent} ({error.strerror})"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{words}; free some room there") from error
        raise OutputError(f"{words}; make it writable or name another --run") from error
    return place


def _compile(program: SourceProgram, linked: str, compiler: str, folder: Path) -> Path:
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


@dataclass(frozen=True, slots=True)
class Amount:
    """How much each worker does: ``operations``, or what it can in ``seconds`` where that is not 0.0."""

    operations: int
    seconds: float

    @property
    def counted(self) -> bool:
        """Whether each run does the same work, so that its wall time means something."""
        return self.seconds == 0.0

    def of_all(self, workers: int) -> int | None:
        """The operations of so many workers together, where they are counted."""
        return workers * self.operations if self.counted else None

    @property
    def words(self) -> tuple[str, ...]:
        """The options that say so."""
        if self.counted:
            return ("--operations", str(self.operations))
        return ("--seconds", f"{self.seconds:g}")


@dataclass(frozen=True, slots=True)
class CrewTally:
    """What a crew did in ``seconds``, from its first beginning to its last end; ``cpu`` seconds are of all together."""

    workers: int
    operations: float
    seconds: float
    cpu: float


def amount(options: BenchmarkOptions, operations: int) -> Amount:
    """How much to do; ``operations`` is the benchmark's default. Raises ``BenchmarkUnknown``."""
    if {"operations", "seconds"} <= set(options.settings):
        raise options.refuse("seconds", "either operations or seconds, not both")
    return Amount(
        options.whole("operations", operations, 1, _MOST_OPERATIONS), options.seconds("seconds", 0.0, _MOST_SECONDS)
    )


def tally(benchmark: str, program: str, text: str) -> CrewTally:
    """What the program of that name printed; raises ``BenchmarkNonsense`` when the text is not what it prints."""
    found = {match[1]: match[2] for match in map(_LINE.fullmatch, text.splitlines()) if match}
    if found.get("benchmark") != program:
        raise nonsense(benchmark, f"it has no line 'benchmark {program}'", text)
    values = {}
    for name in _NUMBERS:
        if name not in found:
            raise nonsense(benchmark, f"it has no line '{name}'", text)
        values[name] = number(benchmark, name, found[name], text)
    rate = sound(benchmark, "the rate", values["operations"] / values["seconds"], text)
    if abs(values["per-second"] / rate - 1.0) > _AGREEMENT:
        raise nonsense(benchmark, "operations, seconds and rate contradict each other", text)
    return CrewTally(int(values["workers"]), values["operations"], values["seconds"], values["cpu-seconds"])


def rates(benchmark: str, plural: str, done: Done) -> Values:
    """Operations for each second of wall time, and for each second of CPU time, of all workers together."""
    crew = tally(benchmark, benchmark, words_of(done))
    return (
        (f"{plural}_per_sec", crew.operations / crew.seconds),
        (f"{plural}_per_cpu_sec", sound(benchmark, "the rate", crew.operations / crew.cpu, done.output)),
    )


def rate_metrics(plural: str) -> tuple[Metric, ...]:
    """What ``rates`` gives."""
    return (
        Metric(f"{plural}_per_sec", f"{plural}/s", Better.HIGHER),
        Metric(f"{plural}_per_cpu_sec", f"{plural}/CPU-s", Better.HIGHER),
    )


def copies(
    options: BenchmarkOptions, count: int, scratch: Path, command: Sequence[str], files: Sequence[Path] = ()
) -> tuple[str, ...]:
    """The words that run ``count`` copies of ``command`` and print their wall time; ``files`` are linked beside them.

    The command's program is named by its path. Raises what compiling raises.
    """
    program = compiled(_COPIES, options, scratch)
    links = (word for path in files for word in ("--file", str(path)))
    return (str(program), "--workers", str(count), *links, "--", *command)


def without_rights(options: BenchmarkOptions, scratch: Path, command: Sequence[str]) -> tuple[str, ...]:
    """The words that run ``command`` as a user without rights, also where root runs them: guests know only root."""
    return (str(compiled(_COPIES, options, scratch)), "--nobody", "--", *command)


def copies_tally(benchmark: str, done: Done) -> CrewTally:
    """How many copies ended and how long they took; raises ``BenchmarkNonsense``."""
    return tally(benchmark, _COPIES.name, words_of(done))
