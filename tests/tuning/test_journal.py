# SPDX-License-Identifier: GPL-2.0-or-later
"""What a journal keeps and refuses, how run directories are locked, and how runs take turns or are killed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Event

import pytest
from tuning.jobs import wait_until
from tuning.project import APART, BRIEF, REREAD, at_work, project, samples_of, tuned

from linesmith.analyzer.base.errors import DiskFull, JournalError
from linesmith.analyzer.model import Result, Site, Variant
from linesmith.tuner.run.bench import bench
from linesmith.tuner.run.block import benchmarking_on, measured_machine, turn
from linesmith.tuner.run.laboratory import RunProgress
from linesmith.tuner.run.plan_file import plan_in
from linesmith.tuner.run.result import read_result
from linesmith.tuner.run.run_directory import RunDirectory

_REMARK = "INSERT INTO remarks (sentence) VALUES (?)"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    with RunDirectory.create(tmp_path / "run", "[source]\n", tmp_path) as opened:
        yield opened


def kept(run: RunDirectory) -> list[str]:
    """The remarks in the journal as another process reads them; who reads does not wait for the run's end."""
    with sqlite3.connect(run.path / "journal.sqlite") as database:
        return [str(said) for (said,) in database.execute("SELECT sentence FROM remarks")]


def test_of_a_transaction_that_is_cut_off_nothing_is_kept(run: RunDirectory) -> None:
    with suppress(KeyboardInterrupt), run.journal.transaction():
        run.journal.write(_REMARK, ("half of it",))
        raise KeyboardInterrupt
    with run.journal.transaction():
        run.journal.write(_REMARK, ("whole",))
    assert kept(run) == ["whole"]


@pytest.mark.parametrize(
    "row",
    [
        "trials (subject, fidelity, trial) VALUES ('[0,1]', 'estimate', '{}')",
        "blocks (fidelity, purpose, variant, ordinal, block) VALUES ('benchmark', 'search', 'v1', 0, '{}')",
    ],
)
def test_nothing_is_counted_twice(run: RunDirectory, row: str) -> None:
    with run.journal.transaction():
        run.journal.write("INSERT INTO variants VALUES ('v1', 'digest', 0, '', '')")
        run.journal.write(f"INSERT INTO {row}")
    with pytest.raises(JournalError, match="UNIQUE"), run.journal.transaction():
        run.journal.write(f"INSERT INTO {row}")


def test_a_full_disk_loses_nothing_that_was_kept(run: RunDirectory) -> None:
    with run.journal.transaction():
        run.journal.write(_REMARK, ("kept",))
    ((pages,),) = run.journal.rows("PRAGMA page_count")
    run.journal.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DiskFull, match="nothing is lost"), run.journal.transaction():
        run.journal.write(_REMARK, ("more " * 200_000,))
    assert kept(run) == ["kept"]


@pytest.mark.parametrize("begins", [False, True])
def test_two_processes_never_work_in_one_run_directory(run: RunDirectory, begins: bool) -> None:
    """The lock is that of an open file, so that a second one of this process is refused as well."""
    with pytest.raises(JournalError, match="is in use by process"):
        RunDirectory.create(run.path, "", run.path.parent) if begins else RunDirectory.open(run.path)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(JournalError, match=r"holds something else \(thesis\.tex\)"):
        RunDirectory.create(tmp_path, "", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "names", [("lock", "tune.toml", "journal.sqlite.part"), ("journal.sqlite.part", "journal.sqlite.part-journal")]
)
def test_a_run_whose_beginning_was_killed_is_begun_again(tmp_path: Path, names: tuple[str, ...]) -> None:
    path = tmp_path / "run"
    path.mkdir()
    for name in names:
        (path / name).write_text("half of it")
    with RunDirectory.create(path, "[source]\n", tmp_path) as run:
        assert (run.plan, run.journal.folder) == ("[source]\n", tmp_path)
    assert not list(path.glob("*.part*"))


def test_a_run_in_which_nothing_was_measured_is_begun_again_with_what_was_built(run: RunDirectory) -> None:
    (run.path / "artifacts" / "key").mkdir()
    (run.path / "profile").touch()
    run.close()
    with RunDirectory.create(run.path, "another plan", run.path.parent) as again:
        assert again.plan == "another plan"
    assert (run.path / "artifacts" / "key").is_dir()
    assert not (run.path / "profile").exists()


def test_a_folder_without_a_run_cannot_be_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=f"^{tmp_path}/run holds no run yet; start it without --resume"):
        RunDirectory.open(tmp_path / "tree" / ".." / "run")


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("", "restore it from a copy"),
        ("CREATE TABLE songs (title TEXT)", "not a journal of linesmith"),
        ("PRAGMA user_version = 99", "version 99"),
    ],
)
def test_what_is_no_journal_of_ours_is_told(run: RunDirectory, statement: str, why: str) -> None:
    """One that is damaged, another program's, and one of a later version."""
    run.close()
    journal = run.path / "journal.sqlite"
    content = journal.read_bytes()
    if not statement:
        journal.write_bytes(content[:4096] + b"\xaa" * 4096 + content[8192:])
    if statement.startswith("CREATE"):
        journal.unlink()
    with sqlite3.connect(journal) as database, suppress(sqlite3.DatabaseError):
        database.execute(statement)
    with pytest.raises(JournalError, match=why):
        RunDirectory.open(run.path)


def test_seconds_count_what_all_processes_spent(run: RunDirectory) -> None:
    with run.journal.transaction():
        run.journal.write("INSERT INTO sessions (begun, heard) VALUES (100.0, 160.0)")
    assert run.journal.seconds == pytest.approx(60.0, abs=5.0)
    found = read_result(run.path)
    assert (found.finished, found.seconds >= 60.0) == (False, True)


# Runs that benchmark on one machine take turns, and who waits says so

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


# A run whose process is stopped at any moment leaves no process and goes on


_DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from tuning.project import in_processes, tuned
if __name__ == "__main__":
    tuned(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[4], workers=in_processes)
"""


def started(run: Path, folder: Path, plan: str = BRIEF) -> subprocess.Popen[bytes]:
    """A process that begins the run, or goes on with it."""
    command = (sys.executable, "-c", _DRIVER, str(run), str(folder), str(Path(__file__).parents[1]), plan)
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def working_in(run: Path) -> list[str]:
    """The processes that work for a run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if f"{run}/" in words or str(entry.joinpath("cwd").readlink()).startswith(str(run)):
                    found.append(words)
    return found


@pytest.mark.study
def test_nothing_is_lost_nor_counted_twice(tmp_path: Path) -> None:
    """One worker that reads a recording comes to the very same trials, samples and end."""
    folder, begin = project(tmp_path / "project"), time.monotonic()
    undisturbed = tuned(folder / "undisturbed", folder, BRIEF)
    seconds, random, run = time.monotonic() - begin, Random(1), folder / "run"  # noqa: S311 - repeatable moments
    for _ in range(4):
        process = started(run, folder, REREAD)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=random.uniform(0.1, seconds))
        process.kill()
        process.communicate()
        wait_until(lambda: not working_in(run))
    ends = [
        (
            one.finished,
            one.best,
            samples_of(one),
            [(each.point, each.fidelity, each.variant, each.cost) for each in one.trials],
        )
        for one in (tuned(run, folder, REREAD), undisturbed)
    ]
    assert ends[0] == ends[1]


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
    wait_until(lambda: not working_in(run))
    assert tuned(run, folder, BRIEF).finished
