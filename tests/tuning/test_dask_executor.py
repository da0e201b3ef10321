# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers behind a real scheduler of Dask distributed, each a process of its own as on machines of a lab."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from tuning.jobs import die_once, double, leave_children, living_in, refuse, span, wait_once, wait_until
from tuning.killing import samples_of, trials_of
from tuning.project import APART, PLAN, TOGETHER, benched, project, silent

from linesmith.analyzer.base.errors import ExecutorFailed
from linesmith.analyzer.model import Variant
from linesmith.plugins.api import Pool
from linesmith.plugins.registry import executor
from linesmith.tuner.run.bench import bench
from linesmith.tuner.run.plan_file import plan_in
from linesmith.tuner.run.run_directory import RunDirectory

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


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("warm")


@pytest.fixture(scope="module")
def pool(lab: Lab, warm: Path) -> Iterator[Pool]:
    with opened(lab, warm) as pool:
        yield pool


def test_tasks_go_to_machines_that_may_do_them(pool: Pool, warm: Path) -> None:
    assert pool.slots == 3
    assert [pool.submit(partial(double, number), "build").result() for number in range(3)] == [0, 2, 4]
    assert pool.submit(partial(double, 4), "bench").result() == 8
    assert (warm / "machine-2").is_dir()


def test_a_machine_benchmarks_one_thing_at_a_time(pool: Pool) -> None:
    first, second = (pool.submit(partial(span, 0.2), "bench") for _ in range(2))
    (begin, end), (other_begin, other_end) = first.result(), second.result()
    assert end <= other_begin or other_end <= begin


def test_what_a_function_raises_is_raised(pool: Pool) -> None:
    with pytest.raises(ValueError, match="not in machine-"):
        pool.submit(refuse, "build").result()


def test_the_task_of_a_killed_process_runs_again(pool: Pool, tmp_path: Path) -> None:
    assert pool.submit(partial(die_once, tmp_path / "mark"), "build").result() == "again"


def test_what_is_cancelled_ends_with_its_children(lab: Lab, tmp_path: Path) -> None:
    with opened(lab, tmp_path) as pool:
        task = pool.submit(leave_children, "bench")
        wait_until(lambda: living_in(tmp_path / "machine-2") > 0)
    assert isinstance(task.exception(timeout=300), ExecutorFailed)
    wait_until(lambda: living_in(tmp_path / "machine-2") == 0)


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


def plan_that_stops(folder: Path) -> str:
    """The plan, with a benchmark that waits once, at its sixth run, in the middle of a block."""
    script = folder / "stop.sh"
    script.write_text(
        f"cd {folder}; mkdir -p seen; touch seen/$$\n"
        '[ "$(ls seen | wc -l)" -eq 6 ] && mkdir stopped 2>/dev/null && sleep 600\n'
        'exec "$1" cost\n'
    )
    return PLAN.replace('"{queue} cost"', f'"sh {script} {{queue}}"')


def kill_in_mid_block(lab: Lab, folder: Path, run: Path) -> None:
    """When the benchmark waits, kill the machine that works on it."""
    wait_until((folder / "stopped").exists)
    for number in range(2, len(lab.workers)):
        busy = ("pgrep", "-f", f"keeper.py {run}/workers/machine-{number}$")
        if subprocess.run(busy, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            lab.workers[number].send_signal(signal.SIGKILL)
            return


@pytest.mark.study
def test_a_machine_that_is_killed_in_mid_trial_costs_no_trial(lab: Lab, tmp_path: Path) -> None:
    folder = project(tmp_path)
    plan = plan_that_stops(folder)
    variants = [Variant("apart", (APART,)), Variant("together", (TOGETHER,))]
    lab.start("bench:fast=1")
    with RunDirectory.create(tmp_path / "run", plan, folder) as run, opened(lab, run.workers) as pool:
        killer = threading.Thread(target=kill_in_mid_block, args=(lab, folder, run.path))
        killer.start()
        found = bench(plan_in(plan, folder), variants, run, pool, silent)
        killer.join()
    assert any(process.poll() == -signal.SIGKILL for process in lab.workers)
    assert len(list((run.path / "logs").glob("block-*.2"))) == 1
    undisturbed = benched(tmp_path / "undisturbed", folder, variants)
    assert trials_of(found) == trials_of(undisturbed)
    assert samples_of(found) == samples_of(undisturbed)


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
