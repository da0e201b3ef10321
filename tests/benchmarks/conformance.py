# SPDX-License-Identifier: GPL-2.0-or-later
"""What every benchmark promises, as checks that take one and an output that it understands."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import strategies as st

from linesmith.analyzer.errors import BenchmarkFailed, BenchmarkNonsense, BenchmarkUnknown
from linesmith.analyzer.model import Done, Setting, Step
from linesmith.plugins.api import Benchmark

Values = tuple[tuple[str, float], ...]
ONE_STEP = Step(("program", "word"))
# What gets into outputs: other programs' words, half lines, numbers that are none, things that terminals obey.
PIECES = (
    "nan",
    "inf",
    "-1",
    "0",
    "1e999",
    "9" * 400,
    "\n",
    "\r",
    "|",
    ":",
    "\x1b[31m",
    "\0",
    "٣",
    "\ufffd",
    "average:",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A benchmark's settings that make sense, and an output of its command with the values that it tells."""

    benchmark: str
    settings: dict[str, Setting]
    output: str
    values: dict[str, float]
    errors: str = ""

    @property
    def done(self) -> Done:
        """The command when it has ended well."""
        return Done(ONE_STEP, 0, self.output, self.errors, 2.0)


def check_metrics(benchmark: Benchmark, case: Case) -> None:
    """The same metrics each time, none twice, and exactly these are parsed."""
    metrics = benchmark.metrics(case.settings)
    names = [metric.name for metric in metrics]
    assert metrics == benchmark.metrics(case.settings)
    assert len(set(names)) == len(names) > 0
    assert [name for name, _ in benchmark.parse(case.settings, [case.done])] == names


def check_values(benchmark: Benchmark, case: Case) -> None:
    """The values that the output tells, each time, whatever a silent step has said before."""
    values = benchmark.parse(case.settings, [case.done])
    before = Done(replace(ONE_STEP, silent=True), 0, "7 of 9\n" + case.output[:20])
    assert dict(values) == pytest.approx(case.values)
    assert benchmark.parse(case.settings, [before, case.done]) == values


def check_operations(benchmark: Benchmark, case: Case) -> None:
    """As many for the same settings each time, not fewer for more threads; none where the time is set."""
    one, three = (benchmark.operations(case.settings, threads) for threads in (1, 3))
    assert (one is None) == (three is None)
    assert one is None or 1 <= one <= (three or 0)


def check_steps(benchmark: Benchmark, case: Case, scratch: Path) -> None:
    """The same steps for the same settings, with the number of threads among their words; 0 threads are none."""
    steps = benchmark.steps(case.settings, 3, scratch)
    assert steps == benchmark.steps(case.settings, 3, scratch)
    assert "3" in steps[-1].command
    assert "5" in benchmark.steps(case.settings, 5, scratch)[-1].command
    assert not steps[-1].silent
    assert all(step.seconds > 0 for step in steps)
    with pytest.raises(BenchmarkUnknown, match=r"cannot run with 0 threads; give 1 to"):
        benchmark.steps(case.settings, 0, scratch)


def check_unknown_settings(benchmark: Benchmark, case: Case) -> None:
    """A setting that there is not is refused wherever settings go, and the nearest one is named."""
    settings: dict[str, Setting] = {**case.settings, "limti": 3}
    for use in (benchmark.metrics, benchmark.obstacle, lambda given: benchmark.parse(given, [case.done])):
        with pytest.raises(BenchmarkUnknown, match=r"has no setting 'limti' \(did you mean limit\?\)"):
            use(settings)


def check_failure(benchmark: Benchmark, case: Case) -> None:
    """A command that ends with an error is a failure with its last words, whatever it had printed before."""
    failed = replace(case.done, status=3, errors="first\nlost \x1b[31mits way\n")
    with pytest.raises(
        BenchmarkFailed, match=r"program word ended with status 3; its last lines: .*lost  \[31mits way"
    ):
        benchmark.parse(case.settings, [failed])


def check_silence(benchmark: Benchmark, case: Case) -> None:
    """Nothing at all is nonsense."""
    with pytest.raises(BenchmarkNonsense, match="it printed nothing"):
        benchmark.parse(case.settings, [replace(case.done, output="", errors="", seconds=0.0)])


def garbled(case: Case) -> st.SearchStrategy[Done]:
    """The case's output with a piece cut out, and something else in its place."""

    def spoilt(start: int, length: int, put: str, status: int) -> Done:
        text = case.output or case.errors
        text = text[:start] + put + text[start + length :]
        return replace(case.done, output=text, errors="", status=status)

    size = len(case.output or case.errors)
    put = st.one_of(st.just(""), st.sampled_from(PIECES), st.text(max_size=8))
    return st.builds(spoilt, st.integers(0, size), st.integers(0, size), put, st.sampled_from((0, 0, 0, 1)))


def check_garbled(benchmark: Benchmark, case: Case, done: Done) -> None:
    """Either sound values of all metrics, or one of the two errors, on one line and harmless."""
    try:
        values = benchmark.parse(case.settings, [done])
    except (BenchmarkFailed, BenchmarkNonsense) as error:
        words = str(error)
    else:
        check_sound(benchmark, case, values)
        return
    assert words.isprintable()
    assert len(words) < 2000


def check_sound(benchmark: Benchmark, case: Case, values: Values) -> None:
    """All metrics, each with a number above 0."""
    assert [name for name, _ in values] == [metric.name for metric in benchmark.metrics(case.settings)]
    assert all(math.isfinite(value) and value > 0 for _, value in values)
