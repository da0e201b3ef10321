# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers that run one small program after the other, all of them mapping the same few files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.model import Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.crew import SETTINGS, Amount, amount, rate_metrics, rates
from linesmith.plugins.benchmarks.outcome import Values, ended_well
from linesmith.plugins.benchmarks.programs import Program, compiled, compiler_obstacle, linking
from linesmith.plugins.benchmarks.settings import Given, given, thread_count

PROGRAM = Program("exec-storm", ("exec_storm.c", "crew.c", "crew.h"))
# Ends within a minute also where the CPUs are emulated and recorded; a real machine does a hundred times as much.
_OPERATIONS = 100
_FILES = 8
_MOST_FILES = 64
_DIRECTORY = "/tmp"  # noqa: S108 - where the storm runs; its files have no names there


@dataclass(frozen=True, slots=True)
class Storm:
    """What each worker does; ``files`` are mapped by every program beside its own, and lie in ``directory``."""

    amount: Amount
    files: int
    directory: str


def storm_of(options: Given) -> Storm:
    """The storm that the settings ask for; raises ``BenchmarkUnknown``."""
    files = options.whole("files", _FILES, 0, _MOST_FILES)
    return Storm(amount(options, _OPERATIONS), files, options.text("directory", _DIRECTORY))


class ExecStorm:
    """Programs begin and end on every CPU, so that the trees of mappings of the files they share change always."""

    name = "exec-storm"

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """Programs run a second, by wall time and by CPU time, of all workers together."""
        options = self._options(settings)
        storm_of(options)
        linking(options)
        return rate_metrics("execs")

    def obstacle(self, settings: Settings) -> str | None:
        """A compiler that is missing."""
        return compiler_obstacle(self._options(settings))

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """The storm with ``threads`` workers; each is a process on a CPU of its own, as long as there are any."""
        options = self._options(settings)
        storm = storm_of(options)
        program = compiled(PROGRAM, options, scratch)
        words = ("--workers", str(thread_count(self.name, threads)), *storm.amount.words, "--files", str(storm.files))
        return (options.step((str(program), *words, "--directory", storm.directory), storm.amount.seconds),)

    def operations(self, settings: Settings, threads: int) -> int | None:
        """Those of all workers together; ``None`` where they work for a number of seconds."""
        return amount(self._options(settings), _OPERATIONS).of_all(threads)

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """Programs run a second; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        self._options(settings)
        return rates(self.name, "execs", ended_well(self.name, done)[-1])

    def _options(self, settings: Settings) -> Given:
        return given(self.name, settings, (*SETTINGS, "files", "directory"))
