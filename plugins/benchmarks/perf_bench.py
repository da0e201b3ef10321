# SPDX-License-Identifier: GPL-2.0-or-later
"""``perf bench``: the scheduler, system calls, memory, futexes and epoll. Source: perf-bench(1)."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.programs import CompiledSettings, copies, copies_tally
from linesmith.plugins.benchmarks.settings import (
    NamedBenchmark,
    Operations,
    Seconds,
    Values,
    program,
    program_obstacle,
    words_of,
)
from linesmith.plugins.settings import nearest


@dataclass(frozen=True, slots=True)
class Suite:
    """One benchmark of perf: its words, with places for the threads and the settings it has, and what its number is.

    ``copied`` ones use one CPU: so many copies run as threads are wanted, and ``combine`` puts their numbers together.
    """

    words: str
    metric: Metric
    number: re.Pattern[str]
    loops: int = 0
    seconds: int = 0
    copied: bool = False
    combine: Callable[[Sequence[float]], float] = statistics.fmean


_PER_OPERATION = Metric("usecs_per_op", "us", Better.LOWER)
_PER_THREAD = Metric("ops_per_sec_per_thread", "ops/s", Better.HIGHER)
_USECS = re.compile(r"^\s*([\d.]+) usecs/op$", re.MULTILINE)
_AVERAGED = re.compile(r"^Averaged (\S+) operations/sec", re.MULTILINE)
_PLAIN = re.compile(r"^([\d.]+)$", re.MULTILINE)


def _call(loops: int) -> Suite:
    return Suite("-l {loops}", _PER_OPERATION, _USECS, loops=loops, copied=True)


def _copying() -> Suite:
    metric = Metric("bytes_per_sec", "B/s", Better.HIGHER)
    return Suite("-s {size} -l {loops} -f default", metric, _PLAIN, loops=20_000, copied=True, combine=sum)


def _waking(sentence: str) -> Suite:
    number = re.compile(rf"^{sentence} in ([\d.]+) ms", re.MULTILINE)
    return Suite("-t {threads}", Metric("ms", "ms", Better.LOWER), number)


SUITES = {
    "sched messaging": Suite(
        "-g {threads} -l {loops}",
        Metric("seconds", "s", Better.LOWER),
        re.compile(r"^\s*Total time: ([\d.]+) \[sec\]", re.MULTILINE),
        loops=1000,
    ),
    "sched pipe": _call(200_000),
    "syscall basic": _call(10_000_000),
    "syscall getpgid": _call(10_000_000),
    "syscall fork": _call(5_000),
    "syscall execve": _call(5_000),
    "mem memcpy": _copying(),
    "mem memset": _copying(),
    "futex hash": Suite("-t {threads} -r {seconds}", _PER_THREAD, _AVERAGED, seconds=5),
    "futex lock-pi": Suite("-t {threads} -r {seconds}", _PER_THREAD, _AVERAGED, seconds=5),
    "futex wake": _waking(r"Wokeup \d+ of \d+ threads"),
    "futex wake-parallel": _waking(r"Avg per-thread latency \(waking \d+/\d+ threads\)"),
    "futex requeue": _waking(r"Requeued \d+ of \d+ threads"),
    "epoll wait": Suite("-t {threads} -r {seconds}", _PER_THREAD, _AVERAGED, seconds=5),
    "epoll ctl": Suite(
        "-t {threads} -r {seconds}",
        Metric("add_ops_per_thread", "ops", Better.HIGHER),
        re.compile(r"^Averaged (\S+) ADD operations", re.MULTILINE),
        seconds=5,
    ),
}
_SIZE = re.compile(r"\d{1,6}(?:B|KB|MB|GB)")


class PerfSettings(CompiledSettings, frozen=True):
    """A suite with the settings it has, and the path of a perf that is not in ``PATH``."""

    suite: str = "sched messaging"
    loops: Operations | None = None
    seconds: Seconds | None = None
    size: str = ""
    program: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.suite not in SUITES:
            raise ValueError(f"suite = {self.suite!r}: give one of {', '.join(SUITES)}{nearest(self.suite, SUITES)}")
        if self.size and not _SIZE.fullmatch(self.size):
            raise ValueError(f"size = {self.size!r}: give a size such as 64KB or 1MB")
        for name in ("loops", "seconds", "size"):
            if getattr(self, name) and f"{{{name}}}" not in SUITES[self.suite].words:
                raise ValueError(f"the suite {self.suite} has no setting {name}")


class PerfBench(NamedBenchmark[PerfSettings]):
    """One of the benchmarks that perf has."""

    name = "perf-bench"
    kind = PerfSettings

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """The one number of the suite."""
        _, suite = self._suite(settings)
        return (suite.metric,)

    def obstacle(self, settings: Settings) -> str | None:
        """A perf that is not installed, or a compiler that is not there."""
        given, suite = self._suite(settings)
        missing = given.compiler_obstacle() if suite.copied else None
        return missing or program_obstacle(given.program, "perf", "linux-perf")

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """The suite with so many threads, groups of ``sched messaging``, or copies where it has but one."""
        given, suite = self._suite(settings)
        style = "simple" if suite.number is _PLAIN else "default"
        seconds = given.seconds or suite.seconds or 1
        words = suite.words.format(
            threads=threads, loops=given.loops or suite.loops, seconds=seconds, size=given.size or "1MB"
        )
        command = (program(given.program, "perf"), "bench", "-f", style, *given.suite.split(), *words.split())
        if suite.copied:
            command = copies(given, threads, scratch, command)
        return (given.step(command, seconds),)

    def operations(self, settings: Settings, threads: int) -> int | None:
        """Loops of all copies or groups; ``None`` for a suite that works for a number of seconds."""
        given, suite = self._suite(settings)
        return None if "{seconds}" in suite.words else threads * (given.loops or suite.loops or 1)

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """The number, of all copies together; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        _, suite = self._suite(settings)
        last = self.ended_well(done)
        text, name = words_of(last), suite.metric.name
        found = [self.number(name, word, text) for word in suite.number.findall(text)]
        expected = copies_tally(self, last).workers if suite.copied else 1
        if len(found) != expected:
            raise self.nonsense(f"it has {len(found)} results where {expected} should be", text)
        return ((name, self.sound(name, suite.combine(found), text)),)

    def _suite(self, settings: Settings) -> tuple[PerfSettings, Suite]:
        given = self.given(settings)
        return given, SUITES[given.suite]
