# SPDX-License-Identifier: GPL-2.0-or-later
"""How runs are ordered and looked at, what equal layouts differ by, when measuring ends, and who won."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from measured import SECONDS, STORM, comparison, samples

from linesmith.analyzer.model import Comparison, Rules, VerdictKind
from linesmith.tuner.judge.interval import planned_looks
from linesmith.tuner.judge.ranking import cost, enough, finalists, order, winner
from linesmith.tuner.judge.verdict import bonferroni_rules, compare, floor, noise

RULES = Rules(confidence=0.95, least_blocks=4, most_blocks=16)
BLOCKS = [((100.0, 101.0), (104.0, 105.0)), ((101.0, 100.0), (105.0, 104.5))] * 2


def test_a_block_runs_one_side_around_the_other_so_that_a_steady_drift_adds_the_same_to_both() -> None:
    assert {order("a", "b", block, seed=1) for block in range(20)} == {("a", "b", "b", "a"), ("b", "a", "a", "b")}


def test_two_blocks_in_a_row_begin_with_different_sides_and_chance_decides_with_which() -> None:
    firsts = [order("a", "b", block, seed=3)[0] for block in range(200)]
    assert all(firsts[block] != firsts[block + 1] for block in range(0, 200, 2))
    assert 35 < Counter(firsts[::2])["a"] < 65
    firsts = [order("baseline", "moved", block, seed=7)[0] for block in range(6)]
    assert firsts == ["baseline", "moved", "moved", "baseline", "moved", "baseline"]


def test_many_looks_and_many_comparisons_err_together_as_often_as_one() -> None:
    assert planned_looks(RULES) == 13
    assert [planned_looks(replace(RULES, most_blocks=most)) for most in (3, 4)] == [1, 1]
    taken = samples([((100.0, 101.0), (104.0, 105.0)), ((101.0, 99.0), (105.5, 104.5))] * 3)
    reaches = [
        compare(taken, SECONDS, STORM, 1, "baseline", "moved", RULES, looks=looks).high for looks in (1, 2, 4, 13)
    ]
    assert reaches == sorted(set(reaches))
    assert bonferroni_rules(RULES, 4).confidence == pytest.approx(0.9875)
    assert bonferroni_rules(RULES, 0) == RULES


def test_the_baseline_and_each_placebo_are_compared_and_a_real_difference_is_the_floor() -> None:
    taken = samples(BLOCKS, head="placebo-1")
    found = noise(taken, SECONDS, STORM, 1, "baseline", ["placebo-1", "placebo-2"], Rules())
    assert [(one.variant, one.blocks) for one in found] == [("baseline again", 4), ("placebo-1", 4)]
    assert floor(found) == pytest.approx(0.041, abs=0.001)


@pytest.mark.parametrize(
    ("found", "expected"),
    [([comparison(0.01, 0.1)], 0.0), ([comparison(0.02, 0.02), comparison(0.001, 0.02)], 0.018), ([], 0.0)],
)
def test_what_chance_explains_is_no_floor(found: list[Comparison], expected: float) -> None:
    assert floor(found) == pytest.approx(expected, abs=0.001)


ENDING = Rules(least_blocks=4, most_blocks=16, smallest=0.005)
CLEAR = comparison(0.1, 0.05, VerdictKind.BETTER)
UNCLEAR = comparison(0.02, 0.025)
VAGUE = comparison(0.0, 0.11, VerdictKind.TOO_NOISY, blocks=8)
NOTHING = comparison(0.001, 0.003)
LOST = comparison(-0.1, 0.02, VerdictKind.WORSE, guard=True, tolerance=0.02, benchmark="page-faults")


def guarded(reach: float) -> Comparison:
    return comparison(0.0, reach, guard=True, tolerance=0.02)


@pytest.mark.parametrize(
    ("compared", "ends"),
    [
        pytest.param([], False, id="nothing is measured"),
        pytest.param([replace(CLEAR, blocks=3)], False, id="fewer blocks than the least"),
        pytest.param([replace(CLEAR, blocks=4)], True, id="all is clear"),
        pytest.param([UNCLEAR], False, id="a difference is not clear yet"),
        pytest.param([replace(UNCLEAR, blocks=16)], True, id="the most blocks are measured"),
        pytest.param([UNCLEAR, LOST], True, id="a guard became worse"),
        pytest.param([NOTHING], True, id="nothing that matters is left to find"),
        pytest.param([comparison(0.0, 0.04, blocks=8)], True, id="there is no hope of a difference"),
        pytest.param([VAGUE], False, id="more blocks may say less than too noisy"),
        pytest.param([comparison(0.0, 0.3, VerdictKind.TOO_NOISY, blocks=8)], True, id="they would say the same"),
        pytest.param([CLEAR, replace(UNCLEAR, threads=1)], False, id="one number of threads is not clear"),
        pytest.param([CLEAR, guarded(0.03)], False, id="a guard may not hold"),
        pytest.param([CLEAR, guarded(0.01)], True, id="the guard holds"),
        pytest.param([NOTHING, guarded(0.03)], True, id="without a gain nothing needs a guard"),
        pytest.param([CLEAR, replace(UNCLEAR, only_shown=True)], True, id="what is only shown is not waited for"),
    ],
)
def test_when_enough_is_measured(compared: list[Comparison], ends: bool) -> None:
    assert enough(compared, ENDING) is ends


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


def test_what_does_not_decide_wins_nothing() -> None:
    assert winner([comparison(), comparison(0.05, 0.01, BETTER, guard=True)]) is None
    assert winner([comparison(), comparison(0.05, 0.01, BETTER, only_shown=True)]) is None


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
