# SPDX-License-Identifier: GPL-2.0-or-later
"""The example program: its sources, how they are compiled, the CPUs it runs on, and a profile of it.

It runs on one CPU of each core where there are two cores. Its profile is recorded where something can record, else it
is the one that was written for it.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from importlib.resources import as_file, files
from pathlib import Path

from linesmith.analyzer.base.child import Command, run
from linesmith.analyzer.base.errors import LinesmithError, ToolMissing, VerificationFailed
from linesmith.analyzer.model import Emulation, Order, Recorded
from linesmith.plugins.api import Recorder
from linesmith.plugins.profiles.recorded import encode

PROFILE = "bench.c2c"
HEADER = "session_index.h"
SOURCES = ("guard.c", "session_index.c", "bench.c")
FLAGS = ("-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-pthread")

COMPILERS = ("cc", "gcc", "clang")
COMPILE_SECONDS = 60

TOPOLOGY = Path("/sys/devices/system/cpu")
MOST_CPUS = 8

MILLISECONDS = 400
RECORD_SECONDS = 60
_RECORDED = "recorded.profile"
_WRITTEN = """\
{profile} is in the form of a perf c2c report. Its figures were written for this example, not recorded: \
{reasons}.

"""
_RECORDED_HERE = """\
$ linesmith record --on {on} --ring user --interleave turns -o {profile} -- {command}

"""


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


class ThreadPlacement(Enum):
    """How the threads lie on the machine; the value is the sentence for it."""

    CORES = "each thread on a core of its own"
    SIBLINGS = (
        "only one core is available, so the threads run on its two siblings; they share the first-level cache and"
        " may show no difference"
    )
    ONE_CPU = "only one CPU is available, so the threads take turns and no cache line moves; no difference can show"


@dataclass(frozen=True, slots=True)
class CpuChoice:
    """CPU numbers, one per thread (a number twice where there is one CPU), and how they lie."""

    cpus: tuple[int, ...]
    placement: ThreadPlacement

    @property
    def count(self) -> int:
        """Different CPUs used."""
        return len(set(self.cpus))


def choose(allowed: Iterable[int], topology: Path = TOPOLOGY) -> CpuChoice:
    """Up to eight of the ``allowed`` CPUs, one of each core; two siblings or one CPU where there is no more.

    Source: ``cpuN/topology/thread_siblings_list`` (Linux, Documentation/admin-guide/cputopology.rst).
    """
    available = sorted(allowed)
    cores: dict[str, int] = {}
    for cpu in available:
        try:
            core = (topology / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
        except OSError:
            core = str(cpu)  # where the kernel does not tell
        cores.setdefault(core, cpu)
    if len(cores) > 1:
        return CpuChoice(tuple(cores.values())[:MOST_CPUS], ThreadPlacement.CORES)
    if len(available) > 1:
        return CpuChoice(tuple(available[:2]), ThreadPlacement.SIBLINGS)
    return CpuChoice((available[0], available[0]), ThreadPlacement.ONE_CPU)


def here() -> CpuChoice:
    """The choice among the CPUs this process may run on."""
    return choose(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class DemoProfile:
    """A profile of the example in a file, and the words that say where it comes from."""

    path: Path
    about: str


def gather(directory: Path, scratch: Path, recorders: Sequence[Recorder], choice: CpuChoice) -> DemoProfile:
    """The profile of the first recorder that works on the program in ``directory``, or the written one."""
    command = (str(directory / "bench"), str(MILLISECONDS), *map(str, choice.cpus))
    order = Order(
        command, Emulation(ring="user", interleave="turns"), output=scratch / "printed", seconds=RECORD_SECONDS
    )
    obstacles = []
    for recorder in recorders:
        try:
            if obstacle := recorder.obstacle(order):
                obstacles.append(f"not on {recorder.name}, for {obstacle}")
                continue
            recorded = recorder.record(order, scratch, lambda _: None)  # too short for news of it
            return _saved(recorded, directory, recorder.name, command)
        except LinesmithError as error:
            obstacles.append(f"not on {recorder.name}, for {error}")
    about = _WRITTEN.format(profile=PROFILE, reasons="; ".join(obstacles) or "no recorder is installed")
    return DemoProfile(directory / PROFILE, about)


def _saved(recorded: Recorded, directory: Path, on: str, command: tuple[str, ...]) -> DemoProfile:
    path = directory / _RECORDED
    shown = ("./bench", *command[1:])
    profile = recorded.profile
    if profile and profile.recording:
        profile = replace(profile, recording=replace(profile.recording, command=shown))
    path.write_bytes(encode(profile) if profile else recorded.report.encode("utf-8", "surrogateescape"))
    return DemoProfile(path, _RECORDED_HERE.format(on=on, profile=_RECORDED, command=shlex.join(shown)))
