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

from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.programs import CompiledSettings, copies, copies_tally
from linesmith.plugins.benchmarks.settings import NamedBenchmark, Seconds, Values, directory, files_obstacle, words_of
from linesmith.plugins.settings import nearest


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
_COUNT = re.compile(r"COUNT\|(\d{1,18})\|(\d{1,6})\|(\w{1,8})", re.ASCII)


class UnixBenchSettings(CompiledSettings, frozen=True, kw_only=True):
    """The folder of UnixBench, one of its tests, and how long that runs."""

    directory: str
    test: str
    seconds: Seconds = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.test not in TESTS:
            raise ValueError(f"test = {self.test!r}: give one of {', '.join(TESTS)}{nearest(self.test, TESTS)}")


class UnixBench(NamedBenchmark[UnixBenchSettings]):
    """One of the tests, for some seconds, with as many copies at a time as there are threads asked for."""

    name = "unixbench"
    kind = UnixBenchSettings

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """The test's own score, under the test's name."""
        test = self.given(settings).test
        return (Metric(test, TESTS[test].unit, Better.HIGHER),)

    def obstacle(self, settings: Settings) -> str | None:
        """Programs that are not built, or no compiler."""
        given = self.given(settings)
        folder, test = directory(given.directory), TESTS[given.test]
        names = (f"pgms/{test.words.split()[0]}", *test.files)
        return files_obstacle(self.name, *(folder / name for name in names)) or given.compiler_obstacle()

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """So many copies of the test's program; they write into a folder of their own."""
        given = self.given(settings)
        folder, test = directory(given.directory), TESTS[given.test]
        programs, files = folder / "pgms", [folder / name for name in test.files]
        name, *words = (word.format(seconds=given.seconds, pgms=programs) for word in test.words.split())
        command = copies(given, threads, scratch, (str(programs / name), *words), files)
        return (given.step(command, given.seconds, [("UB_BINDIR", str(programs))]),)

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """Counts of all copies over the wall time, in units of the time base; a time base of 0 says it is a rate.

        Raises ``BenchmarkFailed`` or ``BenchmarkNonsense``.
        """
        last = self.ended_well(done)
        text, crew = words_of(last), copies_tally(self, last)
        counts = [match for match in map(_COUNT.fullmatch, (line.strip()[:80] for line in text.splitlines())) if match]
        bases = {int(match[2]) for match in counts}
        if len(counts) != crew.workers or len(bases) != 1:
            raise self.nonsense(f"{len(counts)} of {crew.workers} copies reported a count", text)
        total = sum(float(match[1]) for match in counts)
        base = bases.pop()
        score = self.sound("the score", total / crew.seconds * base if base else total, text)
        return ((self.given(settings).test, score),)
