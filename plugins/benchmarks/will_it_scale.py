# SPDX-License-Identifier: GPL-2.0-or-later
"""will-it-scale, from the folder in which the user has built it.

Each of its test cases is a program for processes and one for threads. A run warms up for some seconds, prints a line
of counts every second, and at the end the average of those that were measured.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.base.errors import BenchmarkUnknown
from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.settings import (
    DIRECTORY,
    BenchmarkOptions,
    Values,
    directory,
    ended_well,
    files_obstacle,
    nonsense,
    number,
    options_of,
    shown,
    sound,
    thread_count,
    words_of,
)

MODES = ("processes", "threads")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_SECONDS = 5
_AVERAGE = re.compile(r"average:(\S+)")
_SECOND = re.compile(r"min:(\d+) max:(\d+) total:(\d+)", re.ASCII)
_MEASUREMENT = "measurement"


class WillItScale:
    """One test case: what all its processes or threads do in a second, and what the slowest of them does."""

    name = "will-it-scale"

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """Operations a second: of all tasks together, and of the slowest task."""
        self._words(self._options(settings), 1)
        return (
            Metric("ops_per_sec", "ops/s", Better.HIGHER),
            Metric("slowest_ops_per_sec", "ops/s", Better.HIGHER),
        )

    def obstacle(self, settings: Settings) -> str | None:
        """A program that is not built."""
        return files_obstacle(options := self._options(settings), self._program(options))

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:  # noqa: ARG002 - nothing kept
        """The test case with so many tasks, each on a core of its own as long as there are any."""
        options = self._options(settings)
        words = self._words(options, thread_count(self.name, threads))
        return (options.step((str(self._program(options)), *words), self._seconds(options)),)

    def operations(self, settings: Settings, threads: int) -> int | None:  # noqa: ARG002 - none of them counts
        """None: its test cases work for a number of seconds."""
        self._options(settings)
        return None

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """The average of the seconds measured; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        self._options(settings)
        text = words_of(ended_well(self.name, done)[-1])
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

    def _options(self, settings: Settings) -> BenchmarkOptions:
        return options_of(self.name, settings, (DIRECTORY, "testcase", "mode", "seconds", "smt"))

    def _program(self, options: BenchmarkOptions) -> Path:
        """The program of the test case; raises ``BenchmarkUnknown`` when none is named."""
        if "testcase" not in options.settings:
            raise BenchmarkUnknown(f'the benchmark {self.name} needs a test case: give testcase = "page_fault1"')
        case = options.text("testcase")
        if not _NAME.fullmatch(case):
            raise BenchmarkUnknown(f"the benchmark {self.name} has no test case {shown(case)}; give one of its tests/")
        return directory(options, "/path/to/will-it-scale") / f"{case}_{options.choice('mode', MODES)}"

    def _words(self, options: BenchmarkOptions, count: int) -> tuple[str, ...]:
        self._program(options)
        smt = ("-m",) if options.switch("smt") else ()
        return (*smt, "-t", str(count), "-s", str(self._seconds(options)))

    def _seconds(self, options: BenchmarkOptions) -> int:
        return options.whole("seconds", _SECONDS, 1, 24 * 3600)
