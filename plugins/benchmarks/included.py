# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmarks whose programs come with linesmith: workers, each on a CPU of its own as long as there are any."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.model import Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.programs import (
    CREW_SETTINGS,
    SourceProgram,
    amount,
    compiled,
    compiler_obstacle,
    linking,
    rate_metrics,
    rates,
)
from linesmith.plugins.benchmarks.settings import BenchmarkOptions, Values, ended_well, options_of, thread_count

_MOST_FILES = 64
_DIRECTORY = "/tmp"  # noqa: S108 - where the storm runs; its files have no names there
MAPPINGS = ("own", "one")
MEMORIES = ("anonymous", "file")
WORKERS = ("threads", "processes")
_MOST_PAGES = 1 << 20


class CrewBenchmark(ABC):
    """A program of the package; ``plural`` is what its operations are called, ``settings`` are those of its own.

    ``default`` operations end within a minute also where the CPUs are emulated and recorded; a real machine does a
    hundred times as much.
    """

    name: str
    plural: str
    default: int
    settings: tuple[str, ...]

    @abstractmethod
    def words(self, options: BenchmarkOptions) -> tuple[str, ...]:
        """The program's words for its own settings; raises ``BenchmarkUnknown``."""

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """Operations a second, by wall time and by CPU time, of all workers together."""
        options = self._options(settings)
        self.words(options)
        amount(options, self.default)
        linking(options)
        return rate_metrics(self.plural)

    def obstacle(self, settings: Settings) -> str | None:
        """A compiler that is missing."""
        return compiler_obstacle(self._options(settings))

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """The program with ``threads`` workers."""
        options = self._options(settings)
        own, work = self.words(options), amount(options, self.default)
        words = ("--workers", str(thread_count(self.name, threads)), *work.words, *own)
        source = f"{self.name.replace('-', '_')}.c"
        program = compiled(SourceProgram(self.name, (source, "crew.c", "crew.h")), options, scratch)
        return (options.step((str(program), *words), work.seconds),)

    def operations(self, settings: Settings, threads: int) -> int | None:
        """Those of all workers together; ``None`` where they work for a number of seconds."""
        return amount(self._options(settings), self.default).of_all(threads)

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """Operations a second; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        self._options(settings)
        return rates(self.name, self.plural, ended_well(self.name, done)[-1])

    def _options(self, settings: Settings) -> BenchmarkOptions:
        return options_of(self.name, settings, (*CREW_SETTINGS, *self.settings))


class ExecStorm(CrewBenchmark):
    """Workers that run one small program after the other, all of them mapping the same few files.

    Programs begin and end on every CPU, so that the trees of mappings of the files they share change always.
    """

    name = "exec-storm"
    plural = "execs"
    default = 100
    settings = ("files", "directory")

    def words(self, options: BenchmarkOptions) -> tuple[str, ...]:
        """How many files every program maps beside its own, and where they lie."""
        files = options.whole("files", 8, 0, _MOST_FILES)
        return ("--files", str(files), "--directory", options.text("directory", _DIRECTORY))


class PageFaults(CrewBenchmark):
    """Threads of one address space that touch pages which are not there yet, as pft does.

    Workers meet at the lock of their address space, or at what one mapping of it keeps.
    """

    name = "page-faults"
    plural = "faults"
    default = 10_000
    settings = ("pages", "mapping", "memory", "workers")

    def words(self, options: BenchmarkOptions) -> tuple[str, ...]:
        """Pages of a round, whose mapping they are of, what is mapped, and whether workers are processes."""
        processes = options.choice("workers", WORKERS) == "processes"
        return (
            *("--pages", str(self._pages(options))),
            *("--mapping", options.choice("mapping", MAPPINGS)),
            *("--memory", options.choice("memory", MEMORIES)),
            *(("--processes",) if processes else ()),
        )

    def operations(self, settings: Settings, threads: int) -> int | None:
        """Those of all workers together, in whole rounds; ``None`` where they work for a number of seconds."""
        options = self._options(settings)
        work = amount(options, self.default)
        pages = self._pages(options)
        return threads * -(-work.operations // pages) * pages if work.counted else None

    def _pages(self, options: BenchmarkOptions) -> int:
        return options.whole("pages", 64, 1, _MOST_PAGES)
