# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks that are installed or built in a folder: perf bench, stress-ng, UnixBench and will-it-scale."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from benchmarks.cases import CASES, crew
from benchmarks.running import measured

from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkNonsense
from linesmith.analyzer.model import Done, Setting, Step
from linesmith.plugins.registry import benchmark
from linesmith.tuner.run.plan_file import plan_in

# Counts how often its command ends well within the time.
SOURCES = Path(__file__).with_name("sources")
LOOPER = (SOURCES / "looper.sh").read_text()
SHELLS = (SOURCES / "shells.sh").read_text()
SORTS = "sort sort.src >sorted.$$ && rm sorted.$$\n"
TASKS = (SOURCES / "tasks.sh").read_text()


def write(folder: Path, **texts: str) -> Path:
    """The folder with executable files of these contents; ``__`` in a name is a slash, ``_sh`` a suffix."""
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_sh", ".sh").replace("_src", ".src")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return folder


@pytest.fixture
def unixbench(tmp_path: Path) -> Path:
    """A folder laid out as that of UnixBench after ``make``."""
    programs = {"pgms__looper": LOOPER, "pgms__multi_sh": SHELLS, "pgms__tst_sh": SORTS, "testdir__sort_src": "b\na\n"}
    return write(tmp_path, **programs)


def contents(folder: Path) -> list[str]:
    return sorted(str(Path(place, name).relative_to(folder)) for place, _, names in os.walk(folder) for name in names)


def test_unixbench_runs_and_nothing_is_written_there(unixbench: Path, scratch: Path) -> None:
    before = contents(unixbench)
    settings: dict[str, Setting] = {"directory": str(unixbench), "test": "shell8"}
    assert measured("unixbench", settings | {"seconds": 1}, 2, scratch)["shell8"] > 60
    assert contents(unixbench) == before


def test_a_folder_with_spaces_is_one_word(tmp_path: Path, scratch: Path) -> None:
    step = benchmark("unixbench").steps({"directory": str(tmp_path / "my bench"), "test": "spawn"}, 1, scratch)[0]
    assert step.command[-2:] == (f"{tmp_path}/my bench/pgms/spawn", "10")


COPIES = crew("copies", 2, 2, 10, 1)


@pytest.mark.parametrize(
    ("name", "settings", "output", "errors", "why"),
    [
        # Not all copies have told their count; one has no result; seconds of warm-up are no measurement.
        ("unixbench", {"directory": "/opt", "test": "shell8"}, COPIES, "COUNT|5|60|lpm\n", "1 of 2 copies reported a"),
        ("perf-bench", {"suite": "sched pipe"}, f"  5.0 usecs/op\n{COPIES}", "", "it has 1 results where 2 should be"),
        (
            "will-it-scale",
            {"directory": "/opt", "testcase": "open1"},
            "warmup\naverage:11\n",
            "",
            "it has no average of",
        ),
    ],
)
def test_what_was_not_measured_is_missed(
    name: str, settings: dict[str, Setting], output: str, errors: str, why: str
) -> None:
    with pytest.raises(BenchmarkNonsense, match=why):
        benchmark(name).parse(settings, [Done(Step(("program",)), 0, output, errors)])


def test_a_program_of_unixbench_that_fails_is_told(unixbench: Path, scratch: Path) -> None:
    (unixbench / "pgms" / "tst.sh").unlink()
    write(unixbench, pgms__multi_sh="#!/bin/sh\nexit 3\n", pgms__tst_sh="")
    settings: dict[str, Setting] = {"directory": str(unixbench), "test": "shell1", "seconds": 1}
    with pytest.raises(BenchmarkFailed, match="looper ended with status 2"):
        measured("unixbench", settings, 1, scratch)


def test_what_is_not_built_is_named(tmp_path: Path) -> None:
    settings: dict[str, Setting] = {"directory": str(tmp_path), "test": "context1"}
    assert (
        benchmark("unixbench").obstacle(settings)
        == f"{tmp_path}/pgms/context1 is not there; build unixbench in its folder first"
    )


def test_a_test_case_of_will_it_scale_runs(tmp_path: Path, scratch: Path) -> None:
    write(tmp_path, page_fault1_threads=TASKS)
    settings: dict[str, Setting] = {"directory": str(tmp_path), "testcase": "page_fault1", "mode": "threads"}
    assert measured("will-it-scale", settings, 2, scratch) == {"ops_per_sec": 11, "slowest_ops_per_sec": 5}


# perf bench and stress-ng, for real where they are, and what docs/benchmarks.md says of all benchmarks

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
