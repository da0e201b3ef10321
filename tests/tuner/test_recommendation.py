# SPDX-License-Identifier: GPL-2.0-or-later
"""Which candidate the judge recommends, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hand_made import finding, hot, scalar, struct, table
from proposals_by_hand import LINE, MEMORY, aligned, moved, replayed

from linesmith.analyzer.model import Bounds, Candidate, Churn, ConflictPair, HolderChange, SharingCost, Side
from linesmith.tuner.propose.advice import meeting_here
from linesmith.tuner.propose.candidates import Suggestion
from linesmith.tuner.replay.plan import ReplayPlan
from linesmith.tuner.replay.recommend import Contender, answered, growth
from linesmith.tuner.replay.runs import ReplayedLayout

ONE, TWO = moved(), replace(moved(), churn=Churn(2, 4, 2), recommended="")
GROWN = aligned()
NOTHING = "Nothing is recommended: "


def judged(candidate: Candidate, *windows: float, low: float = -0.9, high: float = -0.01, runs: int = 1) -> Contender:
    """The candidate with its misses in each window of one run (as of so many); the record has 100 now."""
    judgement = replayed(sum(windows), low, high, runs=runs)
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


def test_members_that_move_as_one_are_read_as_one() -> None:
    """A group of twelve members between its marks moves as a whole: more lines of a diff, but one thing to look at."""
    group = replace(ONE, churn=Churn(12, 24, 1))
    assert "12 members move" in chosen(judged(ONE, 20, 20), judged(group, 5, 5))
    assert "one member moves" in chosen(judged(ONE, 20, 20), judged(replace(group, churn=Churn(12, 24, 12)), 5, 5))


def test_of_two_that_replay_cannot_tell_apart_the_smaller_wins() -> None:
    small, large = judged(ONE, 10, 30, 0, 10), judged(TWO, 0, 2, 28, 8)
    assert chosen(large, small).startswith("Replayed, it saves 50 of 100 misses of the record (50.0%): one member")
    surely = judged(TWO, 2, 22, 0, 2)
    assert chosen(surely, small).startswith("Replayed, it saves 74 of 100 misses of the record (74.0%): 2 members move")


def test_a_member_that_newly_meets_a_writer_may_cost_what_no_sample_shows() -> None:
    """A smaller change is not taken for equal then, unless a trace had all that the run used."""
    risky, safe = replace(ONE, exposed=1.0), TWO
    assert "2 members move" in chosen(judged(risky, 10, 30, 0, 10, runs=30), judged(safe, 0, 2, 28, 8, runs=30))
    assert "one member moves" in chosen(judged(risky, 10, 30, 0, 10), judged(safe, 0, 2, 28, 8))


def test_of_equal_moves_the_one_of_the_lock_is_taken_whatever_it_risks() -> None:
    lock, around = judged(replace(ONE, exposed=1.0), 10, 30, 0, 10, runs=30), judged(ONE, 0, 2, 28, 8, runs=30)
    assert "50 of 100" in chosen(replace(around, around_lock=True), lock)
    assert "62 of 100" in chosen(around, lock)


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
PERHAPS = "5 of 100 misses of the record (5.0%), which may be noise (80% interval -3.0% to 12.0%)."


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([judged(ONE, 50, 50, high=0.1), judged(TWO, 65, 65)], "replayed, no candidate has fewer misses than the "),
        ([judged(ONE, 45, 50, low=-0.12, high=0.03)], BEST + PERHAPS),
        ([judged(ONE, 49, 50)], f"{BEST}1 of 100 misses of the record (1.0%), less than 2% of its misses."),
    ],
)
def test_why_nothing_is_recommended(found: Sequence[Contender], said: str) -> None:
    assert chosen(*found).startswith(NOTHING + said)


def test_what_holds_whatever_a_replay_says() -> None:
    assert chosen(judged(ONE, 1, 1), withheld=f"{NOTHING}too cold.") == f"{NOTHING}too cold."


def test_an_element_of_an_array_is_as_well_known_as_the_array() -> None:
    queue = struct("queue", scalar("flag"), scalar("slots", 32), scalar("other"))
    members = hot("flag", 0, 8, 100), hot("slots[0].n", 8, 8, 0, 100), replace(hot("other", 40, 8, 1), doubted=True)
    found = finding(queue, members, [pair := ConflictPair("flag", "slots", "slots", 100)])
    met = SharingCost(Side("flag", 100, 0), Side("slots[0]", 0, 100), Bounds(100, 100), Bounds())
    unsure = replace(found.objects[0], margin=0.5)
    found = replace(found, objects=(unsure,), cost=replace(found.cost, sharings=(met,)))
    assert meeting_here(found, table(queue)).triage.pairs == (pair,)
