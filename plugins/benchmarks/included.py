# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers that run one small program after the other, all of them mapping the same few files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.model import Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.outcome import Values, ended_well
from linesmith.plugins.benchmarks.programs import (
    CREW_SETTINGS,
    Amount,
    Program,
    amount,
    compiled,
    compiler_obstacle,
    linking,
    rate_metrics,
    rates,
)
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
        return given(self.name, settings, (*CREW_SETTINGS, "files", "directory"))


# Threads of one address space that touch pages which are not there yet, as pft does.

PAGE_FAULTS_PROGRAM = Program("page-faults", ("page_faults.c", "crew.c", "crew.h"))
MAPPINGS = ("own", "one")
MEMORIES = ("anonymous", "file")
WORKERS = ("threads", "processes")
# Ends within a minute also where the CPUs are emulated and recorded; a real machine does a hundred times as much.
_PAGE_FAULTS_OPERATIONS = 10_000
_PAGES = 64
_MOST_PAGES = 1 << 20


def words_of(options: Given) -> tuple[str, ...]:
    """The program's words for the settings, the number of workers apart; raises ``BenchmarkUnknown``."""
    pages = options.whole("pages", _PAGES, 1, _MOST_PAGES)
    processes = options.choice("workers", WORKERS) == "processes"
    return (
        *amount(options, _PAGE_FAULTS_OPERATIONS).words,
        *("--pages", str(pages)),
        *("--mapping", options.choice("mapping", MAPPINGS)),
        *("--memory", options.choice("memory", MEMORIES)),
        *(("--processes",) if processes else ()),
    )


class PageFaults:
    """Faults on every CPU: workers meet at the lock of their address space, or at what one mapping of it keeps."""

    name = "page-faults"

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """Faults a second, by wall time and by CPU time, of all workers together."""
        options = self._options(settings)
        words_of(options)
        linking(options)
        return rate_metrics("faults")

    def obstacle(self, settings: Settings) -> str | None:
        """A compiler that is missing."""
        return compiler_obstacle(self._options(settings))

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """The faults of ``threads`` workers, each on a CPU of its own, as long as there are any."""
        options = self._options(settings)
        words = ("--workers", str(thread_count(self.name, threads)), *words_of(options))
        program = compiled(PAGE_FAULTS_PROGRAM, options, scratch)
        return (options.step((str(program), *words), amount(options, _PAGE_FAULTS_OPERATIONS).seconds),)

    def operations(self, settings: Settings, threads: int) -> int | None:
        """Those of all workers together, in whole rounds; ``None`` where they work for a number of seconds."""
        options = self._options(settings)
        done = amount(options, _PAGE_FAULTS_OPERATIONS)
        pages = options.whole("pages", _PAGES, 1, _MOST_PAGES)
        return threads * -(-done.operations // pages) * pages if done.counted else None

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """Faults a second; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        self._options(settings)
        return rates(self.name, "faults", ended_well(self.name, done)[-1])

    def _options(self, settings: Settings) -> Given:
        return given(self.name, settings, (*CREW_SETTINGS, "pages", "mapping", "memory", "workers"))
