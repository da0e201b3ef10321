# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks that are installed or built in a folder: perf bench, stress-ng, UnixBench and will-it-scale."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from benchmarks.cases import CASES
from benchmarks.running import measured

from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkNonsense, BenchmarkUnknown
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
    """All that lies below the folder."""
    return sorted(str(Path(place, name).relative_to(folder)) for place, _, names in os.walk(folder) for name in names)


def test_unixbench_runs_and_nothing_is_written_there(unixbench: Path, scratch: Path) -> None:
    before = contents(unixbench)
    settings: dict[str, Setting] = {"directory": str(unixbench), "test": "shell8"}
    assert measured("unixbench", settings | {"seconds": 1}, 2, scratch)["shell8"] > 60
    assert contents(unixbench) == before


def test_a_folder_with_spaces_is_one_word(tmp_path: Path, scratch: Path) -> None:
    step = benchmark("unixbench").steps({"directory": str(tmp_path / "my bench"), "test": "spawn"}, 1, scratch)[0]
    assert step.command[-2:] == (f"{tmp_path}/my bench/pgms/spawn", "10")


def test_copies_that_did_not_tell_are_missed() -> None:
    text = "benchmark copies\nworkers 2\noperations 2\nseconds 10\ncpu-seconds 1\nper-second 0.2\n"
    done = Done(Step(("copies",)), 0, text, "COUNT|5|60|lpm\n")
    with pytest.raises(BenchmarkNonsense, match="1 of 2 copies reported a count"):
        benchmark("unixbench").parse({"directory": "/opt", "test": "shell8"}, [done])


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


def test_seconds_of_warm_up_are_no_measurement() -> None:
    done = Done(Step(("x",)), 0, "warmup\nmin:1 max:1 total:1\naverage:11\n")
    with pytest.raises(BenchmarkNonsense, match="it has no average of a measurement"):
        benchmark("will-it-scale").parse({"directory": "/opt", "testcase": "open1"}, [done])


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("unixbench", {"directory": "/opt"}, "it needs the setting `test`"),
        ("unixbench", {"test": "shell8"}, "it needs the setting `directory`"),
        ("unixbench", {"directory": "/opt", "test": "shel8"}, r"did you mean shell8\?"),
        ("will-it-scale", {"directory": "/opt", "testcase": "../sh"}, r"there is no test case '../sh'"),
        ("will-it-scale", {"directory": "/opt", "testcase": "open1", "mode": "thread"}, r"did you mean threads\?"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkUnknown, match=words):
        benchmark(name).metrics(settings)


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
def test_settings_of_programs_that_make_no_sense_are_refused(
    name: str, settings: dict[str, Setting], words: str
) -> None:
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
