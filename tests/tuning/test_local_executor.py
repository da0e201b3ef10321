# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers of this machine: real processes, killed where that is the question."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from tuning.jobs import die, die_once, double, leave_children, living_in, refuse, span, unsendable, wait_until

from linesmith.analyzer.base.errors import ExecutorFailed, WorkerLost
from linesmith.plugins.api import Pool
from linesmith.plugins.registry import executor

# Two shells and two sleeping programs.
_FAMILY = 4
_OWNER = """
import sys, time
from functools import partial
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from linesmith.plugins.registry import executor
from tuning.jobs import leave_children
with executor("local").open({"workers": 1}, Path(sys.argv[1])) as pool:
    pool.submit(leave_children, "build").result()
"""


def opened(workers: int, folder: Path) -> AbstractContextManager[Pool]:
    return executor("local").open({"workers": workers}, folder)


def test_answers_and_errors_come_back_from_warm_folders(tmp_path: Path) -> None:
    with opened(2, tmp_path) as pool:
        assert pool.slots == 2
        assert [pool.submit(partial(double, number), "build").result() for number in range(5)] == [0, 2, 4, 6, 8]
        with pytest.raises(ValueError, match=r"not in [01]"):
            pool.submit(refuse, "build").result()
        with pytest.raises(ExecutorFailed, match="answer cannot be sent"):
            pool.submit(unsendable, "build").result()
        with pytest.raises(ExecutorFailed, match="cannot be sent to a worker"):
            pool.submit(lambda warm: warm, "build").result()
        assert pool.submit(partial(double, 4), "build").result() == 8


def test_the_task_of_a_killed_worker_runs_again_unless_it_kills_every_worker(tmp_path: Path) -> None:
    with opened(1, tmp_path) as pool:
        assert pool.submit(partial(die_once, tmp_path / "mark"), "build").result() == "again"
        with pytest.raises(WorkerLost, match="3 workers were lost"):
            pool.submit(die, "build").result()
        assert pool.submit(partial(double, 4), "build").result() == 8


def test_nothing_else_runs_while_one_benchmarks(tmp_path: Path) -> None:
    with opened(3, tmp_path) as pool:
        needs = ("build", "build", "bench", "build", "bench", "bench")
        futures = [(kind, pool.submit(partial(span, 0.1), kind)) for kind in needs]
        spans = [(kind, *future.result()) for kind, future in futures]
    for number, (kind, begin, end) in enumerate(spans):
        others = [one for place, one in enumerate(spans) if place != number]
        if kind == "bench":
            assert all(other_end <= begin or other_begin >= end for _, other_begin, other_end in others)


def test_the_end_kills_what_tasks_began_and_their_children(tmp_path: Path) -> None:
    with opened(1, tmp_path) as pool:
        running = pool.submit(leave_children, "build")
        waiting = pool.submit(partial(double, 4), "build")
        wait_until(lambda: living_in(tmp_path / "0") == _FAMILY)
    assert living_in(tmp_path / "0") == 0
    assert isinstance(running.exception(), ExecutorFailed)
    assert waiting.cancelled()


def test_an_owner_that_is_killed_leaves_nobody_behind(tmp_path: Path) -> None:
    tests = Path(__file__).resolve().parents[1]
    owner = subprocess.Popen((sys.executable, "-c", _OWNER, tmp_path, tests))
    wait_until(lambda: living_in(tmp_path / "0") == _FAMILY)
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    with opened(1, tmp_path) as pool:
        # The warm folder is lent again only when the last of the old worker's processes is dead.
        assert pool.submit(partial(double, 4), "build").result() == 8
        assert living_in(tmp_path / "0") == 0


def test_a_number_of_workers_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExecutorFailed, match="is not a number from 1 to 256"), opened(0, tmp_path):
        pass
