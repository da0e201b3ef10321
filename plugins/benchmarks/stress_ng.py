# SPDX-License-Identifier: GPL-2.0-or-later
"""stress-ng with one of its stressors: exec, mmap, fault, open, or any other that it has.

Source: stress-ng(1), ``--metrics``; the table has had the same first columns since it was there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.programs import CompiledSettings, without_rights
from linesmith.plugins.benchmarks.settings import (
    EITHER,
    NamedBenchmark,
    Operations,
    Seconds,
    Values,
    program,
    program_obstacle,
    words_of,
)

_STRESSOR = re.compile(r"[a-z][a-z0-9-]{0,31}")
_SECONDS = 10
# Stressors that refuse to be root, the only user that a guest may have.
_NOT_AS_ROOT = ("exec",)
# bogo ops, real, user and system time, bogo ops/s by real time, the same by user and system time.
_ROW = re.compile(r"(?:stress-ng: \w+: +\[\d+\] +)?(\S+) +(\d+)((?: +[\d.]+){5,})", re.ASCII)
_RATES = ("bogo-ops-per-second-real-time", "bogo-ops-per-second-usr-sys-time")


class StressSettings(CompiledSettings, frozen=True, kw_only=True):
    """A stressor, how much it does, more ``words`` for stress-ng, where it puts its files, and where stress-ng is."""

    stressor: str
    operations: Operations | None = None
    seconds: Seconds | None = None
    words: str = ""
    directory: str = "/tmp"  # noqa: S108 - where the stressors run; they take away what they make
    program: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        shlex.split(self.words)
        if not _STRESSOR.fullmatch(self.stressor):
            raise ValueError(f"there is no stressor {self.stressor!r}; `stress-ng --stressors` lists what there is")
        if self.operations and self.seconds:
            raise ValueError(EITHER)


class StressNg(NamedBenchmark[StressSettings]):
    """Instances of a stressor; what they did is counted in its own "bogo operations"."""

    name = "stress-ng"
    kind = StressSettings

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """Bogo operations a second, by wall time and by CPU time, of all instances together."""
        self.given(settings)
        return (
            Metric("bogo_ops_per_sec", "bogo ops/s", Better.HIGHER),
            Metric("bogo_ops_per_cpu_sec", "bogo ops/CPU-s", Better.HIGHER),
        )

    def obstacle(self, settings: Settings) -> str | None:
        """A stress-ng that is not installed, or a compiler that is not there."""
        given = self.given(settings)
        missing = given.compiler_obstacle() if given.stressor in _NOT_AS_ROOT else None
        return missing or program_obstacle(given.program, self.name, "stress-ng")

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """So many instances, for ``seconds`` or for ``operations`` of each."""
        given = self.given(settings)
        seconds = 0 if given.operations else given.seconds or _SECONDS
        amount = ("--timeout", f"{seconds}s") if seconds else (f"--{given.stressor}-ops", str(given.operations))
        command = (
            program(given.program, self.name),
            *(f"--{given.stressor}", str(threads)),
            *amount,
            *("--metrics-brief", "--no-rand-seed"),
            *("--temp-path", given.directory),
            *shlex.split(given.words),
        )
        if given.stressor in _NOT_AS_ROOT:
            command = without_rights(given, scratch, command)
        return (given.step(command, seconds),)

    def operations(self, settings: Settings, threads: int) -> int | None:
        """Bogo operations of all instances; ``None`` where they work for a number of seconds."""
        given = self.given(settings)
        return threads * given.operations if given.operations else None

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """The row of the stressor; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        stressor = self.given(settings).stressor
        text = words_of(self.ended_well(done))
        rows = (_ROW.match(line.strip()[:400]) for line in text.splitlines())
        found = next((row[3].split() for row in rows if row and row[1] == stressor), None)
        if found is None:
            raise self.nonsense(f"it has no metrics of the stressor {stressor}", text)
        real, cpu = (self.number(what, word, text) for what, word in zip(_RATES, found[3:5], strict=True))
        return ("bogo_ops_per_sec", real), ("bogo_ops_per_cpu_sec", cpu)
