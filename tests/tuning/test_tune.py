# SPDX-License-Identifier: GPL-2.0-or-later
"""``tune`` from a tree to a confirmed patch: two threads write neighbours, and the benchmark knows."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

import pytest
from tuning.project import PLAN, project, tuned

from linesmith.analyzer.errors import NothingToSuggest, PlanError
from linesmith.analyzer.model import Fidelity, Result, VerdictKind


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    return tuned(folder / "run", folder)


def test_the_best_layout_is_confirmed_on_fresh_blocks(result: Result) -> None:
    best = [one for one in result.confirmed if one.variant == result.best]
    assert [(one.verdict, one.ratio) for one in best] == [(VerdictKind.BETTER, 0.5)]
    explored = {sample.block for sample in result.samples if sample.variant == result.best}
    assert len(explored) > best[0].blocks


def test_its_patch_applies_and_tells_what_was_verified(folder: Path, result: Result) -> None:
    patch = folder / "run" / dict(result.patches)[result.best or ""]
    subprocess.run(("git", "apply", "--check", patch), cwd=folder / "tree", check=True)
    text = patch.read_text()
    assert "separate" in text.splitlines()[0]
    assert "the layout after is as predicted" in " ".join(text.split())


def test_trials_of_the_budget_were_built_and_all_others_estimated(result: Result) -> None:
    measured = [trial for trial in result.trials if trial.fidelity is Fidelity.BENCHMARK]
    assert 1 <= len(measured) <= 4
    assert {trial.fidelity for trial in result.trials} == {Fidelity.ESTIMATE, Fidelity.BENCHMARK}
    assert len({(trial.point, trial.fidelity) for trial in result.trials}) == len(result.trials)


def test_a_finished_search_does_nothing_again(folder: Path, result: Result) -> None:
    again = tuned(folder / "run", folder)
    assert (again.trials, again.samples) == (result.trials, result.samples)


def test_points_of_another_space_are_not_taken_for_those_of_this_one(folder: Path, result: Result) -> None:
    """As when another linesmith, or another profile, gives other places to choose among."""
    assert result.trials
    with sqlite3.connect(folder / "run" / "journal.sqlite") as database:
        ((space,),) = database.execute("SELECT value FROM notes WHERE name = 'space'").fetchall()
        database.execute("UPDATE notes SET value = 'other' WHERE name = 'space'")
    with pytest.raises(PlanError, match="not those of the run so far"):
        tuned(folder / "run", folder)
    with sqlite3.connect(folder / "run" / "journal.sqlite") as database:
        database.execute("UPDATE notes SET value = ? WHERE name = 'space'", (space,))


def test_the_source_tree_is_as_it_was(folder: Path, result: Result) -> None:
    assert result.finished
    assert sorted(path.name for path in (folder / "tree").iterdir()) == ["queue.c", "queue.h"]


def test_a_type_that_no_line_holds_is_told(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with pytest.raises(NothingToSuggest, match="holds stack"):
        tuned(tmp_path / "run", folder, PLAN.replace("[search]", '[search]\ntype = "stack"'))


def test_a_ladder_without_a_measurement_is_refused(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with pytest.raises(PlanError, match="nothing that is measured"):
        tuned(tmp_path / "run", folder, PLAN.replace('"estimate", "benchmark"', '"estimate"'))
