# SPDX-License-Identifier: GPL-2.0-or-later
"""Every benchmark keeps what the protocol promises."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from benchmarks import conformance
from benchmarks.cases import CASES
from benchmarks.conformance import Case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linesmith.plugins.api import Benchmark
from linesmith.plugins.registry import benchmark

SOME = 40


@pytest.fixture(params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    """Each case in turn."""
    return CASES[request.param]


@pytest.fixture
def tested(case: Case) -> Benchmark:
    """The benchmark of the case, as a user's plan finds it."""
    return benchmark(case.benchmark)


def test_every_installed_benchmark_has_a_case() -> None:
    assert {case.benchmark for case in CASES.values()} == set(entry_points(group="linesmith.benchmarks").names)


def test_the_name_is_that_of_the_entry_point(tested: Benchmark, case: Case) -> None:
    assert tested.name == case.benchmark


def test_metrics_are_named_and_parsed(tested: Benchmark, case: Case) -> None:
    conformance.check_metrics(tested, case)


def test_values_are_those_of_the_output(tested: Benchmark, case: Case) -> None:
    conformance.check_values(tested, case)


def test_steps_follow_from_settings_and_threads(tested: Benchmark, case: Case, scratch: Path) -> None:
    conformance.check_steps(tested, case, scratch)


def test_operations_are_counted_or_the_time_is_set(tested: Benchmark, case: Case) -> None:
    conformance.check_operations(tested, case)


def test_unknown_settings_are_refused(tested: Benchmark, case: Case) -> None:
    conformance.check_unknown_settings(tested, case)


def test_a_failed_command_is_told_with_its_last_words(tested: Benchmark, case: Case) -> None:
    conformance.check_failure(tested, case)


def test_silence_is_nonsense(tested: Benchmark, case: Case) -> None:
    conformance.check_silence(tested, case)


@settings(max_examples=SOME, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_garbled_output_gives_values_or_a_named_error(tested: Benchmark, case: Case, data: st.DataObject) -> None:
    conformance.check_garbled(tested, case, data.draw(conformance.garbled(case)))
