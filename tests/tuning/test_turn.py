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
from tuning.project import APART, PLAN, at_work, project

from linesmith.analyzer.model import Result, Site, Variant
from linesmith.tuner.run.bench import bench
from linesmith.tuner.run.block import measured_machine, turn, waiting_for
from linesmith.tuner.run.laboratory import RunProgress
from linesmith.tuner.run.plan_file import plan_in

_SECONDS = 300
_HOLDER = """
import sys
from pathlib import Path
from linesmith.tuner.run.block import turn
with turn("lab", Path("killed.run"), Path(), print):
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))


def logs_of(task: str, folder: Path) -> Path:
    made = folder / task
    made.mkdir()
    return made


def test_the_second_run_begins_when_the_first_has_ended(tmp_path: Path) -> None:
    told, logs = Told(), logs_of("block-1", tmp_path)

    def second() -> str:
        with turn("lab", Path("second.run"), logs, told):
            return waiting_for(tmp_path, "block-1")

    with ThreadPoolExecutor() as threads:
        with turn("lab", Path("first.run"), tmp_path, told):
            later = threads.submit(second)
            assert told.event.wait(_SECONDS)
            assert not later.done()
        assert later.result(_SECONDS) == ""
    assert told.sentences == ["waiting for first.run, which benchmarks on lab"]


def test_runs_on_two_machines_or_without_a_place_for_locks_do_not_wait(tmp_path: Path) -> None:
    """Guests and programs are measured on this host, and what is behind ssh elsewhere."""
    told = Told()
    with turn("lab", Path("first.run"), tmp_path, told), turn("other", Path("second.run"), tmp_path, told):
        assert told.sentences == []
    assert measured_machine(Site("qemu")) == measured_machine(Site("here"))
    assert measured_machine(Site("ssh", settings=(("host", "lab-1"),))) == "lab-1"
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file")
    with turn("lab", Path("first.run"), tmp_path, told):
        assert told.sentences[0].startswith("cannot lock lab: another run may benchmark at the same time (")


def test_a_run_that_was_killed_holds_no_machine(tmp_path: Path) -> None:
    told = Told()
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "begun\n"
        holder.kill()
    with turn("lab", Path("next.run"), tmp_path, told):
        assert told.sentences == []


def test_what_an_attempt_that_was_killed_waited_for_is_forgotten(tmp_path: Path) -> None:
    (logs_of("block-1", tmp_path) / "waiting").write_text("waiting for first.run, which benchmarks on lab")
    logs_of("block-1.2", tmp_path)
    logs_of("block-10", tmp_path)
    assert waiting_for(tmp_path, "block-1") == ""


def test_progress_tells_that_another_run_benchmarks(tmp_path: Path) -> None:
    folder, told = project(tmp_path), Told()

    def hear(progress: RunProgress) -> None:
        if "waiting for" in progress.doing:
            told(progress.doing)

    def run() -> Result:
        with at_work(tmp_path / "run", folder) as (opened, pool):
            return bench(plan, [Variant("apart", (APART,))], opened, pool, hear)

    plan = plan_in(PLAN.replace("warm_up = 0", "warm_up = 0\nplacebos = 0"), folder)
    machine = measured_machine(plan.site)
    with ThreadPoolExecutor() as threads:
        with turn(machine, tmp_path / "other.run", tmp_path, told):
            running = threads.submit(run)
            assert told.event.wait(_SECONDS)
        assert running.result(_SECONDS).best == "apart"
    assert told.sentences[0].endswith(f"block 1: waiting for {tmp_path}/other.run, which benchmarks on {machine}")


class Told:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.event = Event()

    def __call__(self, sentence: str) -> None:
        self.sentences.append(sentence)
        self.event.set()
