# SPDX-License-Identifier: GPL-2.0-or-later
"""Any command that prints a number, as a user describes it."""

from __future__ import annotations

import re
import shlex
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base.errors import BenchmarkUnknown
from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.settings import (
    BenchmarkOptions,
    Values,
    checked,
    end_of,
    ended_well,
    matches,
    nonsense,
    number,
    options_of,
    shown,
    sound,
    thread_count,
    words_of,
)

SECONDS = "seconds"
VALUE = "value"
_KNOWN = ("run", "prepare", "environment", "pattern", "unit", "better", "take", "wall")
_FAMILIES = ("pattern", "unit", "better", "take")
_BETTER = (Better.LOWER.value, Better.HIGHER.value)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,63}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# Without a pattern, the number is expected near the end: a word of it, with or without a unit behind.
_TAIL_CHARACTERS = 1 << 16
_WORD = re.compile(r"[\w.,+%-]+")
_WORD_CHARACTERS = 40
_WITH_UNIT = re.compile(r"([-+]?(?:[\d,]+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[^\W\d_]{0,8}%?[.,]?", re.ASCII)
_NO_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)

_TAKES: dict[str, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "mean": statistics.fmean,
    "sum": lambda values: sum(values),
    "least": min,
    "most": max,
}


@dataclass(frozen=True, slots=True)
class OutputNumber:
    """One number of the output: ``pattern`` is empty for the last one; ``take`` says which of several."""

    metric: Metric
    pattern: str
    take: str


def wanted_of(options: BenchmarkOptions) -> tuple[OutputNumber, ...]:
    """The numbers that the settings ask for, in their order; raises ``BenchmarkUnknown``."""
    several = options.family("pattern")
    if several and "pattern" in options.settings:
        raise options.refuse("pattern", "either one pattern or several named ones")
    for name in ("unit", "better", "take"):
        for key, _ in options.family(name):
            if key not in dict(several):
                raise BenchmarkUnknown(f"the benchmark {options.benchmark} has {name}.{key} but no pattern.{key}")
    if several:
        return tuple(_wanted(options, name, pattern) for name, pattern in several)
    pattern = options.text("pattern")
    return () if options.switch("wall") and not pattern else (_wanted(options, VALUE, pattern),)


def _wanted(options: BenchmarkOptions, name: str, pattern: str) -> OutputNumber:
    if not _NAME.fullmatch(name):
        raise BenchmarkUnknown(
            f"the benchmark {options.benchmark} has an invalid metric name {shown(name)}; use letters and digits"
        )

    def own(setting: str) -> str:
        return f"{setting}.{name}" if f"{setting}.{name}" in options.settings else setting

    better = Better(options.choice(own("better"), _BETTER))
    metric = Metric(name, options.text(own("unit")), better)
    take = options.choice(own("take"), tuple(_TAKES))
    return OutputNumber(metric, checked(options.benchmark, pattern) if pattern else "", take)


def numbers_in(text: str) -> list[str]:
    """The words of a text that are numbers, without the unit that may follow; what is not finite is one too."""
    found = []
    for word in _WORD.findall(text):
        match = _WITH_UNIT.fullmatch(word) if len(word) <= _WORD_CHARACTERS else None
        if match:
            found.append(match[1].rstrip(","))
        elif _NO_FINITE.fullmatch(word):
            found.append(word)
    return found


class CommandBenchmark:
    """A command of the user; its numbers are what patterns find in its output, the last one there, or its wall time."""

    name = "command"

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """The numbers as named in the settings, then ``seconds`` where it is asked for."""
        options = self._options(settings)
        self._lines(options)
        self._environment(options)
        wall = (Metric(SECONDS, "s", Better.LOWER),) if options.switch("wall") else ()
        metrics = (*(each.metric for each in wanted_of(options)), *wall)
        if len({metric.name for metric in metrics}) < len(metrics):
            raise BenchmarkUnknown(f"the benchmark {self.name} has two metrics {SECONDS}; rename the pattern's")
        return metrics

    def obstacle(self, settings: Settings) -> str | None:
        """None that can be seen from here: the command may be there only where it runs."""
        self.metrics(settings)
        return None

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:  # noqa: ARG002 - nothing kept
        """The preparations, then the command; ``{threads}`` in a word becomes their number."""
        options = self._options(settings)
        count = str(thread_count(self.name, threads))
        *before, run = ([word.replace("{threads}", count) for word in line] for line in self._lines(options))
        environment = self._environment(options)
        silent = (replace(options.step(line, 0, environment), silent=True) for line in before)
        return (*silent, options.step(run, 0, environment))

    def operations(self, settings: Settings, threads: int) -> int | None:  # noqa: ARG002 - nobody knows more
        """One, the command itself, which is taken to do the same work each time."""
        self._options(settings)
        return 1

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """The numbers found; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        options = self._options(settings)
        last = ended_well(self.name, done)[-1]
        values = [(each.metric.name, self._value(each, last)) for each in wanted_of(options)]
        if options.switch("wall"):
            values.append((SECONDS, sound(self.name, "the wall time", last.seconds, last.output)))
        return tuple(values)

    def _value(self, wanted: OutputNumber, done: Done) -> float:
        name, text = wanted.metric.name, words_of(done)
        if not wanted.pattern:
            # What programs say on standard error is no result, unless they say nothing else.
            words = numbers_in(end_of(done.output, _TAIL_CHARACTERS)) or numbers_in(
                end_of(done.errors, _TAIL_CHARACTERS)
            )
            missing = "it has no number"
        else:
            words = list(matches(self.name, wanted.pattern, text))
            missing = f"nothing in it matches {shown(wanted.pattern)}"
        if not words:
            raise nonsense(self.name, missing, text)
        chosen = words[-1:] if wanted.take == "last" else words
        values = [number(self.name, name, word, text) for word in chosen]
        return sound(self.name, name, _TAKES[wanted.take](values), text)

    def _options(self, settings: Settings) -> BenchmarkOptions:
        return options_of(self.name, settings, _KNOWN, _FAMILIES)

    def _lines(self, options: BenchmarkOptions) -> tuple[list[str], ...]:
        """The words of each command line, the one to measure last."""
        if "run" not in options.settings:
            raise BenchmarkUnknown(f'the benchmark {self.name} needs the command to run: give run = "PROGRAM WORDS..."')
        return (
            *(_split(options, "prepare", line) for line in options.texts("prepare")),
            _split(options, "run", options.text("run")),
        )

    def _environment(self, options: BenchmarkOptions) -> tuple[tuple[str, str], ...]:
        found = [_VARIABLE.fullmatch(each) for each in options.texts("environment")]
        if not all(found):
            raise options.refuse("environment", "texts NAME=VALUE")
        return tuple((match[1], match[2]) for match in found if match)


def _split(options: BenchmarkOptions, setting: str, line: str) -> list[str]:
    """The words of a line, quoted as for a shell; nothing else that a shell does is done."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise options.refuse(setting, f"a command line whose quotes are closed ({error})") from error
    if not words:
        raise options.refuse(setting, "a command line")
    return words
