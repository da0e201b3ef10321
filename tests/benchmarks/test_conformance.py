# SPDX-License-Identifier: GPL-2.0-or-later
"""Every benchmark keeps what the protocol promises."""

from __future__ import annotations

import math
import os
import re
import shutil
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from benchmarks.cases import CASES, ONE_STEP, Case, crew, measured
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkNonsense, BenchmarkUnknown
from linesmith.analyzer.model import Done, Setting, Step
from linesmith.plugins.api import Benchmark
from linesmith.plugins.registry import benchmark
from linesmith.tuner.run.plan_file import plan_in

# What gets into outputs: other programs' words, half lines, numbers that are none, things that terminals obey.
PIECES = ("nan", "inf", "-1", "0", "1e999", "9" * 400, *"\n\r|:\0٣\ufffd", "\x1b[31m", "average:")


@pytest.fixture(params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def tested(case: Case) -> Benchmark:
    """The benchmark of the case, as a user's plan finds it."""
    return benchmark(case.benchmark)


def test_every_installed_benchmark_has_a_case() -> None:
    assert {case.benchmark for case in CASES.values()} == set(entry_points(group="linesmith.benchmarks").names)


def test_metrics_and_values_are_those_of_the_output(tested: Benchmark, case: Case) -> None:
    """The same each time, whatever a silent step has said before."""
    assert tested.name == case.benchmark
    metrics, values = tested.metrics(case.settings), tested.parse(case.settings, [case.done])
    names = [metric.name for metric in metrics]
    assert metrics == tested.metrics(case.settings)
    assert len(set(names)) == len(names) > 0
    assert [name for name, _ in values] == names
    assert dict(values) == pytest.approx(case.values)
    before = Done(replace(ONE_STEP, silent=True), 0, "7 of 9\n" + case.output[:20])
    assert tested.parse(case.settings, [before, case.done]) == values


def test_steps_and_operations_follow_from_settings_and_threads(tested: Benchmark, case: Case, scratch: Path) -> None:
    steps = tested.steps(case.settings, 3, scratch)
    assert steps == tested.steps(case.settings, 3, scratch)
    assert "3" in steps[-1].command
    assert "5" in tested.steps(case.settings, 5, scratch)[-1].command
    assert not steps[-1].silent
    assert all(step.seconds > 0 for step in steps)
    # Not fewer operations for more threads; none where the time is set.
    one, three = (tested.operations(case.settings, threads) for threads in (1, 3))
    assert (one is None) == (three is None)
    assert one is None or 1 <= one <= (three or 0)


def test_unknown_settings_are_refused(tested: Benchmark, case: Case) -> None:
    given: dict[str, Setting] = {**case.settings, "limti": 3}
    for use in (tested.metrics, tested.obstacle):
        with pytest.raises(BenchmarkUnknown, match=r"has no setting 'limti' \(did you mean limit\?\)"):
            use(given)


# Settings of each that make no sense.
REFUSED: dict[str, list[tuple[dict[str, Setting], str]]] = {
    "command": [
        ({}, "the benchmark command: it needs the setting `run`"),
        ({"run": "  "}, "'  ' is not a command line; give a program and its words"),
        ({"run": "a 'b"}, "No closing quotation"),
        ({"run": "a", "pattern": "("}, "is not a Python regular expression: missing \\)"),
        ({"run": "a", "pattern": "n=.*"}, r"has no group for the number; put \(\?P<value>...\) around it"),
        ({"run": "a", "pattern": "(a)(b)"}, "has no group for the number"),
        ({"run": "a", "better": "more"}, "cannot take better = 'more': "),
        ({"run": "a", "unit.rate": "s"}, r"there is no pattern\.rate"),
        ({"run": "a", "pattern.a b": "(a)"}, "a metric cannot be called 'a b'"),
        ({"run": "a", "pattern.seconds": "(a)", "wall": True}, "there are two metrics seconds"),
        ({"run": "a", "environment": "NAME"}, "other texts than NAME=VALUE"),
        ({"run": "a", "limit": 0}, "the benchmark command cannot take limit = 0: expected `int` >= 1"),
        ({"run": "a", "cpus": "3-1"}, "cpus = '3-1' are no CPUs; give them as in \"0-3,8\""),
        ({"run": "a", "cpus": "all"}, "are no CPUs"),
        ({"run": "a", "patern": "(a)"}, r"the benchmark command has no setting 'patern' \(did you mean pattern\?\)"),
    ],
    "exec-storm": [
        ({"operations": 5, "seconds": 1}, "give either operations or seconds, not both"),
        ({"operations": 0}, "cannot take operations = 0: expected `int` >= 1"),
        ({"operations": True}, "expected `int | null`, got `bool`"),
        ({"seconds": float("nan")}, "expected `float` > 0"),
        ({"linking": "statik"}, r"one of automatic, static, dynamic \(did you mean static\?\)"),
        ({"files": 65}, "expected `int` <= 64"),
    ],
    "unixbench": [
        ({"directory": "/opt"}, "it needs the setting `test`"),
        ({"test": "shell8"}, "it needs the setting `directory`"),
        ({"directory": "/opt", "test": "shel8"}, r"did you mean shell8\?"),
    ],
    "will-it-scale": [
        ({"directory": "/opt", "testcase": "../sh"}, r"there is no test case '../sh'"),
        ({"directory": "/opt", "testcase": "open1", "mode": "thread"}, r"did you mean threads\?"),
    ],
    "perf-bench": [
        ({"suite": "futex hahs"}, r"did you mean futex hash\?"),
        ({"suite": "futex wake", "loops": 3}, "the suite futex wake has no setting loops"),
        ({"suite": "mem memcpy", "size": "much"}, "give a size such as 64KB or 1MB"),
    ],
    "stress-ng": [
        ({}, "it needs the setting `stressor`"),
        ({"stressor": "--help"}, "there is no stressor '--help'"),
        ({"stressor": "exec", "words": "'"}, "No closing quotation"),
        ({"stressor": "exec", "seconds": 1, "operations": 1}, "give either operations or seconds"),
        ({"stressor": "exec", "seconds": 0.5}, "cannot take seconds = 0.5: expected `int"),
    ],
}


@pytest.mark.parametrize(
    ("name", "settings", "words"), [(name, *row) for name, rows in REFUSED.items() for row in rows]
)
def test_settings_that_make_no_sense_are_refused(name: str, settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkUnknown, match=words):
        benchmark(name).metrics(settings)


def test_a_failed_command_and_silence_are_told(tested: Benchmark, case: Case) -> None:
    failed = replace(case.done, status=3, errors="first\nlost \x1b[31mits way\n")
    why = r"program word ended with status 3; its last lines: .*lost  \[31mits way"
    with pytest.raises(BenchmarkFailed, match=why):
        tested.parse(case.settings, [failed])
    with pytest.raises(BenchmarkNonsense, match="it printed nothing"):
        tested.parse(case.settings, [replace(case.done, output="", errors="", seconds=0.0)])


def garbled(case: Case) -> st.SearchStrategy[Done]:
    """The case's output with a piece cut out, and something else in its place."""

    def spoilt(start: int, length: int, put: str, status: int) -> Done:
        text = case.output or case.errors
        text = text[:start] + put + text[start + length :]
        return replace(case.done, output=text, errors="", status=status)

    size = len(case.output or case.errors)
    put = st.one_of(st.just(""), st.sampled_from(PIECES), st.text(max_size=8))
    return st.builds(spoilt, st.integers(0, size), st.integers(0, size), put, st.sampled_from((0, 0, 0, 1)))


@profile(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_garbled_output_gives_sound_values_or_a_named_error(tested: Benchmark, case: Case, data: st.DataObject) -> None:
    words = "sound"
    try:
        values = tested.parse(case.settings, [data.draw(garbled(case))])
        assert [name for name, _ in values] == [metric.name for metric in tested.metrics(case.settings)]
        assert all(math.isfinite(value) and value > 0 for _, value in values)
    except (BenchmarkFailed, BenchmarkNonsense) as error:
        words = str(error)
    assert words.isprintable()
    assert len(words) < 2000


# Benchmarks that are installed or built in a folder: perf bench, stress-ng, UnixBench and will-it-scale


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


@has_stress_ng
@pytest.mark.parametrize(
    ("stressor", "amount"), [("exec", {"seconds": 1}), ("fault", {"operations": 500}), ("open", {"operations": 500})]
)
def test_a_stressor_runs_here(stressor: str, amount: dict[str, Setting], scratch: Path) -> None:
    values = measured("stress-ng", {"stressor": stressor, **amount}, 2, scratch)
    assert min(values.values()) > 1


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
