# SPDX-License-Identifier: GPL-2.0-or-later
"""``tune`` from a tree to a confirmed patch: two threads write neighbours, and the benchmark knows."""

from __future__ import annotations

import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tuning.project import PLAN, at_work, project, silent, tuned

from linesmith.analyzer.base.errors import NothingToSuggest, PlanError
from linesmith.analyzer.cli.runs import keep
from linesmith.analyzer.model import Budget, Fidelity, Result, VerdictKind
from linesmith.tuner.run.plan_file import plan_in
from linesmith.tuner.run.tune import tune

pytestmark = pytest.mark.xdist_group("tune")


@pytest.fixture(scope="module")
def cut_off(folder: Path) -> Result:
    """The result of the run when its time was over before anything was measured."""
    plan = replace(plan_in(PLAN, folder), budget=Budget(minutes=0.001))
    with at_work(folder / "run", folder) as (run, pool):
        return tune(plan, run, pool, silent)


@pytest.fixture(scope="module")
def result(folder: Path, heard: list[str], cut_off: Result) -> Result:
    """The result of the same run, continued with more time."""
    assert cut_off.finished
    return tuned(folder / "run", folder, hear=lambda progress: heard.append(progress.doing))


def test_a_search_that_the_time_cut_off_says_how_to_go_on(cut_off: Result, result: Result) -> None:
    assert cut_off.samples == ()
    (remark,) = cut_off.remarks
    assert remark.startswith(
        "the time limit was reached before the first trial finished; continue the search with --resume"
    )
    assert (result.best is not None, result.remarks) == (True, ())


def test_the_best_layout_is_confirmed_on_fresh_blocks(result: Result) -> None:
    best = [one for one in result.confirmed if one.variant == result.best]
    assert [(one.verdict, one.ratio) for one in best] == [(VerdictKind.BETTER, 0.5)]
    explored = {sample.block for sample in result.samples if sample.variant == result.best}
    assert len(explored) > best[0].blocks


def test_its_patch_applies_and_tells_what_was_verified_and_leaves_the_tree(folder: Path, result: Result) -> None:
    patch = folder / "run" / dict(result.patches)[result.best or ""]
    subprocess.run(("git", "apply", "--check", patch), cwd=folder / "tree", check=True)
    text = patch.read_text()
    assert "separate" in text.splitlines()[0]
    assert "The layouts are those of the rebuilt debug information." in " ".join(text.split())
    assert sorted(path.name for path in (folder / "tree").iterdir()) == ["queue.c", "queue.h"]


def test_every_patch_carries_what_was_measured_of_it_once(folder: Path, result: Result) -> None:
    run = folder / "run"
    keep(result, run)
    texts = {path.stem: path.read_text() for path in (run / "patches").glob("*.patch")}
    carrying = {name for name, text in texts.items() if text.count("Measured, baseline against this patch") == 1}
    assert carrying == {one.variant for one in (*result.confirmed, *result.explored)}
    assert not [name for name in carrying if "benchmark has been run" in texts[name]]
    assert (run / "best.patch").read_text() == texts[result.best or ""]
    subprocess.run(("git", "apply", "--check", run / "best.patch"), cwd=folder / "tree", check=True)
    keep(result, run)
    assert {path.stem: path.read_text() for path in (run / "patches").glob("*.patch")} == texts


@pytest.mark.usefixtures("result")
def test_what_is_searched_is_called_by_its_rung_and_then_confirmed(heard: list[str]) -> None:
    # Another test may benchmark on this machine meanwhile, which is said behind the block.
    blocks = {doing.partition(", after ")[0] for doing in heard if ", block " in doing}
    assert {doing.split()[0] for doing in blocks} == {"benchmarking", "confirming"}
    assert "benchmarking placebo-1, block 1" in blocks


def test_trials_of_the_budget_were_built_and_all_others_estimated(result: Result) -> None:
    measured = [trial for trial in result.trials if trial.fidelity is Fidelity.BENCHMARK]
    assert 1 <= len(measured) <= 3
    assert {trial.fidelity for trial in result.trials} == {Fidelity.ESTIMATE, Fidelity.BENCHMARK}
    assert len({(trial.point, trial.fidelity) for trial in result.trials}) == len(result.trials)


def test_a_finished_search_does_nothing_again(folder: Path, result: Result) -> None:
    again = tuned(folder / "run", folder)
    assert (again.trials, again.samples) == (result.trials, result.samples)


@pytest.mark.usefixtures("result")
def test_points_of_another_space_are_not_taken_for_those_of_this_one(folder: Path) -> None:
    """As when another linesmith, or another profile, gives other places to choose among."""
    with sqlite3.connect(folder / "run" / "journal.sqlite") as database:
        ((space,),) = database.execute("SELECT value FROM notes WHERE name = 'space'").fetchall()
        database.execute("UPDATE notes SET value = 'other' WHERE name = 'space'")
    with pytest.raises(PlanError, match="differ from those of the run so far"):
        tuned(folder / "run", folder)
    with sqlite3.connect(folder / "run" / "journal.sqlite") as database:
        database.execute("UPDATE notes SET value = ? WHERE name = 'space'", (space,))


def test_a_search_without_an_object_or_a_measurement_is_refused(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with pytest.raises(NothingToSuggest, match="holds stack"):
        tuned(tmp_path / "stack", folder, PLAN.replace("[search]", '[search]\ntype = "stack"'))
    with pytest.raises(PlanError, match="the plan measures nothing"):
        tuned(tmp_path / "run", folder, PLAN.replace('"estimate", "benchmark"', '"estimate"'))
