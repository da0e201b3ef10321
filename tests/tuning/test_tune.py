# SPDX-License-Identifier: GPL-2.0-or-later
"""``tune`` from a tree to a confirmed patch: two threads write neighbours, and the benchmark knows."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import meeting, scalar, struct, table
from measured import comparison
from tuning.project import PLAN, at_work, project, silent, tuned

from linesmith.analyzer.base.errors import NothingToSuggest, PlanError
from linesmith.analyzer.cli.runs import fitting, keep, line
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import (
    SIMULATED,
    Access,
    Budget,
    CacheLine,
    Comparison,
    Dimension,
    Fidelity,
    ObjectArea,
    ObjectKind,
    Point,
    Profile,
    Result,
    Rules,
    Searching,
    Space,
    Trial,
    VerdictKind,
)
from linesmith.plugins.registry import optimizer
from linesmith.tuner.judge.ranking import blocks_needed, reach_at_the_end
from linesmith.tuner.run.evidence import ExplainedRun, with_all_lines
from linesmith.tuner.run.journal import Journal
from linesmith.tuner.run.laboratory import Narration, RunProgress
from linesmith.tuner.run.plan_file import plan_in
from linesmith.tuner.run.result import advice
from linesmith.tuner.run.rungs import BlockRung
from linesmith.tuner.run.tune import Exploration, searched, tune

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
    assert 1 <= len(measured) <= 2
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


# What a search goes out from, what it says while it goes on, and what it advises at its end

SOURCE = """\
struct account { long opened[4]; long balance; };
void pay(struct account *account, long *sums) { account->balance += sums[1]; }
"""
LINE = 0x1000


def test_all_lines_of_a_type_are_explained_by_what_the_code_touches(tmp_path: Path) -> None:
    (tmp_path / "pay.c").write_text(SOURCE)
    program = tmp_path / "pay.o"
    subprocess.run(["gcc", "-g", "-O1", "-c", "pay.c", "-o", str(program)], check=True, cwd=tmp_path)
    hot = CacheLine(0, LINE, (Access(32, "pay", hitm_local=100),), hitm_local=100)
    area = ObjectArea(ObjectKind.SLAB, "accounts", LINE, 40, 40, 1, ("account",))
    seen = ExplainedRun(
        program, Profile("test", "", "hitm", (hot,), areas=(area,)), read_layouts(program).layouts, (), None
    )
    (found,) = with_all_lines(seen, "account").findings
    assert [(member.path, member.write_inferred) for member in found.members] == [("balance", "pay writes it")]


def seen_at(name: str, *, known: bool) -> ExplainedRun:
    """A hot line in a program with one type, which lies there or is not known to."""
    layout = struct(name, scalar("arrived"), scalar("left"), scalar("name", 112))
    hot = meeting(layout, "arrived", "left")
    finding = hot if known else replace(hot, objects=())
    return ExplainedRun(Path("products/door"), Profile("profile.json", "", "hitm", ()), table(layout), (finding,), None)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "counter",
            r"^line 0 of profile\.json: no object is known .*; see `linesmith hot products/door profile\.json` for",
        ),
        ("shop::Counter", r"; door has C\+\+ types, and only C types are supported; see `linesmith hot [^`]*`"),
    ],
)
def test_a_line_without_an_object_is_told_with_its_files(name: str, why: str) -> None:
    with pytest.raises(NothingToSuggest, match=why):
        searched(seen_at(name, known=False), Searching())


def test_a_record_that_is_named_is_searched_like_the_hottest_one() -> None:
    seen = seen_at("door", known=True)
    found = [searched(seen, Searching(type=name, growth=64)) for name in ("", "door", "struct door")]
    assert len({proposed.space for _, proposed in found}) == 1
    assert all(widened is seen for widened, _ in found)


class Slow(BlockRung):
    """A rung on which every build takes longer than there is time; ``left`` says whether there is any."""

    def __init__(self) -> None:
        self.left = True
        self.fidelity = Fidelity.SIMULATION

    async def judge(self, point: Point) -> Trial | None:  # noqa: ARG002 - as rungs have it
        self.left = False
        return None


def test_points_that_were_built_and_never_measured_are_told_to_be_cut_off(tmp_path: Path) -> None:
    """All points of the budget had been asked for, so that there was nothing left to ask."""
    journal, rung = Journal.create(tmp_path / "journal.sqlite", tmp_path), Slow()
    space = Space((Dimension("place of the lock", ("as it is", "last")),))
    search = optimizer("exhaustive").search(space, 1, 1, 2, 1)
    exploration = Exploration([rung], search, journal, Narration(silent, journal, 60.0), 2)
    asyncio.run(exploration.run(2, lambda: rung.left))
    ((said,),) = journal.rows("SELECT sentence FROM remarks")
    assert str(said).startswith("the time limit was reached before the first trial finished; continue the search")
    journal.close()


BEGUN = RunProgress("building v5", trials=3, budget=20, best="v2", cost=0.501, rung=Fidelity.SIMULATION)
_NO_TRIAL = RunProgress("building v5", limit=300.0)


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        # A cost is no speed, and names its rung: on a higher one another variant may be the best.
        (BEGUN, "building v5; 3 of 20 trials; best so far v2, cost 0.501 of the baseline's (simulated)"),
        (
            replace(BEGUN, best="v3", cost=0.929, rung=Fidelity.BENCHMARK),
            "building v5; 3 of 20 trials; best so far v3, cost 0.929 of the baseline's (benchmarked)",
        ),
        (
            replace(BEGUN, cost=1.002),
            "building v5; 3 of 20 trials; nothing better than the baseline so far (simulated)",
        ),
        # Minutes that are over have tenths while they are few.
        (replace(_NO_TRIAL, seconds=20.0), "building v5; 0.3 of 5 min"),
        (replace(_NO_TRIAL, seconds=299.0), "building v5; 4.9 of 5 min"),
        (replace(_NO_TRIAL, seconds=650.0, limit=14400.0), "building v5; 10 of 240 min"),
        (replace(_NO_TRIAL, seconds=3.0, limit=12.0), "building v5; 0.0 of 0.2 min"),
    ],
)
def test_the_line_that_a_user_sees_while_a_run_goes_on(progress: RunProgress, text: str) -> None:
    assert line(progress) == text


def test_a_line_is_no_wider_than_the_terminal() -> None:
    assert fitting("building v5; 3 of 20 trials", 80) == "building v5; 3 of 20 trials"
    assert fitting("building v5; 3 of 20 trials", 20) == "building v5; 3 of …"


RULES = Rules()
_SEE = "moved: detecting changes of 10% at this noise needs"


def noisy(reach: float) -> Comparison:
    return comparison(0.02, reach, VerdictKind.TOO_NOISY, blocks=4)


def said(*comparisons: Comparison) -> list[str]:
    return list(advice(comparisons, RULES, 30.0, spent=300.0))


@pytest.mark.parametrize(
    ("one", "begin", "words"),
    [
        (noisy(0.11), f"{_SEE} about 6 more blocks (3 min): continue with --resume --minutes 9", ""),
        (noisy(0.4), f"{_SEE} about ", "`most_blocks` in [judge] is 16: let each run of the benchmark take longer"),
        (noisy(30.0), f"{_SEE} more than 1,000 blocks: let each run", ""),
        (replace(noisy(0.4), benchmark=SIMULATED), _SEE, "let the recorded command do more"),
        (
            comparison(0.5, 0.1, VerdictKind.UNDECIDED, blocks=3),
            "moved: the first verdict needs about 1 more block (30 s): continue with",
            "",
        ),
    ],
)
def test_what_would_decide_where_measuring_could_not(one: Comparison, begin: str, words: str) -> None:
    (sentence,) = said(one)
    assert sentence.startswith(begin)
    assert words in sentence


def test_a_verdict_and_what_does_not_decide_need_no_advice() -> None:
    decided = (VerdictKind.BETTER, VerdictKind.WORSE, VerdictKind.NO_DIFFERENCE)
    assert said(*(comparison(0.5, 0.1, verdict) for verdict in decided)) == []
    assert said(replace(noisy(0.4), only_shown=True), replace(noisy(0.4), guard=True)) == []
    assert said(replace(noisy(0.1), error=0.0)) == []  # nothing was counted, so that no block helps


def test_so_many_blocks_bring_the_interval_to_its_width() -> None:
    one = noisy(0.15)
    needed = blocks_needed(one, RULES, 0.1)
    assert needed is not None
    assert needed > 4
    assert reach_at_the_end(one, replace(RULES, most_blocks=needed)) == pytest.approx(0.1, rel=0.15)
