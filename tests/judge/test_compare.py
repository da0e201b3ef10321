# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to a ratio, its interval and a verdict; how runs are ordered and when enough is measured; who won."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from measured import SECONDS, SPEED, STORM, Blocks, compared, comparison, samples
from noise_models import BASE, HEAD, METRIC, MODELS, USE, normal, trial
from noise_models import samples as drawn

from linesmith.analyzer.base.errors import BenchmarkNonsense
from linesmith.analyzer.model import Better, Comparison, Metric, Rules, Sample, Use, VerdictKind
from linesmith.tuner.judge.ranking import cost, enough, finalists, order, winner
from linesmith.tuner.judge.verdict import bonferroni_rules, compare, floor, noise, planned_looks

BETTER, WORSE, NONE = VerdictKind.BETTER, VerdictKind.WORSE, VerdictKind.NO_DIFFERENCE
NOISY, UNDECIDED = VerdictKind.TOO_NOISY, VerdictKind.UNDECIDED
ALIKE = [((100.0, 102.0), (101.0, 101.5)), ((99.0, 101.0), (100.0, 100.5)), ((101.0, 99.5), (100.0, 99.0))] * 2
MISSES = Metric("pair", "misses/op", Better.LOWER)
NOTHING = [((0.0, 0.0), (0.0, 0.0))] * 4
SELDOM = [NOTHING[0], ((0.0, 3.0), (0.0, 0.0)), *NOTHING[:3]]
A_LITTLE = [((100.0, 100.01), (100.2, 100.21)), ((100.01, 100.0), (100.21, 100.2))] * 3
WILD = [((100.0, 160.0), (90.0, 70.0)), ((80.0, 50.0), (150.0, 100.0))] * 2


def scaled(by: float) -> Blocks:
    """The blocks that are alike, with the head's values ``by`` times as large."""
    return [(base, [by * value for value in head]) for base, head in ALIKE]


def judged(taken: tuple[Sample, ...]) -> Comparison:
    return compare(taken, SECONDS, STORM, 1, "baseline", "moved", Rules())


def guard(tolerance: float) -> Use:
    return Use("exec-storm", guard=True, tolerance=tolerance)


@pytest.mark.parametrize(
    ("blocks", "arguments", "verdict", "reason"),
    [
        (ALIKE, {}, NONE, "the confidence interval includes 0; a change beyond 0.7% would be detected"),
        (scaled(0.8), {}, BETTER, "interval"),
        (scaled(0.8), {"metric": SPEED}, WORSE, "interval"),
        (scaled(0.8), {"floor": 0.25}, NONE, "it differs by 20.07%, and equal layouts by up to 25.00%"),
        (A_LITTLE, {}, NONE, "it differs by 0.20%, less than the 0.5% that matters"),
        (WILD, {}, NOISY, "only changes beyond "),
        (scaled(0.8)[:1], {}, UNDECIDED, "1 block with numbers of both; 4 are needed for a verdict"),
        (scaled(0.8)[:3], {}, UNDECIDED, "3 blocks with numbers of both; 4 are needed for a verdict"),
        (scaled(0.8)[:4], {}, BETTER, "interval"),
        ([], {}, UNDECIDED, "no blocks with numbers of both; 4 are needed for a verdict"),
        (SELDOM, {"metric": MISSES}, NOISY, "only changes beyond "),
        (NOTHING, {"metric": MISSES}, NOISY, "nothing was counted on either side"),
        (scaled(1.1), {"use": guard(0.02)}, WORSE, "interval"),
        (scaled(1.03), {"use": guard(0.05)}, NONE, "worse by 2.9%, within the tolerance of 5.0%"),
        (scaled(0.97), {"metric": SPEED, "use": guard(0.05)}, NONE, "worse by 3.1%, within the tolerance of 5.0%"),
        (ALIKE, {"use": guard(0.003)}, NONE, "; as a guard it cannot exclude a regression beyond 0.3%"),
    ],
)
def test_a_verdict_and_its_reason(blocks: Blocks, arguments: dict[str, Any], verdict: VerdictKind, reason: str) -> None:
    found = compared(blocks, **arguments)
    assert found.verdict == verdict
    assert reason in found.reason
    assert compared(blocks, **arguments) == found, "the same samples give the same bounds"


def test_the_ratio_is_that_of_the_means_with_an_interval_around_it() -> None:
    assert compared([((1.0, 3.0), (2.0, 4.0)), ((2.0, 2.0), (3.0, 3.0))]).ratio == pytest.approx(1.5)
    less = compared(scaled(0.8))
    assert less.low < 0.8 < less.high < 0.83
    assert round(compared(scaled(0.97), SPEED).change, 3) == -0.031
    steady = compared([((8.0, 8.0), (6.0, 6.0))] * 4)
    assert (steady.low, steady.high) == pytest.approx((0.75, 0.75)), "numbers that never vary"


def test_runs_of_one_boot_are_one_observation() -> None:
    one_boot = tuple(replace(sample, boot=sample.block * 2 + (sample.variant == "moved")) for sample in samples(ALIKE))
    assert judged(one_boot).base == (101.0, 100.0, 100.25, 101.0, 100.0, 100.25)


def test_a_block_without_one_side_and_samples_of_others_do_not_count() -> None:
    found = judged(tuple(one for one in samples(ALIKE) if (one.block, one.variant) != (2, "moved")))
    assert (found.blocks, len(found.base), len(found.head)) == (5, 10, 10)
    faster = scaled(0.8)
    others = (*samples(faster, SPEED), *samples(faster, threads=8), *samples(faster, head="turned"))
    assert judged((*samples(ALIKE), *others)).ratio == pytest.approx(compared(ALIKE).ratio)


def test_outlying_boots_are_named_and_still_counted() -> None:
    found = compared([((100.0, 101.0), (100.0, 101.0)), ((102.0, 1.0), (101.0, 300.0)), *ALIKE])
    assert (found.outliers, compared(ALIKE).outliers) == ((1.0, 300.0), ())
    assert 300.0 in found.head
    assert found.reason.endswith("; far-out runs: 2")


def test_a_pair_that_is_missed_never_again_or_for_the_first_time_has_finite_bounds() -> None:
    gone = compared([((30.0, 0.0), (0.0, 0.0)), ((25.0, 31.0), (0.0, 0.0))] * 3, MISSES)
    assert (gone.ratio, gone.low, gone.verdict, gone.high < 0.5) == (0.0, 0.0, BETTER, True)
    new = compared([((0.0, 0.0), (30.0, 28.0)), ((0.0, 0.0), (25.0, 31.0))] * 3, MISSES)
    assert new.verdict == WORSE
    assert 1 < new.low < new.ratio < new.high < 1000
    neither = compared(NOTHING, MISSES)
    assert (neither.ratio, neither.low, neither.high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_value_that_has_no_ratio_is_refused(value: float) -> None:
    message = r"exec-storm gave .* for seconds .variant moved, block 0.; only numbers"
    with pytest.raises(BenchmarkNonsense, match=message):
        compared([((1.0, 1.0), (value, 1.0))] * 4)


REPETITIONS = 40
# Two kinds of noise that tell most: one without a trend, and one that a schedule without symmetry would fall for.
QUICK = ("normal, 1 %", "linear drift of 10 %")


def marked(*names: str) -> list[Any]:
    return [pytest.param(name, marks=[] if name in QUICK else pytest.mark.study) for name in names]


@pytest.mark.parametrize("name", marked(*MODELS))
def test_a_thing_compared_with_itself_shows_no_difference(name: str) -> None:
    verdicts = Counter(trial(MODELS[name], 0.0, seed).verdict for seed in range(REPETITIONS))
    assert verdicts[VerdictKind.NO_DIFFERENCE] >= 0.95 * REPETITIONS


@pytest.mark.parametrize("name", marked(*QUICK, "step of 5 %", "timer of 2 % steps"))
def test_a_large_difference_is_found_with_few_blocks(name: str) -> None:
    found = [trial(MODELS[name], 0.05, seed) for seed in range(10)]
    assert {one.verdict for one in found} == {VerdictKind.WORSE}
    assert max(one.blocks for one in found) <= 6


def test_bounds_hold_as_often_as_they_say() -> None:
    taken = (drawn(normal(0.03), 8, 0.1, seed) for seed in range(200))
    found = [compare(one, METRIC, USE, 1, BASE, HEAD, Rules()) for one in taken]
    assert 184 <= sum(one.low <= 1.1 <= one.high for one in found) < 200


@pytest.mark.study
def test_the_luckiest_of_equal_variants_is_not_confirmed() -> None:
    noise, confirmed = MODELS["normal, 1 %"], []
    for seed in range(20):
        explored = [replace(trial(noise, 0.0, 100 * seed + n), variant=f"v{n}") for n in range(8)]
        chosen = finalists(explored, 2)
        fresh = [replace(trial(noise, 0.0, 9000 + 100 * seed + n), variant=v) for n, v in enumerate(chosen)]
        assert len(chosen) == 2
        confirmed.append(winner(fresh))
    assert confirmed.count(None) >= 19


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
NO_GAIN = comparison(0.001, 0.003)
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
        pytest.param([NO_GAIN], True, id="nothing that matters is left to find"),
        pytest.param([comparison(0.0, 0.04, blocks=8)], True, id="there is no hope of a difference"),
        pytest.param([VAGUE], False, id="more blocks may say less than too noisy"),
        pytest.param([comparison(0.0, 0.3, VerdictKind.TOO_NOISY, blocks=8)], True, id="they would say the same"),
        pytest.param([CLEAR, replace(UNCLEAR, threads=1)], False, id="one number of threads is not clear"),
        pytest.param([CLEAR, guarded(0.03)], False, id="a guard may not hold"),
        pytest.param([CLEAR, guarded(0.01)], True, id="the guard holds"),
        pytest.param([NO_GAIN, guarded(0.03)], True, id="without a gain nothing needs a guard"),
        pytest.param([CLEAR, replace(UNCLEAR, only_shown=True)], True, id="what is only shown is not waited for"),
    ],
)
def test_when_enough_is_measured(compared: list[Comparison], ends: bool) -> None:
    assert enough(compared, ENDING) is ends


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
