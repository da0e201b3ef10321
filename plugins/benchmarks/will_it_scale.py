# SPDX-License-Identifier: GPL-2.0-or-later
"""will-it-scale, from the folder in which the user has built it.

Each of its test cases is a program for processes and one for threads. A run warms up for some seconds, prints a line
of counts every second, and at the end the average of those that were measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.settings import (
    BenchmarkSettings,
    NamedBenchmark,
    Seconds,
    Values,
    directory,
    files_obstacle,
    words_of,
)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_AVERAGE = re.compile(r"average:(\S+)")
_SECOND = re.compile(r"min:(\d+) max:(\d+) total:(\d+)", re.ASCII)
_MEASUREMENT = "measurement"


class ScaleSettings(BenchmarkSettings, frozen=True, kw_only=True):
    """The folder of will-it-scale, a test case, and how it is run; ``smt`` binds tasks to threads of a core."""

    directory: str
    testcase: str
    mode: Literal["processes", "threads"] = "processes"
    seconds: Seconds = 5
    smt: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _NAME.fullmatch(self.testcase):
            raise ValueError(f"there is no test case {self.testcase!r}; give one of its tests/, such as page_fault1")

    @property
    def program(self) -> Path:
        """The program of the test case."""
        return directory(self.directory) / f"{self.testcase}_{self.mode}"


class WillItScale(NamedBenchmark[ScaleSettings]):
    """One test case: what all its processes or threads do in a second, and what the slowest of them does."""

    name = "will-it-scale"
    kind = ScaleSettings

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """Operations a second: of all tasks together, and of the slowest task."""
        self.given(settings)
        return (Metric("ops_per_sec", "ops/s", Better.HIGHER), Metric("slowest_ops_per_sec", "ops/s", Better.HIGHER))

    def obstacle(self, settings: Settings) -> str | None:
        """A program that is not built."""
        return files_obstacle(self.name, self.given(settings).program)

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:  # noqa: ARG002 - nothing kept
        """The test case with so many tasks, each on a core of its own as long as there are any."""
        given = self.given(settings)
        smt = ("-m",) if given.smt else ()
        words = (str(given.program), *smt, "-t", str(threads), "-s", str(given.seconds))
        return (given.step(words, given.seconds),)

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:  # noqa: ARG002 - the output says it all
        """The average of the seconds measured; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        text = words_of(self.ended_well(done))
        lines = [line.strip() for line in text.splitlines()]
        average = next((match[1] for line in reversed(lines) if (match := _AVERAGE.fullmatch(line))), None)
        if average is None or _MEASUREMENT not in lines:
            raise self.nonsense("it has no average of a measurement", text)
        after = lines[lines.index(_MEASUREMENT) :]
        least = [float(match[1]) for line in after if (match := _SECOND.fullmatch(line))]
        if not least:
            raise self.nonsense("it has no second that was measured", text)
        return (
            ("ops_per_sec", self.number("the average", average, text)),
            ("slowest_ops_per_sec", self.sound("the slowest task's", sum(least) / len(least), text)),
        )
