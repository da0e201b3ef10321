# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmarks whose programs come with linesmith: workers, each on a CPU of its own as long as there are any."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from msgspec import Meta

from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.programs import CompiledSettings, compiled, tally
from linesmith.plugins.benchmarks.settings import EITHER, NamedBenchmark, Operations, Values


class CrewSettings(CompiledSettings, frozen=True):
    """How much each worker does: ``operations``, or what it can in ``seconds``, where runs do not do the same work."""

    operations: Operations | None = None
    seconds: Annotated[float, Meta(gt=0, le=3600)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.operations and self.seconds:
            raise ValueError(EITHER)


Given = TypeVar("Given", bound=CrewSettings)


class CrewBenchmark(NamedBenchmark[Given], ABC):
    """A program of the package; ``plural`` is what its operations are called.

    ``default`` operations end within a minute also where the CPUs are emulated and recorded; a real machine does a
    hundred times as much.
    """

    plural: str
    default: int

    @abstractmethod
    def words(self, given: Given) -> tuple[str, ...]:
        """The program's words for its own settings."""

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """Operations a second, by wall time and by CPU time, of all workers together."""
        self.given(settings)
        return (
            Metric(f"{self.plural}_per_sec", f"{self.plural}/s", Better.HIGHER),
            Metric(f"{self.plural}_per_cpu_sec", f"{self.plural}/CPU-s", Better.HIGHER),
        )

    def obstacle(self, settings: Settings) -> str | None:
        """A compiler that is missing."""
        return self.given(settings).compiler_obstacle()

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """The program with ``threads`` workers."""
        given = self.given(settings)
        amount = ("--operations", str(given.operations or self.default))
        if given.seconds:
            amount = ("--seconds", f"{given.seconds:g}")
        program = compiled(self.name, given, scratch)
        words = (str(program), "--workers", str(threads), *amount, *self.words(given))
        return (given.step(words, given.seconds or 0.0),)

    def operations(self, settings: Settings, threads: int) -> int | None:
        """Those of all workers together; ``None`` where they work for a number of seconds."""
        given = self.given(settings)
        return None if given.seconds else threads * (given.operations or self.default)

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """Operations a second; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        self.given(settings)
        last = self.ended_well(done)
        crew = tally(self, self.name, last)
        return (
            (f"{self.plural}_per_sec", self.sound("the rate", crew.operations / crew.seconds, last.output)),
            (f"{self.plural}_per_cpu_sec", self.sound("the rate", crew.operations / crew.cpu, last.output)),
        )


class StormSettings(CrewSettings, frozen=True):
    """How many files every program maps besides its own, and where they lie; they have no names there."""

    files: Annotated[int, Meta(ge=0, le=64)] = 8
    directory: str = "/tmp"  # noqa: S108


class ExecStorm(CrewBenchmark[StormSettings]):
    """Workers that run one small program after the other, all of them mapping the same few files.

    Programs begin and end on every CPU, so that the trees of mappings of the files they share change always.
    """

    name = "exec-storm"
    plural = "execs"
    default = 100
    kind = StormSettings

    def words(self, given: StormSettings) -> tuple[str, ...]:
        """The program's words for its own settings."""
        return ("--files", str(given.files), "--directory", given.directory)


class FaultSettings(CrewSettings, frozen=True):
    """Pages of a round, whose mapping they are of, what is mapped, and whether workers are processes."""

    pages: Annotated[int, Meta(ge=1, le=1 << 20)] = 64
    mapping: Literal["own", "one"] = "own"
    memory: Literal["anonymous", "file"] = "anonymous"
    workers: Literal["threads", "processes"] = "threads"


class PageFaults(CrewBenchmark[FaultSettings]):
    """Threads of one address space that touch pages which are not there yet, as pft does.

    Workers meet at the lock of their address space, or at what one mapping of it keeps.
    """

    name = "page-faults"
    plural = "faults"
    default = 10_000
    kind = FaultSettings

    def words(self, given: FaultSettings) -> tuple[str, ...]:
        """The program's words for its own settings."""
        processes = ("--processes",) if given.workers == "processes" else ()
        return ("--pages", str(given.pages), "--mapping", given.mapping, "--memory", given.memory, *processes)

    def operations(self, settings: Settings, threads: int) -> int | None:
        """Those of all workers together, in whole rounds; ``None`` where they work for a number of seconds."""
        given = self.given(settings)
        rounds = -(-(given.operations or self.default) // given.pages)
        return None if given.seconds else threads * rounds * given.pages
