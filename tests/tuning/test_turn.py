# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that benchmark on one machine take turns, and who waits says so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from tuning.project import APART, BRIEF, at_work, project

from linesmith.analyzer.model import Result, Site, Variant
from linesmith.tuner.run.bench import bench
from linesmith.tuner.run.block import benchmarking_on, measured_machine, turn
from linesmith.tuner.run.laboratory import RunProgress
from linesmith.tuner.run.plan_file import plan_in

_SECONDS = 300
_LAB = Site("ssh", settings=(("host", "lab"),))
_HOLDER = """
import sys
from pathlib import Path
from linesmith.analyzer.model import Site
from linesmith.tuner.run.block import turn
with turn(Site("ssh", settings=(("host", "lab"),)), Path("killed.run"), print):
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))


def test_runs_on_two_machines_or_without_a_place_for_locks_do_not_wait(tmp_path: Path) -> None:
    """Guests and programs are measured on this host, and what is behind ssh elsewhere."""
    assert measured_machine(Site("qemu")) == measured_machine(Site("here"))
    with turn(_LAB, Path("first.run"), print), turn(Site("here"), Path("second.run"), print):
        assert [benchmarking_on(site) for site in (_LAB, Site("qemu"))] == ["first.run", "second.run"]
    assert benchmarking_on(_LAB) == ""
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file")
    told: list[str] = []
    with turn(_LAB, Path("first.run"), told.append):
        assert told[0].startswith("cannot lock lab: another run may benchmark at the same time (")


def test_a_run_that_was_killed_holds_no_machine() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "begun\n"
        assert benchmarking_on(_LAB) == "killed.run"
        holder.kill()
    with turn(_LAB, Path("next.run"), print):
        assert benchmarking_on(_LAB) == "next.run"


def test_the_second_run_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    folder, waits, told = project(tmp_path), Event(), list[str]()

    def hear(progress: RunProgress) -> None:
        if "which benchmarks" in progress.doing:
            told.append(progress.doing)
            waits.set()

    def run() -> Result:
        with at_work(tmp_path / "run", folder) as (opened, pool):
            return bench(plan, [Variant("apart", (APART,))], opened, pool, hear)

    plan = plan_in(BRIEF, folder)
    with ThreadPoolExecutor() as threads:
        with turn(plan.site, tmp_path / "other.run", print):
            running = threads.submit(run)
            assert waits.wait(_SECONDS)
            assert not (tmp_path / "run" / "logs" / "block-1" / "boot-1").exists()
        assert running.result(_SECONDS).best == "apart"
    assert told[0] == f"benchmarking apart, block 1, after {tmp_path}/other.run, which benchmarks on the same machine"
