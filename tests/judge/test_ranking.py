# SPDX-License-Identifier: GPL-2.0-or-later
"""Which variants are confirmed, and who won: never the luckiest sample."""

from __future__ import annotations

import pytest
from measured import SECONDS, comparison

from linesmith.analyzer.model import Comparison, VerdictKind
from linesmith.tuner.judge.ranking import cost, finalists, winner

BETTER, WORSE, NOISY = VerdictKind.BETTER, VerdictKind.WORSE, VerdictKind.TOO_NOISY
GAINED = comparison(0.05, 0.01, BETTER)
SIZES = {"thorough": 4, "small": 1}


def test_the_cost_is_a_ratio_below_one_when_it_is_better() -> None:
    aside = [comparison(-0.5, 0.0, guard=True), comparison(-0.5, 0.0, only_shown=True)]
    halved = [comparison(0.5, 0.0, metric=SECONDS), comparison(0.0, 0.0, metric=SECONDS, threads=1)]
    assert cost([comparison(0.25, 0.0)]) == pytest.approx((0.8, 0.0)), "more operations in a second are better"
    assert cost(halved) == pytest.approx((0.5**0.5, 0.0)), "several numbers of threads are one cost"
    assert cost([comparison(0.25, 0.0), *aside]) == pytest.approx((0.8, 0.0)), "guards do not count"
    with pytest.raises(ValueError, match="without a deciding comparison"):
        cost(aside)


def test_who_is_confirmed() -> None:
    lucky, sure = comparison(0.06, 0.12, variant="lucky", blocks=2), comparison(0.05, 0.01, variant="sure")
    assert finalists([lucky, sure, comparison(0.01, 0.01, variant="small")], 2) == ("sure", "lucky")
    assert finalists([comparison(0.5, 1e9, variant="once", blocks=1)], 1) == (), "one block is not enough"
    hurting = [comparison(0.2, 0.01, BETTER, variant="it"), comparison(-0.2, 0.01, WORSE, variant="it", guard=True)]
    assert finalists([comparison(-0.05, 0.01, WORSE, variant="worse"), *hurting], 3) == ()


@pytest.mark.parametrize(
    ("other", "wins"),
    [
        pytest.param(comparison(0.0, 0.01, threads=1), True, id="one gain without a loss"),
        pytest.param(comparison(-0.05, 0.01, WORSE, threads=1), False, id="a loss with one thread"),
        pytest.param(comparison(-0.05, 0.01, WORSE, guard=True), False, id="a guard spoils"),
        pytest.param(comparison(0.0, 9.0, NOISY, guard=True), True, id="a guard that says nothing"),
        pytest.param(comparison(-0.5, 0.1, WORSE, only_shown=True), True, id="what is only shown"),
    ],
)
def test_one_gain_without_a_loss_wins(other: Comparison, wins: bool) -> None:
    assert winner([GAINED, other]) == ("moved" if wins else None)


@pytest.mark.parametrize("aside", ["guard", "only_shown"])
def test_what_does_not_decide_wins_nothing(aside: str) -> None:
    assert winner([comparison(), comparison(0.05, 0.01, BETTER, **{aside: True})]) is None


def test_the_winner_is_the_best_of_those_that_are_better_on_fresh_runs() -> None:
    good, best = (comparison(gain, 0.01, BETTER, variant=name) for name, gain in (("good", 0.04), ("best", 0.06)))
    noisy = comparison(0.09, 0.2, NOISY, variant="noisy")
    assert winner([good, best, noisy]) == "best"
    assert winner([noisy]) is None


def test_of_two_that_cannot_be_told_apart_the_smaller_change_comes_first() -> None:
    alike = [comparison(0.40, 0.05, BETTER, variant="thorough"), comparison(0.38, 0.05, BETTER, variant="small")]
    apart = [comparison(0.40, 0.02, variant="thorough"), comparison(0.10, 0.02, variant="small")]
    assert finalists(alike, 2, SIZES) == ("small", "thorough")
    assert winner(alike, SIZES) == "small"
    assert finalists(apart, 2, SIZES) == ("thorough", "small"), "a smaller change that does much less comes later"
