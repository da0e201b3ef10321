# SPDX-License-Identifier: GPL-2.0-or-later
"""UnixBench, from the folder in which the user has built it: its programs, without its script and perl.

A program counts what it does until an alarm and writes ``COUNT|count|timebase|unit`` to standard error; as its script
does, the counts of all copies are divided by the time they took, in units of the time base. Source: its ``USAGE``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import BenchmarkUnknown
from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.programs import SETTINGS, compiler_obstacle, copies, copies_tally, linking
from linesmith.plugins.benchmarks.settings import (
    DIRECTORY,
    BenchmarkOptions,
    Values,
    directory,
    ended_well,
    files_obstacle,
    nearest,
    nonsense,
    options_of,
    sound,
    thread_count,
    words_of,
)


@dataclass(frozen=True, slots=True)
class UnixBenchTest:
    """A test: its program with its words, its unit, and the files it reads.

    ``{seconds}`` and ``{pgms}`` stand in the words; files are named from UnixBench's folder.
    """

    words: str
    unit: str = "lps"
    files: tuple[str, ...] = ()


def _shells(count: int) -> UnixBenchTest:
    files = ("pgms/tst.sh", "testdir/sort.src")
    return UnixBenchTest(f"looper {{seconds}} {{pgms}}/multi.sh {count}", "lpm", files)


TESTS = {
    "shell1": _shells(1),
    "shell8": _shells(8),
    "shell16": _shells(16),
    "execl": UnixBenchTest("execl {seconds}"),
    "context1": UnixBenchTest("context1 {seconds}"),
    "spawn": UnixBenchTest("spawn {seconds}"),
    "syscall": UnixBenchTest("syscall {seconds}"),
    "sysexec": UnixBenchTest("syscall {seconds} exec"),
    "pipe": UnixBenchTest("pipe {seconds}"),
}
_SECONDS = 10
_COUNT = re.compile(r"COUNT\|(\d{1,18})\|(\d{1,6})\|(\w{1,8})", re.ASCII)


class UnixBench:
    """One of the tests, with as many copies at a time as there are threads asked for."""

    name = "unixbench"

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """The test's own score, under the test's name."""
        options, test = self._options(settings)
        linking(options)
        options.whole("seconds", _SECONDS, 1, 3600)
        return (Metric(options.text("test"), test.unit, Better.HIGHER),)

    def obstacle(self, settings: Settings) -> str | None:
        """Programs that are not built, or no compiler."""
        options, test = self._options(settings)
        folder = directory(options, "/path/to/UnixBench")
        names = (f"pgms/{test.words.split()[0]}", *test.files)
        return files_obstacle(options, *(folder / name for name in names)) or compiler_obstacle(options)

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """So many copies of the test's program; they write into a folder of their own."""
        options, test = self._options(settings)
        count = thread_count(self.name, threads)
        folder = directory(options, "/path/to/UnixBench")
        files = [folder / name for name in test.files]
        seconds = options.whole("seconds", _SECONDS, 1, 3600)
        program, *words = (word.format(seconds=seconds, pgms=folder / "pgms") for word in test.words.split())
        command = copies(options, count, scratch, (str(folder / "pgms" / program), *words), files)
        return (options.step(command, seconds, [("UB_BINDIR", str(folder / "pgms"))]),)

    def operations(self, settings: Settings, threads: int) -> int | None:  # noqa: ARG002 - none of them counts
        """None: its tests work for a number of seconds."""
        self._options(settings)
        return None

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """The score; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        options, _ = self._options(settings)
        return ((options.text("test"), self._of_counts(ended_well(self.name, done)[-1])),)

    def _of_counts(self, done: Done) -> float:
        """Counts of all copies over the wall time, in units of the time base; a time base of 0 says it is a rate."""
        text, crew = words_of(done), copies_tally(self.name, done)
        counts = [match for match in map(_COUNT.fullmatch, (line.strip()[:80] for line in text.splitlines())) if match]
        bases = {int(match[2]) for match in counts}
        if len(counts) != crew.workers or len(bases) != 1:
            raise nonsense(self.name, f"{len(counts)} of {crew.workers} copies reported a count", text)
        total = sum(float(match[1]) for match in counts)
        base = bases.pop()
        return sound(self.name, "the score", total / crew.seconds * base if base else total, text)

    def _options(self, settings: Settings) -> tuple[BenchmarkOptions, UnixBenchTest]:
        options = options_of(self.name, settings, (DIRECTORY, "test", "seconds", *SETTINGS))
        if "test" not in settings:
            raise BenchmarkUnknown(f"the benchmark {self.name} needs a test: give test = one of {', '.join(TESTS)}")
        test = options.text("test")
        if test not in TESTS:
            raise options.refuse("test", f"one of {', '.join(TESTS)}{nearest(test, TESTS)}")
        directory(options, "/path/to/UnixBench")
        return options, TESTS[test]
