# SPDX-License-Identifier: GPL-2.0-or-later
"""What a journal keeps, what it refuses, and how run directories are told apart and locked."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from linesmith.analyzer.errors import DiskFull, JournalError
from linesmith.analyzer.model import Failure, FailureKind, Fidelity, Sample, Trial, Variant
from linesmith.tuner.tuning.blocks import Block, Purpose, Stage, blocks, keep_block
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.result import read_result
from linesmith.tuner.tuning.run_directory import RunDirectory
from linesmith.tuner.tuning.trials import keep_trial, trials
from linesmith.tuner.tuning.variants import keep_variant, variants

_STAGE = Stage(Fidelity.BENCHMARK, Purpose.SEARCH)
_SAMPLE = Sample("v1", "storm", "execs", 4, 12.5, block=7, boot=28)
_BLOCK = Block(7, _STAGE, "v1", 0, 3.5, (_SAMPLE,))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    with RunDirectory.create(tmp_path / "run", "[source]\n", tmp_path) as opened:
        with opened.journal.transaction():
            keep_variant(opened.journal, Variant("v1", ("--- a\n",)), ("move x behind y",))
        yield opened


def keep(run: RunDirectory, *blocks_and_trials: Block | Trial) -> None:
    """Keep them in one transaction."""
    with run.journal.transaction():
        for one in blocks_and_trials:
            if isinstance(one, Block):
                keep_block(run.journal, one)
            else:
                keep_trial(run.journal, one)


def test_nothing_is_counted_twice(run: RunDirectory) -> None:
    trial = Trial(1, "v1", ("move x behind y",), Fidelity.ESTIMATE, (0, 1), cost=0.5)
    keep(run, _BLOCK, trial)
    for again in (Block(8, _STAGE, "v1", 0, 3.5), Trial(2, "v1", (), Fidelity.ESTIMATE, (0, 1), cost=0.6)):
        with pytest.raises(JournalError, match="UNIQUE"):
            keep(run, again)
    assert blocks(run.journal) == (_BLOCK,)
    assert trials(run.journal) == (trial,)


def test_of_a_block_that_is_cut_off_nothing_is_kept(run: RunDirectory) -> None:
    with suppress(KeyboardInterrupt), run.journal.transaction():
        keep_block(run.journal, _BLOCK)
        raise KeyboardInterrupt
    assert blocks(run.journal) == ()


def test_trials_are_read_back_in_the_order_in_which_they_were_told(run: RunDirectory) -> None:
    failure = Failure(FailureKind.HANG, "nothing came for 60 s", "logs/block-3")
    given = [
        Trial(1, "v1", (), Fidelity.BENCHMARK, (2, 0), failure=failure),
        Trial(2, "v1", (), Fidelity.BENCHMARK, (0, 1), cost=0.97, spread=0.02),
    ]
    keep(run, *given)
    assert trials(run.journal) == tuple(given)


def test_the_same_source_is_one_variant(run: RunDirectory) -> None:
    with run.journal.transaction():
        assert keep_variant(run.journal, Variant("v2", ("--- a\n",))).name == "v1"
        assert keep_variant(run.journal, Variant("placebo", ("--- a\n",), salt=1)).name == "placebo"


def test_a_patch_with_bytes_that_are_no_text_is_kept_as_it_is(run: RunDirectory) -> None:
    patch = b"-caf\xe9\n+\xc3\xa9\n".decode("utf-8", "surrogateescape")
    with run.journal.transaction():
        keep_variant(run.journal, Variant("latin", (patch,)))
    assert variants(run.journal)[-1].patches == (patch,)


def test_the_next_process_hears_what_was_running(run: RunDirectory) -> None:
    for task in ("build-v1", "block-2", "block-3"):
        run.journal.begin(task)
    with run.journal.transaction():
        run.journal.end("block-2")
    path = run.path
    run.close()
    with RunDirectory.open(path) as again:
        assert again.journal.interrupted == ("build-v1", "block-3")
        assert again.journal.running == ()


def test_a_report_reads_the_journal_of_a_run_in_progress(run: RunDirectory) -> None:
    assert read_result(run.path).finished is False
    keep(run, _BLOCK)
    assert read_result(run.path).samples == (_SAMPLE,)


def test_two_processes_never_work_in_one_run_directory(run: RunDirectory) -> None:
    command = (
        "import sys; from pathlib import Path; from linesmith.tuner.tuning.run_directory import RunDirectory; "
        "RunDirectory.open(Path(sys.argv[1]))"
    )
    second = subprocess.run((sys.executable, "-c", command, run.path), capture_output=True, text=True, check=False)
    assert "is in use by process" in second.stderr


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
        assert (run.plan, run.folder, run.journal.interrupted) == ("[source]\n", tmp_path, ())
    assert not list(path.glob("*.part*"))


def test_a_second_run_does_not_replace_the_first(run: RunDirectory) -> None:
    with pytest.raises(JournalError, match="is in use"):
        RunDirectory.create(run.path, "", run.path.parent)


def test_a_run_in_which_nothing_was_measured_is_begun_again_with_what_was_built(run: RunDirectory) -> None:
    (run.path / "artifacts" / "key").mkdir()
    (run.path / "profile.json").touch()
    run.close()
    with RunDirectory.create(run.path, "another plan", run.path.parent) as again:
        assert again.plan == "another plan"
    assert (run.path / "artifacts" / "key").is_dir()
    assert not (run.path / "profile.json").exists()


def test_a_folder_without_a_run_cannot_be_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=f"^{tmp_path}/run holds no run yet; begin it without --resume"):
        RunDirectory.open(tmp_path / "tree" / ".." / "run")


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\xaa" * 4096
    path.write_bytes(content)


def replace_by_another(path: Path) -> None:
    path.unlink()
    change(path, "CREATE TABLE songs (title TEXT)")


def change(path: Path, statement: str = "PRAGMA user_version = 99") -> None:
    with sqlite3.connect(path) as database:
        database.execute(statement)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (damage, "restore it from a copy"),
        (replace_by_another, "no journal of linesmith"),
        (change, "version 99"),
    ],
)
def test_what_is_no_journal_of_ours_is_told(run: RunDirectory, spoil: Callable[[Path], None], why: str) -> None:
    run.close()
    spoil(run.path / "journal.sqlite")
    with pytest.raises(JournalError, match=why):
        RunDirectory.open(run.path)


def test_a_full_disk_loses_nothing_that_was_kept(run: RunDirectory) -> None:
    keep(run, _BLOCK)
    ((pages,),) = run.journal.rows("PRAGMA page_count")
    run.journal.rows(f"PRAGMA max_page_count = {pages}")
    many = tuple(Sample("v1", "storm", "execs", threads, 1.0, 8, 32) for threads in range(20000))
    with pytest.raises(DiskFull, match="nothing is lost"), run.journal.transaction():
        keep_block(run.journal, Block(8, _STAGE, "v1", 1, 1.0, many))
    assert blocks(run.journal) == (_BLOCK,)


def test_seconds_count_what_all_processes_spent(run: RunDirectory) -> None:
    with run.journal.transaction():
        run.journal.write("INSERT INTO sessions (begun, heard) VALUES (100.0, 160.0)")
    assert run.journal.seconds == pytest.approx(60.0, abs=5.0)
    assert Journal.read(run.path / "journal.sqlite").seconds >= 60.0
