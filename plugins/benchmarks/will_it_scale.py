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
from linesmith.plugins.api import Benchmark, Settings
from linesmith.plugins.benchmarks.settings import (
    BenchmarkSettings,
    Seconds,
    Values,
    directory,
    ended_well,
    files_obstacle,
    nonsense,
    number,
    settings_of,
    sound,
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


class WillItScale(Benchmark):
    """One test case: what all its processes or threads do in a second, and what the slowest of them does."""

    name = "will-it-scale"

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """Operations a second: of all tasks together, and of the slowest task."""
        settings_of(self.name, settings, ScaleSettings)
        return (Metric("ops_per_sec", "ops/s", Better.HIGHER), Metric("slowest_ops_per_sec", "ops/s", Better.HIGHER))

    def obstacle(self, settings: Settings) -> str | None:
        """A program that is not built."""
        return files_obstacle(self.name, settings_of(self.name, settings, ScaleSettings).program)

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:  # noqa: ARG002 - nothing kept
        """The test case with so many tasks, each on a core of its own as long as there are any."""
        given = settings_of(self.name, settings, ScaleSettings)
        smt = ("-m",) if given.smt else ()
        words = (str(given.program), *smt, "-t", str(threads), "-s", str(given.seconds))
        return (given.step(words, given.seconds),)

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:  # noqa: ARG002 - the output says it all
        """The average of the seconds measured; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        text = words_of(ended_well(self.name, done))
        lines = [line.strip() for line in text.splitlines()]
        average = next((match[1] for line in reversed(lines) if (match := _AVERAGE.fullmatch(line))), None)
        if average is None or _MEASUREMENT not in lines:
            raise nonsense(self.name, "it has no average of a measurement", text)
        after = lines[lines.index(_MEASUREMENT) :]
        least = [float(match[1]) for line in after if (match := _SECOND.fullmatch(line))]
        if not least:
            raise nonsense(self.name, "it has no second that was measured", text)
        return (
            ("ops_per_sec", number(self.name, "the average", average, text)),
            ("slowest_ops_per_sec", sound(self.name, "the slowest task's", sum(least) / len(least), text)),
        )
