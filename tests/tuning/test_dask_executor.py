# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers: processes of this machine, and those behind a real scheduler of Dask distributed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from tuning.jobs import (
    die,
    die_once,
    double,
    leave_children,
    living_in,
    refuse,
    span,
    unsendable,
    wait_once,
    wait_until,
)

from linesmith.analyzer.base.errors import ExecutorFailed, WorkerLost
from linesmith.plugins.api import Pool
from linesmith.plugins.registry import executor

pytestmark = pytest.mark.xdist_group("dask")

_TESTS = Path(__file__).resolve().parents[1]
_DASK = (sys.executable, "-m", "distributed.cli.dask_scheduler"), (sys.executable, "-m", "distributed.cli.dask_worker")


@dataclass(slots=True)
class Lab:
    """A scheduler and its workers; ``offers`` are the resources of each worker that is started."""

    folder: Path
    scheduler: subprocess.Popen[bytes]
    address: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *offers: str) -> None:
        """Start one worker for each offer; they are there when the scheduler has heard of all."""
        for offer in offers:
            name = f"machine-{len(self.workers)}"
            words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name, "--resources", offer)
            self.workers.append(_process((*_DASK[1], self.address, *words), self.folder / name))
        for number in range(len(self.workers)):
            _heard(self.folder / f"machine-{number}", r"Registered to: +(tcp\S+)")

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def _process(command: tuple[str, ...], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        environment = {**os.environ, "PYTHONPATH": str(_TESTS)}
        return subprocess.Popen(command, stdout=file, stderr=file, env=environment, cwd=log.parent)


def _heard(log: Path, pattern: str) -> str:
    """Wait until a process has written a line."""
    for _ in range(3000):
        found = re.search(pattern, log.read_text())
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    words = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    scheduler = _process((*_DASK[0], *words), folder / "scheduler")
    lab = Lab(folder, scheduler, _heard(folder / "scheduler", r"Scheduler at: +(tcp\S+)"))
    try:
        lab.start("build=1", "build=1", "bench:fast=1")
        yield lab
    finally:
        lab.end()


def opened(lab: Lab, folder: Path) -> AbstractContextManager[Pool]:
    return executor("dask").open({"scheduler": lab.address, "bench": "fast"}, folder)


def locally(folder: Path, workers: int = 1) -> AbstractContextManager[Pool]:
    return executor("local").open({"workers": workers}, folder)


def test_tasks_go_to_machines_that_may_do_them(lab: Lab, tmp_path: Path) -> None:
    with opened(lab, tmp_path) as pool:
        assert pool.slots == 3
        assert [pool.submit(partial(double, number), "build").result() for number in range(3)] == [0, 2, 4]
        assert pool.submit(partial(double, 4), "bench").result() == 8
    assert (tmp_path / "machine-2").is_dir()


@pytest.mark.parametrize("kind", ["dask", "local"])
def test_what_a_function_raises_is_raised_and_the_task_of_a_killed_process_runs_again(
    lab: Lab, tmp_path: Path, kind: str
) -> None:
    """Unless it kills every process that it is given."""
    with opened(lab, tmp_path) if kind == "dask" else locally(tmp_path) as pool:
        assert pool.slots == (3 if kind == "dask" else 1)
        with pytest.raises(ValueError, match=r"not in (machine-)?[0-2]"):
            pool.submit(refuse, "build").result()
        assert pool.submit(partial(die_once, tmp_path / "mark"), "build").result() == "again"
        if kind == "local":
            with pytest.raises(WorkerLost, match="3 workers were lost"):
                pool.submit(die, "build").result()
        assert pool.submit(partial(double, 4), "build").result() == 8


@pytest.mark.parametrize("kind", ["dask", "local"])
def test_one_thing_is_benchmarked_at_a_time(lab: Lab, tmp_path: Path, kind: str) -> None:
    """On a machine; where workers share this one, nothing else runs meanwhile either."""
    with opened(lab, tmp_path) if kind == "dask" else locally(tmp_path, 3) as pool:
        needs = ("bench", "bench") if kind == "dask" else ("build", "build", "bench", "build", "bench", "bench")
        futures = [(need, pool.submit(partial(span, 0.1), need)) for need in needs]
        spans = [(need, *future.result()) for need, future in futures]
    for number, (need, begin, end) in enumerate(spans):
        others = [one for place, one in enumerate(spans) if place != number]
        if need == "bench":
            assert all(other_end <= begin or other_begin >= end for _, other_begin, other_end in others)


@pytest.mark.parametrize("kind", ["dask", "local"])
def test_the_end_kills_what_tasks_began_and_their_children(lab: Lab, tmp_path: Path, kind: str) -> None:
    place = tmp_path / ("machine-2" if kind == "dask" else "0")
    with opened(lab, tmp_path) if kind == "dask" else locally(tmp_path) as pool:
        running = pool.submit(leave_children, "bench")
        waiting = pool.submit(partial(double, 4), "bench")
        wait_until(lambda: living_in(place) == _FAMILY)
    if kind == "local":
        assert (living_in(place), waiting.cancelled()) == (0, True)
    assert isinstance(running.exception(timeout=300), ExecutorFailed)
    wait_until(lambda: living_in(place) == 0)


@pytest.mark.study
def test_the_task_of_a_machine_that_is_killed_runs_on_another(lab: Lab, tmp_path: Path) -> None:
    """The one with the resource ``once`` is killed; another that offers it as well comes later."""
    lab.start("bench:once=1")
    with executor("dask").open({"scheduler": lab.address, "bench": "once"}, tmp_path / "warm") as pool:
        task = pool.submit(partial(wait_once, tmp_path / "mark"), "bench")
        wait_until((tmp_path / "mark").exists)
        lab.workers[-1].send_signal(signal.SIGKILL)
        lab.start("bench:once=1")
        assert task.result(timeout=300) == "again"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"scheduler": "ours", "bench": "slow"}, "offers bench:slow; start one with `dask worker"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "^no scheduler answers at tcp://127.0.0.1:9"),
        ({}, "give --scheduler"),
    ],
)
def test_what_cannot_be_reached_is_told(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], why: str
) -> None:
    monkeypatch.setattr("linesmith.plugins.executors.dask._CONNECT_SECONDS", 2)
    settings = {name: value.replace("ours", lab.address) for name, value in given.items()}
    with pytest.raises(ExecutorFailed, match=why), executor("dask").open(settings, tmp_path):
        pass


# Workers of this machine, killed where that is the question

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


def test_what_cannot_be_sent_is_told(tmp_path: Path) -> None:
    with locally(tmp_path) as pool:
        with pytest.raises(ExecutorFailed, match="answer cannot be sent"):
            pool.submit(unsendable, "build").result()
        with pytest.raises(ExecutorFailed, match="cannot be sent to a worker"):
            pool.submit(lambda warm: warm, "build").result()
        assert [pool.submit(partial(double, number), "build").result() for number in range(3)] == [0, 2, 4]


def test_an_owner_that_is_killed_leaves_nobody_behind(tmp_path: Path) -> None:
    tests = Path(__file__).resolve().parents[1]
    owner = subprocess.Popen((sys.executable, "-c", _OWNER, tmp_path, tests))
    wait_until(lambda: living_in(tmp_path / "0") == _FAMILY)
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    with locally(tmp_path) as pool:
        # The warm folder is lent again only when the last of the old worker's processes is dead.
        assert pool.submit(partial(double, 4), "build").result() == 8
        assert living_in(tmp_path / "0") == 0


def test_a_number_of_workers_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExecutorFailed, match="is not a number from 1 to 256"), locally(tmp_path, 0):
        pass
