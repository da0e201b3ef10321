# SPDX-License-Identifier: GPL-2.0-or-later
"""stress-ng, for real."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from benchmarks.running import measured

from linesmith.analyzer.errors import BenchmarkUnknown
from linesmith.analyzer.model import Setting
from linesmith.plugins.benchmarks.stress_ng import StressNg

STRESS_NG = StressNg()


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
@pytest.mark.parametrize(
    ("stressor", "amount"), [("exec", {"seconds": 1}), ("fault", {"operations": 500}), ("open", {"operations": 500})]
)
def test_a_stressor_runs_here(stressor: str, amount: dict[str, Setting], scratch: Path) -> None:
    values = measured("stress-ng", {"stressor": stressor, **amount}, 2, scratch)
    assert min(values.values()) > 1


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
def test_other_options_are_passed_on(scratch: Path) -> None:
    settings: dict[str, Setting] = {"stressor": "mmap", "operations": 4, "words": "--mmap-bytes 256K --metrics"}
    assert min(measured("stress-ng", settings, 1, scratch).values()) > 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, 'needs a stressor: give stressor = "exec"'),
        ({"stressor": "--help"}, "cannot run the stressor '--help'"),
        ({"stressor": "exec", "words": "'"}, "give words whose quotes are closed"),
        ({"stressor": "exec", "seconds": 1, "operations": 1}, "give either operations or seconds, not both"),
        ({"stressor": "exec", "seconds": 0.5}, "seconds = 0.5 is no setting .* give a whole number from 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkUnknown, match=words):
        STRESS_NG.metrics(settings)


def test_a_program_that_is_not_here_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    missing = "stress-ng is not installed; install the package stress-ng, or name it with program = PATH"
    assert STRESS_NG.obstacle({"stressor": "fault"}) == missing
    assert STRESS_NG.obstacle({"stressor": "fault", "program": "/opt/elsewhere/stress-ng"}) is None
