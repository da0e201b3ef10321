# SPDX-License-Identifier: GPL-2.0-or-later
"""A run whose process is killed with SIGKILL at any moment goes on as if nothing had happened.

Here a few times; ``python tests/tuning/killing.py`` does it 20 times.
"""

from __future__ import annotations

import signal
from pathlib import Path
from random import Random

import pytest
from tuning.jobs import wait_until
from tuning.killing import kill_at_random, left_over, started
from tuning.project import SHORT, project, tuned


@pytest.mark.parametrize(("mode", "kills"), [("reread", 4), ("simulate", 2)])
def test_nothing_is_lost_nor_counted_twice(tmp_path: Path, mode: str, kills: int) -> None:
    random = Random(1)  # noqa: S311 - repeatable moments, no secret
    assert kill_at_random(project(tmp_path / "project"), kills, random, mode).wrong == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_process_and_a_run_to_go_on_with(tmp_path: Path, number: signal.Signals) -> None:
    folder = project(tmp_path / "project")
    run = folder / "run"
    process = started(run, folder)
    wait_until((run / "workers" / "0" / "lock").exists)
    process.send_signal(number)
    process.communicate(timeout=300)
    assert process.returncode != 0
    assert left_over(run) == []
    assert tuned(run, folder, SHORT).finished
