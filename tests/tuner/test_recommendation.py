# SPDX-License-Identifier: GPL-2.0-or-later
"""Which candidate the judge recommends, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from proposals_by_hand import LINE, MEMORY, aligned, moved, replayed

from linesmith.analyzer.model import Candidate, Churn, HolderChange
from linesmith.tuner.propose.candidates import Suggestion
from linesmith.tuner.replay.judged import Contender, answered, growth
from linesmith.tuner.replay.plan import ReplayPlan
from linesmith.tuner.replay.runs import ReplayedLayout

ONE, TWO = moved(), replace(moved(), churn=Churn(2, 4), recommended="")
GROWN = aligned()
NOTHING = "Nothing is recommended: "


def judged(candidate: Candidate, *windows: float, low: float = -0.9, high: float = -0.01) -> Contender:
    """The candidate with its misses in each window of one run; the record has 100 now."""
    judgement = replayed(sum(windows), low, high, runs=1)
    return Contender(
        replace(candidate, judgement=judgement, recommended=""), ReplayedLayout(ReplayPlan(()), (windows,), {})
    )


def chosen(*found: Contender, withheld: str = "") -> str:
    """Why the first candidate shown is recommended; else why none is."""
    answer = answered(Suggestion(LINE, (), withheld=withheld), found)
    return answer.candidates[0].recommended or answer.declined


def test_that_is_recommended_which_saves_most_for_what_it_takes() -> None:
    said = "Replayed, it saves 98 of 100 misses of the record (98.0%): 2 members move, a smaller change saves 10."
    assert chosen(judged(ONE, 30, 60), judged(TWO, 1, 1)) == said
    more = "a larger one 4 more, which is not worth what it takes"
    said = f"Replayed, it saves 90 of 100 misses of the record (90.0%): one member moves, {more}."
    assert chosen(judged(ONE, 5, 5), judged(TWO, 3, 3)) == said


def test_of_two_that_replay_cannot_tell_apart_the_smaller_wins() -> None:
    small, large = judged(ONE, 10, 30, 0, 10), judged(TWO, 0, 2, 28, 8)
    assert chosen(large, small).startswith("Replayed, it saves 50 of 100 misses of the record (50.0%): one member")
    surely = judged(TWO, 2, 22, 0, 2)
    assert chosen(surely, small).startswith("Replayed, it saves 74 of 100 misses of the record (74.0%): 2 members move")


def test_memory_has_to_be_earned() -> None:
    """Half as many pages more have to save four times what the best change saves that takes none."""
    assert growth(GROWN) == 0.5
    assert "one member moves" in chosen(judged(ONE, 20, 20), judged(GROWN, 9, 9))
    told = chosen(judged(ONE, 20, 20), judged(GROWN, 7, 7))
    assert told.startswith("Replayed, it saves 60 of 100")
    assert "With 64 bytes more (+50% memory): align used" in told
    assert chosen(judged(ONE, 40, 40), judged(GROWN, 7, 7)).startswith("Replayed, it saves 86 of 100")
    around = HolderChange("struct node", 128, 192, (MEMORY, replace(MEMORY, pages_per_1000=40)))
    assert growth(replace(ONE, holders=(around,))) == 0.25


BEST = "replayed, the best candidate saves "
PERHAPS = "5 of 100 misses of the record (5.0%), perhaps none (80% interval -3.0% to 12.0%)."


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([judged(ONE, 50, 50, high=0.1), judged(TWO, 65, 65)], "replayed, no candidate has fewer misses than the "),
        ([judged(ONE, 45, 50, low=-0.12, high=0.03)], BEST + PERHAPS),
        ([judged(ONE, 49, 50)], f"{BEST}1 of 100 misses of the record (1.0%), too little for what it takes."),
    ],
)
def test_why_nothing_is_recommended(found: Sequence[Contender], said: str) -> None:
    assert chosen(*found).startswith(NOTHING + said)


def test_what_holds_whatever_a_replay_says() -> None:
    assert chosen(judged(ONE, 1, 1), withheld=f"{NOTHING}too cold.") == f"{NOTHING}too cold."
