# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to a ratio, its interval and a verdict, and how often that is wrong: small runs of judge_power.py."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from measured import SECONDS, SPEED, STORM, Blocks, compared, samples
from noise_models import BASE, HEAD, METRIC, MODELS, USE, normal, trial
from noise_models import samples as drawn

from linesmith.analyzer.base.errors import BenchmarkNonsense
from linesmith.analyzer.model import Better, Comparison, Metric, Rules, Sample, Use, VerdictKind
from linesmith.tuner.judge.ranking import finalists, winner
from linesmith.tuner.judge.verdict import compare

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
