# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a recommended change: how sure its saving is, and why it is not another one as good."""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.model import Bounds, Move, MoveKind, Saving
from linesmith.tuner.arrangement import Arrangement
from linesmith.tuner.cost.conflict import Cost
from linesmith.tuner.merit import Merit
from linesmith.tuner.recommendation import declined, reason, recommended
from linesmith.tuner.search import Option

SURE = Saving(Bounds(60, 100), likely=88, noise=28, before=100)
DOUBTFUL = Saving(Bounds(-60, 100), likely=88, noise=28, before=100)


def merit(member: str, saving: Saving, around_lock: bool = False) -> Merit:
    """One member of a record of 128 bytes moves to its front."""
    arrangement = Arrangement((1, 0), moves=(Move(MoveKind.MOVE, member),), moved=(1,))
    option = Option(arrangement, (8, 0), 128, 8, Cost(0, 0))
    return Merit(option, 100, 12, 12, 0, 0, 1, 0, 128, 0, 0, around_lock, (), saving)


def test_a_saving_whose_limits_hold_no_loss_is_likely() -> None:
    told = reason(merit("used", SURE), [], "loads")
    assert told == "Likely takes away 88 of 100 contended loads: one member moves, the size stays."


def test_what_grows_around_a_record_is_told_where_its_own_size_stays() -> None:
    told = reason(replace(merit("used", SURE), held=72), [], "loads")
    assert told.endswith("one member moves, the size stays, but a record around it grows by 72 bytes.")


def test_what_grows_around_a_record_by_more_than_it_does_is_told() -> None:
    told = reason(replace(merit("used", SURE), growth=64, held=128), [], "loads")
    assert told.endswith("one member moves and the record grows by 64 bytes, a record around it by 128.")
    told = reason(replace(merit("used", SURE), growth=64, held=64), [], "loads")
    assert told.endswith("one member moves and the record grows by 64 bytes.")


def test_a_change_that_costs_memory_around_the_record_has_to_earn_it() -> None:
    level = merit("used", replace(SURE, likely=70))
    assert recommended([level, replace(merit("limit", SURE), left=0)]) != level
    assert recommended([level, replace(merit("limit", SURE), left=0, held=72, heavier=0.5)]) == level


def test_a_saving_whose_limits_hold_a_loss_is_not_called_likely() -> None:
    told = reason(merit("used", DOUBTFUL), [], "loads")
    assert told.startswith("Perhaps takes away 88 of 100 contended loads: ")


def test_a_loss_that_would_be_chance_takes_nothing_from_a_saving() -> None:
    nothing_to_lose = Saving(Bounds(-28, 100), likely=88, noise=28, before=100)
    assert reason(merit("used", nothing_to_lose), [], "loads").startswith("Likely ")


def test_a_record_that_is_perhaps_another_is_not_promised_a_saving() -> None:
    told = reason(merit("used", SURE), [], "loads", "Whether the record lies there is in doubt.")
    assert told.startswith("Perhaps takes away 88 of 100 contended loads: ")


def test_why_what_meets_a_lock_is_not_moved_instead() -> None:
    """It would save as much, and with better limits."""
    lock, beside = merit("lock", DOUBTFUL), merit("tree", SURE, around_lock=True)
    leaves = "; moving others away from the lock would leave it with all the rest."
    assert reason(lock, [lock, beside], "loads").endswith(leaves)
    assert leaves not in reason(beside, [lock, beside], "loads")


def test_what_saves_less_by_leaving_the_lock_needs_no_word() -> None:
    lock = merit("lock", SURE)
    beside = merit("tree", Saving(Bounds(0, 50), likely=40, noise=28, before=100), around_lock=True)
    assert reason(lock, [lock, beside], "loads").endswith("the size stays.")


def test_what_parts_no_pair_wherever_objects_begin_is_not_recommended() -> None:
    chance = replace(merit("used", SURE), parts=False)
    assert recommended([chance]) is None
    assert declined([chance], "loads") == (
        "Nothing is recommended: the best candidate is predicted to take away 88 of 100 contended loads, and that rests"
        " on where the profile's objects begin: in all phases together its pairs meet as often as now."
    )


def test_what_parts_a_lock_that_all_wait_for_may_double_the_record() -> None:
    """Who holds it waits for what lies beside it, and they all with him: half of their waiting counts besides."""
    few = Saving(Bounds(10, 100), likely=13, noise=3, before=100)
    doubled = replace(merit("lock", few), growth=128, heavier=1.2)
    assert recommended([doubled]) is None
    held = replace(doubled, held_longer=True)
    assert recommended([held]) == held
