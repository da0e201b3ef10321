# SPDX-License-Identifier: GPL-2.0-or-later
"""``bench`` from patches to verdicts, with real builds and runs of a program that tells its own layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tuning.project import APART, PLAN, SYNTAX_ERROR, TOGETHER, at_work, benched, plan_of, project, silent

from linesmith.analyzer.errors import BaselineFailed, JournalError, PlanError
from linesmith.analyzer.model import Budget, FailureKind, Result, Variant, VerdictKind
from linesmith.tuner.tuning.bench import bench
from linesmith.tuner.tuning.progress import Progress


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("project"))


_PATCHES = {"apart": APART, "together": TOGETHER, "broken": SYNTAX_ERROR}


def variants(**instead: str) -> list[Variant]:
    """Three patches, some of them with another text."""
    return [Variant(name, (patch,)) for name, patch in (_PATCHES | instead).items()]


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    return benched(folder / "run", folder, variants())


def test_the_patch_that_parts_the_members_is_better(result: Result) -> None:
    (one,) = (one for one in result.confirmed if one.variant == "apart")
    assert (one.verdict, one.ratio, one.blocks) == (VerdictKind.BETTER, 0.5, 2)
    assert result.best == "apart"


def test_a_patch_without_effect_makes_no_difference(result: Result) -> None:
    (one,) = (one for one in result.confirmed if one.variant == "together")
    assert (one.verdict, one.ratio) == (VerdictKind.NO_DIFFERENCE, 1.0)


def test_a_patch_that_does_not_compile_is_a_result(result: Result) -> None:
    (trial,) = (one for one in result.trials if one.variant == "broken")
    assert trial.failure is not None
    assert trial.failure.kind is FailureKind.BUILD
    assert "queue.h:4" in trial.failure.reason
    assert trial.cost is None


def test_the_baseline_is_in_every_block_twice(result: Result) -> None:
    blocks = {sample.block for sample in result.samples}
    assert blocks
    for block in blocks:
        sides = [sample.variant for sample in result.samples if sample.block == block]
        assert sides == [sides[0], sides[1], sides[1], sides[0]]
        assert sides.count("baseline") == 2


def test_a_placebo_shows_what_equal_layouts_differ_by(result: Result) -> None:
    assert {one.variant for one in result.noise} == {"baseline again", "placebo-1"}
    assert {build.variant for build in result.builds} == {"baseline", "placebo-1", "apart", "together"}


def test_the_run_directory_has_the_patches(folder: Path, result: Result) -> None:
    assert dict(result.patches)["apart"] == "patches/apart.patch"
    assert (folder / "run" / "patches" / "apart.patch").read_text() == APART


def test_two_patches_that_say_the_same_are_one_variant(tmp_path: Path) -> None:
    folder = project(tmp_path)
    found = benched(tmp_path / "run", folder, [Variant("first", (APART,)), Variant("second", (APART,))])
    assert [trial.variant for trial in found.trials] == ["first"]


def test_a_finished_run_is_read_again_without_any_work(folder: Path, result: Result) -> None:
    again = benched(folder / "run", folder, variants())
    assert (again.samples, again.trials) == (result.samples, result.trials)


def test_a_tree_that_does_not_build_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "tree" / "queue.c").write_text("int main(void) { return none; }\n")
    with pytest.raises(BaselineFailed, match=r"^the tree as it is cannot be built: .*queue\.c:1"):
        benched(tmp_path / "run", folder, [Variant("apart", (APART,))])


def test_a_tree_that_is_mended_is_gone_on_with(tmp_path: Path) -> None:
    folder = project(tmp_path)
    source = folder / "tree" / "queue.c"
    sound = source.read_text()
    source.write_text("int main(void) { return none; }\n")
    with pytest.raises(BaselineFailed):
        benched(tmp_path / "run", folder, [Variant("apart", (APART,))])
    source.write_text(sound)
    assert benched(tmp_path / "run", folder, [Variant("apart", (APART,))]).best == "apart"


def test_a_tree_that_has_changed_meanwhile_is_refused(folder: Path, result: Result) -> None:
    assert result.finished
    source = folder / "tree" / "queue.c"
    before = source.read_text()
    try:
        source.write_text(before + "int more;\n")
        with pytest.raises(PlanError, match="has changed since the run was begun"):
            benched(folder / "run", folder, variants())
    finally:
        source.write_text(before)


def test_a_tree_that_is_edited_during_the_run_is_refused(tmp_path: Path) -> None:
    """Else what was edited would be in the patch's build and not in the baseline's."""
    folder = project(tmp_path)
    source = folder / "tree" / "queue.c"

    def edit(progress: Progress) -> None:
        if progress.doing == "building apart":
            source.write_text(source.read_text() + "int more;\n")

    with at_work(tmp_path / "run", folder) as (run, pool), pytest.raises(PlanError, match="has changed since"):
        bench(plan_of(folder), [Variant("apart", (APART,))], run, pool, edit)


def test_another_patch_of_the_same_name_is_refused(folder: Path, result: Result) -> None:
    assert result.finished
    with pytest.raises(PlanError, match="another variant called apart"):
        benched(folder / "run", folder, variants(apart=APART.replace("long tail;", "long tail, more;")))


def test_a_run_goes_on_with_the_patches_it_was_begun_with(folder: Path, result: Result) -> None:
    assert result.finished
    with pytest.raises(JournalError, match="begun as a bench of apart, broken, together and is not a bench of apart;"):
        benched(folder / "run", folder, [Variant("apart", (APART,))])


def test_a_patch_cannot_have_the_name_of_a_placebo(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with pytest.raises(PlanError, match="rename it"):
        benched(tmp_path / "run", folder, [Variant("placebo-1", (APART,))])


def test_when_the_time_is_over_the_run_ends_with_what_it_has(tmp_path: Path) -> None:
    folder = project(tmp_path)
    hasty = replace(plan_of(folder), budget=Budget(minutes=0.001))
    with at_work(tmp_path / "run", folder) as (run, pool):
        found = bench(hasty, [Variant("apart", (APART,))], run, pool, silent)
    assert (found.finished, found.best, found.samples) == (True, None, ())
    assert found.remarks == ("the time was over before apart could be confirmed",)
    more = benched(tmp_path / "run", folder, [Variant("apart", (APART,))])
    assert (more.best, more.remarks) == ("apart", ())


def test_a_tree_whose_benchmark_fails_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    folder = project(tmp_path)
    text = PLAN.replace("{queue} cost", "{queue} work")
    with pytest.raises(
        BaselineFailed, match=r"^the tree as it is cannot be measured: .*it printed nothing; its log is"
    ):
        benched(tmp_path / "run", folder, [Variant("apart", (APART,))], text)


def test_a_benchmark_that_fails_is_called_by_its_title(tmp_path: Path) -> None:
    folder = project(tmp_path)
    text = PLAN.replace("{queue} cost", "{queue} work").replace('name = "command"', 'name = "command"\ntitle = "pair"')
    with pytest.raises(BaselineFailed, match=r"^the tree as it is cannot be measured: pair: .*it printed nothing;"):
        benched(tmp_path / "run", folder, [Variant("apart", (APART,))], text)


def test_a_guard_that_becomes_worse_forbids_the_gain(tmp_path: Path) -> None:
    folder = project(tmp_path)
    guard = """
[[benchmark]]
name = "command"
title = "inverse"
run = "{queue} cost"
pattern = 'cost (\\d+)'
better = "higher"
guard = true
"""
    found = benched(tmp_path / "run", folder, [Variant("apart", (APART,))], PLAN + guard)
    assert found.best is None
    assert {one.benchmark: one.verdict for one in found.confirmed} == {
        "command": VerdictKind.BETTER,
        "inverse": VerdictKind.WORSE,
    }


def test_what_cannot_be_carried_out_is_told_before_anything_is_built(tmp_path: Path) -> None:
    folder = project(tmp_path)
    with pytest.raises(PlanError, match="machine"):
        benched(tmp_path / "run", folder, [Variant("apart", (APART,))], PLAN + '[machine]\nname = "none"\n')
