# SPDX-License-Identifier: GPL-2.0-or-later
"""perf bench and stress-ng, for real where they are, and what docs/benchmarks.md says of all benchmarks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from benchmarks.cases import CASES
from benchmarks.running import measured

from linesmith.analyzer.base.errors import BenchmarkNonsense, BenchmarkUnknown
from linesmith.analyzer.model import Done, Setting, Step
from linesmith.plugins.registry import benchmark
from linesmith.tuner.run.plan_file import plan_in

PERF, STRESS_NG = benchmark("perf-bench"), benchmark("stress-ng")
has_stress_ng = pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")


QUICK: dict[str, dict[str, Setting]] = {
    "sched pipe": {"loops": 1000},
    "mem memcpy": {"loops": 10, "size": "64KB"},
    "futex hash": {"seconds": 1},
    "epoll wait": {"seconds": 1},
}
OTHERS: dict[str, dict[str, Setting]] = {
    "sched messaging": {"loops": 20},
    "syscall basic": {"loops": 10000},
    "mem memset": {"loops": 10},
    "futex wake": {},
    "futex wake-parallel": {},
    "futex requeue": {},
    "epoll ctl": {"seconds": 1},
}


@pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed")
@pytest.mark.parametrize("suite", [*QUICK, *(pytest.param(one, marks=pytest.mark.study) for one in OTHERS)])
def test_a_suite_runs_here(suite: str, scratch: Path) -> None:
    assert min(measured("perf-bench", {"suite": suite, **(QUICK | OTHERS)[suite]}, 2, scratch).values()) > 0


def test_without_a_suite_it_is_the_scheduler(scratch: Path) -> None:
    words = PERF.steps({}, 2, scratch)[0].command[1:]
    assert words == ("bench", "-f", "default", "sched", "messaging", "-g", "2", "-l", "1000")


def test_a_copy_without_a_result_is_nonsense() -> None:
    text = "  5.0 usecs/op\nbenchmark copies\nworkers 2\noperations 2\nseconds 1\ncpu-seconds 1\nper-second 2\n"
    with pytest.raises(BenchmarkNonsense, match="it has 1 results where 2 should be"):
        PERF.parse({"suite": "sched pipe"}, [Done(Step(("perf",)), 0, text)])


@has_stress_ng
@pytest.mark.parametrize(
    ("stressor", "amount"), [("exec", {"seconds": 1}), ("fault", {"operations": 500}), ("open", {"operations": 500})]
)
def test_a_stressor_runs_here(stressor: str, amount: dict[str, Setting], scratch: Path) -> None:
    values = measured("stress-ng", {"stressor": stressor, **amount}, 2, scratch)
    assert min(values.values()) > 1


@has_stress_ng
def test_other_options_are_passed_on(scratch: Path) -> None:
    settings: dict[str, Setting] = {"stressor": "mmap", "operations": 4, "words": "--mmap-bytes 256K --metrics"}
    assert min(measured("stress-ng", settings, 1, scratch).values()) > 0


def test_a_program_that_is_not_here_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    missing = "stress-ng is not installed; install the package stress-ng, or name it with program = PATH"
    assert STRESS_NG.obstacle({"stressor": "fault"}) == missing
    assert STRESS_NG.obstacle({"stressor": "fault", "program": "/opt/elsewhere/stress-ng"}) is None


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("perf-bench", {"suite": "futex hahs"}, r"did you mean futex hash\?"),
        ("perf-bench", {"suite": "futex wake", "loops": 3}, "the suite futex wake has no setting loops"),
        ("perf-bench", {"suite": "mem memcpy", "size": "much"}, "give a size such as 64KB or 1MB"),
        ("stress-ng", {}, "it needs the setting `stressor`"),
        ("stress-ng", {"stressor": "--help"}, "there is no stressor '--help'"),
        ("stress-ng", {"stressor": "exec", "words": "'"}, "No closing quotation"),
        ("stress-ng", {"stressor": "exec", "seconds": 1, "operations": 1}, "give either operations or seconds"),
        ("stress-ng", {"stressor": "exec", "seconds": 0.5}, "cannot take seconds = 0.5: expected `int"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkUnknown, match=words):
        benchmark(name).metrics(settings)


DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
PROGRAM = '[source]\ntree = "."\ncommand = "make"\nproducts = ["server", "loader"]\n'


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_plan_that_its_benchmark_takes(example: str, tmp_path: Path) -> None:
    plan = plan_in(PROGRAM + example, tmp_path)
    assert plan.benchmarks
    for use in plan.benchmarks:
        assert benchmark(use.benchmark).metrics(dict(use.settings))


@pytest.mark.parametrize("name", sorted(CASES))
def test_metrics_are_in_the_document(name: str) -> None:
    told = benchmark(CASES[name].benchmark).metrics(CASES[name].settings)
    own = {"hits", "rate", "value"}  # which the user names
    missing = [each.name for each in told if f"`{each.name}`" not in DOCUMENT.read_text() and each.name not in own]
    assert missing == []
