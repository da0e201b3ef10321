# SPDX-License-Identifier: GPL-2.0-or-later
"""``bench`` from patches to verdicts, with real builds and runs of a program that tells its own layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tuning.project import APART, BRIEF, PLAN, QUEUE_C, SYNTAX_ERROR, TOGETHER, at_work, benched, project, silent

from linesmith.analyzer.base.errors import BaselineFailed, JournalError, PlanError
from linesmith.analyzer.model import Budget, Result, Variant, VerdictKind
from linesmith.tuner.run.bench import bench
from linesmith.tuner.run.laboratory import RunProgress
from linesmith.tuner.run.plan_file import plan_in

pytestmark = pytest.mark.xdist_group("bench")

_PATCHES = {"apart": APART, "together": TOGETHER, "broken": SYNTAX_ERROR}
_APART = [Variant("apart", (APART,))]
_DOES_NOT_COMPILE = "int main(void) { return none; }\n"


def variants(**instead: str) -> list[Variant]:
    """Three patches, some of them with another text."""
    return [Variant(name, (patch,)) for name, patch in (_PATCHES | instead).items()]


@pytest.fixture(scope="module")
def result(folder: Path, heard: list[str]) -> Result:
    return benched(folder / "run", folder, variants(), hear=lambda progress: heard.append(progress.doing))


def test_verdicts_are_those_of_the_layouts(result: Result) -> None:
    assert {one.variant: (one.verdict, one.ratio, one.blocks) for one in result.confirmed} == {
        "apart": (VerdictKind.BETTER, 0.5, 2),
        "together": (VerdictKind.NO_DIFFERENCE, 1.0, 2),
    }
    assert result.best == "apart"


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


@pytest.mark.usefixtures("result")
def test_patches_that_were_given_are_benchmarked_and_not_confirmed(heard: list[str]) -> None:
    assert any(one.startswith("benchmarking apart, block 1") for one in heard)
    assert not [doing for doing in heard if doing.startswith("confirming")]


@pytest.mark.usefixtures("result")
def test_a_run_goes_on_with_the_tree_and_the_patches_that_it_was_begun_with(folder: Path) -> None:
    with pytest.raises(PlanError, match="another variant named apart"):
        benched(folder / "run", folder, variants(apart=APART.replace("long tail;", "long tail, more;")))
    with pytest.raises(JournalError, match="started as a bench of apart, broken, together, not as a bench of apart;"):
        benched(folder / "run", folder, _APART)
    source = folder / "tree" / "queue.c"
    try:
        source.write_text(QUEUE_C + "int more;\n")
        with pytest.raises(PlanError, match="has changed since the run started"):
            benched(folder / "run", folder, variants())
    finally:
        source.write_text(QUEUE_C)


def test_a_tree_that_does_not_build_ends_the_run_and_is_gone_on_with_when_it_is_mended(tmp_path: Path) -> None:
    """Two patches that say the same are one variant."""
    folder = project(tmp_path)
    twice = [*_APART, Variant("again", (APART,))]
    (folder / "tree" / "queue.c").write_text(_DOES_NOT_COMPILE)
    with pytest.raises(BaselineFailed, match=r"^the unpatched tree cannot be built: .*queue\.c:1"):
        benched(tmp_path / "run", folder, twice, BRIEF)
    (folder / "tree" / "queue.c").write_text(QUEUE_C)
    found = benched(tmp_path / "run", folder, twice, BRIEF)
    assert (found.best, [trial.variant for trial in found.trials]) == ("apart", ["apart"])


def test_a_tree_that_is_edited_during_the_run_is_refused(tmp_path: Path) -> None:
    """Else what was edited would be in the patch's build and not in the baseline's."""
    folder = project(tmp_path)

    def edit(progress: RunProgress) -> None:
        if progress.doing == "building apart":
            (folder / "tree" / "queue.c").write_text(QUEUE_C + "int more;\n")

    with pytest.raises(PlanError, match="has changed since"):
        benched(tmp_path / "run", folder, _APART, BRIEF, hear=edit)


def test_when_the_time_is_over_the_run_ends_with_what_it_has(tmp_path: Path) -> None:
    folder = project(tmp_path)
    plan = replace(plan_in(BRIEF, folder), budget=Budget(minutes=0.001))
    latin = [Variant("apart", (APART.replace("tail;\n }", "tail; /* caf\udce9 */\n }"),))]
    with at_work(tmp_path / "run", folder) as (run, pool):
        found = bench(plan, latin, run, pool, silent)
    assert (found.finished, found.best, found.samples) == (True, None, ())
    assert found.remarks == ("the time limit was reached before apart was confirmed",)
    assert b"/* caf\xe9 */" in (tmp_path / "run" / "patches" / "apart.patch").read_bytes(), "bytes that are no text"


def test_a_benchmark_that_fails_on_the_tree_is_called_by_its_title(tmp_path: Path) -> None:
    text = BRIEF.replace("{queue} cost", "{queue} work").replace('name = "command"', 'name = "command"\ntitle = "pair"')
    why = r"^the unpatched tree cannot be measured: pair: .*it printed nothing; its log is"
    with pytest.raises(BaselineFailed, match=why):
        benched(tmp_path / "run", project(tmp_path), _APART, text)


def test_a_guard_that_becomes_worse_forbids_the_gain(tmp_path: Path) -> None:
    guard = """
[[benchmark]]
name = "command"
title = "inverse"
run = "{queue} cost"
pattern = 'cost (\\d+)'
better = "higher"
guard = true
"""
    found = benched(tmp_path / "run", project(tmp_path), _APART, BRIEF + guard)
    assert found.best is None
    assert {one.benchmark: one.verdict for one in found.confirmed} == {
        "command": VerdictKind.BETTER,
        "inverse": VerdictKind.WORSE,
    }


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("placebo-1", PLAN, "rename the patch"),
        ("apart", f'{PLAN}[machine]\nname = "none"\n', "machine"),
        ("apart", PLAN.replace('"estimate", "benchmark"', '"estimate"'), "the plan measures nothing"),
    ],
)
def test_what_cannot_be_done_is_told_before_a_build(tmp_path: Path, name: str, text: str, why: str) -> None:
    with pytest.raises(PlanError, match=why):
        benched(tmp_path / "run", project(tmp_path), [Variant(name, (APART,))], text)
    assert not list((tmp_path / "run" / "artifacts").glob("*"))
