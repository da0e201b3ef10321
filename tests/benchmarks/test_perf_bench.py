# SPDX-License-Identifier: GPL-2.0-or-later
"""perf bench, for real where there is a perf."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from benchmarks.running import measured

from linesmith.analyzer.errors import BenchmarkNonsense, BenchmarkUnknown
from linesmith.analyzer.model import Done, Setting, Step
from linesmith.plugins.benchmarks.perf_bench import PerfBench

PERF = PerfBench()


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
@pytest.mark.parametrize(
    ("suite", "amount"),
    [
        ("sched messaging", {"loops": 20}),
        ("sched pipe", {"loops": 1000}),
        ("syscall basic", {"loops": 10000}),
        ("mem memcpy", {"loops": 10, "size": "64KB"}),
        ("mem memset", {"loops": 10}),
        ("futex hash", {"seconds": 1}),
        ("futex wake", {}),
        ("futex wake-parallel", {}),
        ("futex requeue", {}),
        ("epoll wait", {"seconds": 1}),
        ("epoll ctl", {"seconds": 1}),
    ],
)
def test_a_suite_runs_here(suite: str, amount: dict[str, Setting], scratch: Path) -> None:
    assert min(measured("perf-bench", {"suite": suite, **amount}, 2, scratch).values()) > 0


def test_without_a_suite_it_is_the_scheduler(scratch: Path) -> None:
    words = PERF.steps({}, 2, scratch)[0].command[1:]
    assert words == ("bench", "-f", "default", "sched", "messaging", "-g", "2", "-l", "1000")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"suite": "futex hahs"}, r"did you mean futex hash\?"),
        ({"suite": "futex wake", "loops": 3}, "loops = 3 is no setting .* give none, for this suite has no such thing"),
        ({"suite": "mem memcpy", "size": "much"}, "give a size such as 64KB or 1MB"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkUnknown, match=words):
        PERF.metrics(settings)


def test_a_copy_without_a_result_is_nonsense() -> None:
    text = "  5.0 usecs/op\nbenchmark copies\nworkers 2\noperations 2\nseconds 1\ncpu-seconds 1\nper-second 2\n"
    with pytest.raises(BenchmarkNonsense, match="it has 1 results where 2 should be"):
        PERF.parse({"suite": "sched pipe"}, [Done(Step(("perf",)), 0, text)])
