# SPDX-License-Identifier: GPL-2.0-or-later
"""What the included programs have in common: how much they are to do, and the lines in which they tell what they did.

Source: ``sources/crew.c``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from linesmith.analyzer.model import Better, Done, Metric
from linesmith.plugins.benchmarks import programs
from linesmith.plugins.benchmarks.outcome import Values, nonsense, number, sound, words_of
from linesmith.plugins.benchmarks.settings import Given

SETTINGS = ("operations", "seconds", *programs.SETTINGS)
_MOST_OPERATIONS = 10**12
_MOST_SECONDS = 3600.0
_LINE = re.compile(r"(benchmark|workers|operations|seconds|cpu-seconds|per-second) (\S+)")
_NUMBERS = ("workers", "operations", "seconds", "cpu-seconds", "per-second")
# Printed numbers are rounded, so those that belong together agree only nearly.
_AGREEMENT = 0.01


@dataclass(frozen=True, slots=True)
class Amount:
    """How much each worker does: ``operations``, or what it can in ``seconds`` where that is not 0.0."""

    operations: int
    seconds: float

    @property
    def counted(self) -> bool:
        """Whether each run does the same work, so that its wall time means something."""
        return self.seconds == 0.0

    def of_all(self, workers: int) -> int | None:
        """The operations of so many workers together, where they are counted."""
        return workers * self.operations if self.counted else None

    @property
    def words(self) -> tuple[str, ...]:
        """The options that say so."""
        if self.counted:
            return ("--operations", str(self.operations))
        return ("--seconds", f"{self.seconds:g}")


@dataclass(frozen=True, slots=True)
class Tally:
    """What a crew did in ``seconds``, from its first beginning to its last end; ``cpu`` seconds are of all together."""

    workers: int
    operations: float
    seconds: float
    cpu: float


def amount(given: Given, operations: int) -> Amount:
    """How much to do; ``operations`` is the benchmark's default. Raises ``BenchmarkUnknown``."""
    if {"operations", "seconds"} <= set(given.settings):
        raise given.refuse("seconds", "either operations or seconds, not both")
    return Amount(
        given.whole("operations", operations, 1, _MOST_OPERATIONS), given.seconds("seconds", 0.0, _MOST_SECONDS)
    )


def tally(benchmark: str, program: str, text: str) -> Tally:
    """What the program of that name printed; raises ``BenchmarkNonsense`` when the text is not what it prints."""
    found = {match[1]: match[2] for match in map(_LINE.fullmatch, text.splitlines()) if match}
    if found.get("benchmark") != program:
        raise nonsense(benchmark, f"it has no line 'benchmark {program}'", text)
    values = {name: _value(benchmark, name, found, text) for name in _NUMBERS}
    rate = sound(benchmark, "the rate", values["operations"] / values["seconds"], text)
    if abs(values["per-second"] / rate - 1.0) > _AGREEMENT:
        raise nonsense(benchmark, "operations, seconds and rate contradict each other", text)
    return Tally(int(values["workers"]), values["operations"], values["seconds"], values["cpu-seconds"])


def rates(benchmark: str, plural: str, done: Done) -> Values:
    """Operations for each second of wall time, and for each second of CPU time, of all workers together."""
    told = tally(benchmark, benchmark, words_of(done))
    return (
        (f"{plural}_per_sec", told.operations / told.seconds),
        (f"{plural}_per_cpu_sec", sound(benchmark, "the rate", told.operations / told.cpu, done.output)),
    )


def rate_metrics(plural: str) -> tuple[Metric, ...]:
    """What ``rates`` gives."""
    return (
        Metric(f"{plural}_per_sec", f"{plural}/s", Better.HIGHER),
        Metric(f"{plural}_per_cpu_sec", f"{plural}/CPU-s", Better.HIGHER),
    )


def _value(benchmark: str, name: str, found: dict[str, str], text: str) -> float:
    if name not in found:
        raise nonsense(benchmark, f"it has no line '{name}'", text)
    return number(benchmark, name, found[name], text)
