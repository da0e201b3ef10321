# SPDX-License-Identifier: GPL-2.0-or-later
"""UnixBench, from the folder in which the user has built it: by its script, or its programs without perl.

A program counts what it does until an alarm and writes ``COUNT|count|timebase|unit`` to standard error; the script adds
the counts of all copies and divides by the time they took, in units of the time base. Source: its ``USAGE``.
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
    number,
    options_of,
    sound,
    thread_count,
    words_of,
)

WAYS = ("programs", "script")


@dataclass(frozen=True, slots=True)
class UnixBenchTest:
    """A test: what the script calls it in its table, its unit, its program with its words, and the files it reads.

    ``{seconds}`` and ``{pgms}`` stand in the words; files are named from UnixBench's folder.
    """

    title: str
    words: str
    unit: str = "lps"
    files: tuple[str, ...] = ()


def _shells(count: int) -> UnixBenchTest:
    files = ("pgms/tst.sh", "testdir/sort.src")
    return UnixBenchTest(
        f"Shell Scripts ({count} concurrent)", f"looper {{seconds}} {{pgms}}/multi.sh {count}", "lpm", files
    )


TESTS = {
    "shell1": _shells(1),
    "shell8": _shells(8),
    "shell16": _shells(16),
    "execl": UnixBenchTest("Execl Throughput", "execl {seconds}"),
    "context1": UnixBenchTest("Pipe-based Context Switching", "context1 {seconds}"),
    "spawn": UnixBenchTest("Process Creation", "spawn {seconds}"),
    "syscall": UnixBenchTest("System Call Overhead", "syscall {seconds}"),
    "sysexec": UnixBenchTest("Exec System Call Overhead", "syscall {seconds} exec"),
    "pipe": UnixBenchTest("Pipe Throughput", "pipe {seconds}"),
}
_SECONDS = 10
_ITERATIONS = 3
# The longest tests of the script run for a minute, and it waits between them.
_SECONDS_OF_A_PASS = 65
_COUNT = re.compile(r"COUNT\|(\d{1,18})\|(\d{1,6})\|(\w{1,8})", re.ASCII)
_ROW = re.compile(r"(\S.*?) +(\S+) +(\w+) +\([\d.]+ s, \d+ samples\)")
# What the script looks for beside itself; its results and the test's files then go into the fresh folder.
_OF_THE_SCRIPT = ("Run", "Makefile", "pgms", "src")


class UnixBench:
    """One of the tests, with as many copies at a time as there are threads asked for."""

    name = "unixbench"

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """The test's own score, under the test's name."""
        options, test = self._options(settings)
        linking(options)
        self._amount(options)
        return (Metric(options.text("test"), test.unit, Better.HIGHER),)

    def obstacle(self, settings: Settings) -> str | None:
        """Programs that are not built, or no compiler."""
        options, test = self._options(settings)
        folder = directory(options, "/path/to/UnixBench")
        names = (f"pgms/{test.words.split()[0]}", *test.files)
        names += _OF_THE_SCRIPT if self._by_script(options) else ()
        return files_obstacle(options, *(folder / name for name in names)) or compiler_obstacle(options)

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """So many copies of the test's program, or one run of the script; they write into a folder of their own."""
        options, test = self._options(settings)
        count = thread_count(self.name, threads)
        folder = directory(options, "/path/to/UnixBench")
        files = [folder / name for name in test.files]
        environment = [("UB_BINDIR", str(folder / "pgms"))]
        if self._by_script(options):
            run = ("./Run", "-c", str(count), "-i", str(self._amount(options)), options.text("test"))
            files += [folder / name for name in _OF_THE_SCRIPT]
            command = copies(options, 1, scratch, run, files)
            environment += [("UB_TESTDIR", ".")]
            seconds = self._amount(options) * _SECONDS_OF_A_PASS
        else:
            program, *words = test.words.split()
            given_words = [word.format(seconds=self._amount(options), pgms=folder / "pgms") for word in words]
            command = copies(options, count, scratch, (str(folder / "pgms" / program), *given_words), files)
            seconds = self._amount(options)
        return (options.step(command, seconds, environment),)

    def operations(self, settings: Settings, threads: int) -> int | None:  # noqa: ARG002 - none of them counts
        """None: its tests work for a number of seconds."""
        self._options(settings)
        return None

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """The score; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        options, test = self._options(settings)
        last = ended_well(self.name, done)[-1]
        score = self._of_table(test, words_of(last)) if self._by_script(options) else self._of_counts(last)
        return ((options.text("test"), score),)

    def _of_table(self, test: UnixBenchTest, text: str) -> float:
        """The row of the script's table; it has the mean of several runs."""
        rows = (match for match in map(_ROW.fullmatch, (line.strip()[:400] for line in text.splitlines())) if match)
        found = next((match for match in rows if match[1] == test.title), None)
        if found is None:
            raise nonsense(self.name, f"it has no row '{test.title}'", text)
        return number(self.name, "the score", found[2], text)

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
        options = options_of(self.name, settings, (DIRECTORY, "test", "way", "seconds", "iterations", *SETTINGS))
        if "test" not in settings:
            raise BenchmarkUnknown(f"the benchmark {self.name} needs a test: give test = one of {', '.join(TESTS)}")
        test = options.text("test")
        if test not in TESTS:
            raise options.refuse("test", f"one of {', '.join(TESTS)}{nearest(test, TESTS)}")
        directory(options, "/path/to/UnixBench")
        return options, TESTS[test]

    def _by_script(self, options: BenchmarkOptions) -> bool:
        return options.choice("way", WAYS) == "script"

    def _amount(self, options: BenchmarkOptions) -> int:
        """Seconds of a program, or the iterations that the script is told."""
        foreign, own, default = (
            ("seconds", "iterations", _ITERATIONS) if self._by_script(options) else ("iterations", "seconds", _SECONDS)
        )
        if foreign in options.settings:
            raise options.refuse(foreign, f"{own} instead, when the way is {options.choice('way', WAYS)}")
        return options.whole(own, default, 1, 3600)
