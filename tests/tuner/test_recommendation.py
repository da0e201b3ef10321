# SPDX-License-Identifier: GPL-2.0-or-later
"""Which candidate is recommended, by the samples and by a replayed trace, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

from proposals_by_hand import LINE, aligned, moved

from linesmith.analyzer.model import Bounds, Interval, Misses, Move, MoveKind, Saving, SimulatedLines, Simulation
from linesmith.tuner.cost.meetings import Cost
from linesmith.tuner.propose.arrangement import Arrangement
from linesmith.tuner.propose.candidates import Suggestion
from linesmith.tuner.propose.recommendation import declined, reason, recommended
from linesmith.tuner.propose.search import Option
from linesmith.tuner.propose.tradeoff import Tradeoff
from linesmith.tuner.replay.simulated import replayed_choice

SURE = Saving(Bounds(60, 100), likely=88, noise=28, before=100)
DOUBTFUL = replace(SURE, contended=Bounds(-60, 100))


def tradeoff(member: str, saving: Saving, around_lock: bool = False) -> Tradeoff:
    """One member of a record of 128 bytes moves to its front."""
    arrangement = Arrangement((1, 0), moves=(Move(MoveKind.MOVE, member),), moved=(1,))
    option = Option(arrangement, (8, 0), 128, 8, Cost(0, 0))
    return Tradeoff(option, 100, 12, 12, 0, 0, 1, 0, 128, 0, 0, around_lock, (), saving)


USED = tradeoff("used", SURE)
TAKES = "takes away 88 of 100 contended loads: one member moves"


def test_how_sure_a_saving_is_and_what_it_takes() -> None:
    assert reason(USED, [], "loads") == f"Likely {TAKES}, the size stays."
    assert reason(tradeoff("used", DOUBTFUL), [], "loads") == f"Perhaps {TAKES}, the size stays."
    chance = tradeoff("used", replace(SURE, contended=Bounds(-28, 100)))
    assert reason(chance, [], "loads").startswith("Likely "), "a loss that would be chance takes nothing from it"
    around = f"Likely {TAKES}, the size stays, but a record around it grows by 72 bytes."
    assert reason(replace(USED, held=72), [], "loads") == around
    grows = f"Likely {TAKES} and the record grows by 64 bytes"
    assert reason(replace(USED, growth=64, held=128), [], "loads") == f"{grows}, a record around it by 128."
    assert reason(replace(USED, growth=64, held=64), [], "loads") == f"{grows}."
    assert reason(USED, [], "loads", "Whether the record lies there is in doubt.").startswith("Perhaps takes away 88")


def test_why_what_meets_a_lock_is_not_moved_instead() -> None:
    """It would save as much, and with better limits."""
    lock, beside = tradeoff("lock", DOUBTFUL), tradeoff("tree", SURE, around_lock=True)
    leaves = "; moving others away from the lock would leave it with all the rest."
    assert reason(lock, [lock, beside], "loads").endswith(leaves)
    assert leaves not in reason(beside, [lock, beside], "loads")
    less = tradeoff("tree", Saving(Bounds(0, 50), likely=40, noise=28, before=100), around_lock=True)
    sure = tradeoff("lock", SURE)
    assert reason(sure, [sure, less], "loads").endswith("the size stays."), "what saves less needs no word"


def test_a_change_that_costs_memory_around_the_record_has_to_earn_it() -> None:
    level, better = tradeoff("used", replace(SURE, likely=70)), replace(tradeoff("limit", SURE), left=0)
    assert recommended([level, better]) != level
    assert recommended([level, replace(better, held=72, heavier=0.5)]) == level


def test_what_parts_no_pair_wherever_objects_begin_is_not_recommended() -> None:
    chance = replace(USED, parts=False)
    assert recommended([chance]) is None
    assert declined([chance], "loads") == (
        "Nothing is recommended: the best candidate is predicted to take away 88 of 100 contended loads, and that rests"
        " on where the profile's objects begin: in all phases together its pairs meet as often as now."
    )


def test_what_parts_a_lock_that_all_wait_for_may_double_the_record() -> None:
    """Who holds it waits for what lies beside it, and they all with him: half of their waiting counts besides."""
    few = Saving(Bounds(10, 100), likely=13, noise=3, before=100)
    doubled = replace(tradeoff("lock", few), growth=128, heavier=1.2)
    assert recommended([doubled]) is None
    held = replace(doubled, held_longer=True)
    assert recommended([held]) == held


SMALL, LARGE = moved(), aligned()
TAKES_AWAY = "Replayed on the trace it takes away"
NOTHING = "Nothing is recommended: replayed on the trace, "


def replayed(after: int, low: float = -0.9, high: float = -0.01) -> Simulation:
    """100 misses before, ``after`` then."""
    return Simulation((SimulatedLines(64, Misses(100), Misses(after), 5000, Interval(low, high)),), 1, 900)


def chosen(small: Simulation, large: Simulation) -> tuple[str, ...]:
    """Why the small and the large change are recommended, and why neither."""
    (answer,) = replayed_choice([Suggestion(LINE, (SMALL, LARGE))], {1: small, 2: large})
    return *(one.recommended for one in answer.candidates), answer.declined


def test_a_replay_decides_what_is_recommended() -> None:
    """The large one adds a line of 64 bytes to 128: that has to take away more than half again."""
    another = "by the samples alone it would be candidate cjrcg"
    large = f"{TAKES_AWAY} 98 of 100 misses (-98.0%): 1 member moves; {another}."
    assert chosen(replayed(90), replayed(2)) == ("", large, "")
    small = f"{TAKES_AWAY} 90 of 100 misses (-90.0%): 1 member moves."
    assert chosen(replayed(10), replayed(10)) == (small, "", "")
    unknown = Simulation(refusal="The trace has no access to it."), Simulation(refusal="Nor to that.")
    assert chosen(*unknown) == (SMALL.recommended, "", ""), "what could not be replayed keeps what the estimate says"


def test_why_a_replay_recommends_nothing() -> None:
    elsewhere = f"{NOTHING}no candidate has fewer misses than the layout as it is."
    assert chosen(replayed(100), replayed(130)) == ("", "", elsewhere)
    denied = f"{NOTHING}the best candidate takes away 5 of 100 misses (-5.0%), resampled -12.0% to +3.0%."
    assert chosen(replayed(95, -0.12, 0.03), replayed(120)) == ("", "", denied)
    little = f"{NOTHING}the best candidate takes away 4 of 100 misses (-4.0%), too little for what it takes."
    assert chosen(replayed(97), replayed(96)) == ("", "", little)


def test_numbers_go_through_all_answers() -> None:
    first, second = Suggestion(LINE, (SMALL,)), Suggestion(LINE, (LARGE, SMALL))
    answers = replayed_choice([first, second], {1: replayed(100), 2: replayed(100), 3: replayed(10)})
    assert [bool(one.recommended) for answer in answers for one in answer.candidates] == [False, False, True]
