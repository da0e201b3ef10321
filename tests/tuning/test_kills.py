# SPDX-License-Identifier: GPL-2.0-or-later
"""A run whose process is stopped at any moment leaves no process and goes on as if nothing had happened.

``python tests/tuning/killing.py`` kills it 20 times.
"""

from __future__ import annotations

import signal
from pathlib import Path
from random import Random

import pytest
from tuning.jobs import wait_until
from tuning.killing import kill_at_random, left_over, started
from tuning.project import SHORT, project, tuned


@pytest.mark.study
@pytest.mark.parametrize(("mode", "kills"), [("reread", 4), ("simulate", 2)])
def test_nothing_is_lost_nor_counted_twice(tmp_path: Path, mode: str, kills: int) -> None:
    random = Random(1)  # noqa: S311 - repeatable moments, no secret
    assert kill_at_random(project(tmp_path / "project"), kills, random, mode).wrong == []


# An interrupt of ``bench`` is also in tests/prove.
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, *(pytest.param(one, marks=pytest.mark.study) for one in (signal.SIGINT, signal.SIGTERM))]
)
def test_a_run_that_is_stopped_leaves_no_process_and_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    folder = project(tmp_path / "project")
    run = folder / "run"
    process = started(run, folder)
    wait_until((run / "workers" / "0" / "lock").exists)
    process.send_signal(number)
    process.communicate(timeout=300)
    assert process.returncode != 0
    assert left_over(run) == []
    assert tuned(run, folder, SHORT).finished
