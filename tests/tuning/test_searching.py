# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search goes out from, what it says while it goes on, and what it advises at its end."""

from __future__ import annotations

import asyncio
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import meeting, scalar, struct, table
from measured import comparison
from tuning.project import silent

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.cli.runs import fitting, line
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import (
    SIMULATED,
    Access,
    CacheLine,
    Comparison,
    Dimension,
    Fidelity,
    ObjectArea,
    ObjectKind,
    Point,
    Profile,
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
from linesmith.tuner.run.result import advice
from linesmith.tuner.run.rungs import BlockRung
from linesmith.tuner.run.tune import Exploration, searched

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
            r"^line 0 of profile\.json: no object is known .* `linesmith hot products/door profile\.json` for wh",
        ),
        ("shop::Counter", r"; door has C\+\+ types, and only C types are supported$"),
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
        (
            noisy(0.4),
            f"{_SEE} about ",
            "and `most_blocks` in [judge] is 16: let each run of the benchmark take longer, on a quieter machine",
        ),
        (noisy(30.0), f"{_SEE} more than 1,000 blocks: let each run", ""),
        (replace(noisy(0.4), benchmark=SIMULATED), _SEE, "let the recorded command do more"),
        (
            comparison(0.5, 0.1, VerdictKind.UNDECIDED, blocks=3),
            "moved: the first verdict needs about 1 more block (30 s): continue with --resume --minutes 7",
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
