# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to a ratio, its interval and a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from measured import SECONDS, SPEED, STORM, compared, samples

from linesmith.analyzer.errors import BenchmarkNonsense
from linesmith.analyzer.model import Better, Metric, Rules, Use, VerdictKind
from linesmith.tuner.judge.compare import compare

ALIKE = [((100.0, 102.0), (101.0, 101.5)), ((99.0, 101.0), (100.0, 100.5)), ((101.0, 99.5), (100.0, 99.0))] * 2
FASTER = [(base, [0.8 * value for value in head]) for base, head in ALIKE]
MISSES = Metric("pair", "misses/op", Better.LOWER)


def test_the_ratio_is_that_of_the_means() -> None:
    assert compared([((1.0, 3.0), (2.0, 4.0)), ((2.0, 2.0), (3.0, 3.0))]).ratio == pytest.approx(1.5)


def test_runs_of_one_boot_are_one_observation() -> None:
    one_boot = [replace(sample, boot=sample.block * 2 + (sample.variant == "moved")) for sample in samples(ALIKE)]
    found = compare(one_boot, SECONDS, STORM, 1, "baseline", "moved", Rules())
    assert found.base == (101.0, 100.0, 100.25, 101.0, 100.0, 100.25)


def test_a_block_in_which_one_side_is_missing_does_not_count() -> None:
    taken = [one for one in samples(ALIKE) if (one.block, one.variant) != (2, "moved")]
    found = compare(taken, SECONDS, STORM, 1, "baseline", "moved", Rules())
    assert (found.blocks, len(found.base), len(found.head)) == (5, 10, 10)


def test_other_metrics_threads_and_variants_are_left_out() -> None:
    others = (*samples(FASTER, SPEED), *samples(FASTER, threads=8), *samples(FASTER, head="turned"))
    found = compare((*samples(ALIKE), *others), SECONDS, STORM, 1, "baseline", "moved", Rules())
    assert found.ratio == pytest.approx(compared(ALIKE).ratio)


def test_alike_is_no_difference_with_the_change_that_would_be_seen() -> None:
    found = compared(ALIKE)
    assert found.verdict == VerdictKind.NO_DIFFERENCE
    assert found.reason == "zero lies inside the interval; a change beyond 0.7% would be seen"


@pytest.mark.parametrize(("metric", "verdict"), [(SECONDS, VerdictKind.BETTER), (SPEED, VerdictKind.WORSE)])
def test_a_fifth_less_is_better_or_worse_as_the_metric_goes(metric: Metric, verdict: VerdictKind) -> None:
    found = compared(FASTER, metric)
    assert found.verdict == verdict
    assert found.low < 0.8 < found.high < 0.83


def test_a_difference_too_small_to_matter_is_none() -> None:
    found = compared([((100.0, 100.01), (100.2, 100.21)), ((100.01, 100.0), (100.21, 100.2))] * 3)
    assert (found.verdict, found.reason) == (
        VerdictKind.NO_DIFFERENCE,
        "it differs by 0.20%, less than the 0.5% that matters",
    )


def test_what_equal_layouts_differ_by_is_not_claimed() -> None:
    found = compared(FASTER, floor=0.25)
    assert (found.verdict, found.reason) == (
        VerdictKind.NO_DIFFERENCE,
        "it differs by 20.07%, and equal layouts by up to 25.00%",
    )


def test_an_interval_many_times_wider_than_what_matters_is_too_noisy() -> None:
    found = compared([((100.0, 160.0), (90.0, 70.0)), ((80.0, 50.0), (150.0, 100.0))] * 2)
    assert found.verdict == VerdictKind.TOO_NOISY
    assert found.reason.startswith("only changes beyond ")


def test_far_out_boots_are_shown_and_counted() -> None:
    found = compared([((100.0, 101.0), (100.0, 101.0)), ((102.0, 100.0), (101.0, 300.0)), *ALIKE])
    assert found.outliers == (300.0,)
    assert 300.0 in found.head
    assert found.reason.endswith("; far-out runs: 1")


def test_one_block_is_not_enough_to_say_anything() -> None:
    found = compared(FASTER[:1])
    assert (found.verdict, found.reason) == (
        VerdictKind.UNDECIDED,
        "1 block with numbers of both, and 4 are the least that decide",
    )


def test_blocks_that_were_cut_short_by_the_time_decide_nothing_however_clear_they_look() -> None:
    found = compared(FASTER[:3])
    assert found.high < 0.9
    assert (found.verdict, found.reason) == (
        VerdictKind.UNDECIDED,
        "3 blocks with numbers of both, and 4 are the least that decide",
    )
    assert compared(FASTER[:4]).verdict == VerdictKind.BETTER


def test_no_block_at_all_is_said_so() -> None:
    assert compared([]).reason == "no blocks with numbers of both, and 4 are the least that decide"


def test_numbers_that_never_vary_have_an_interval_without_width() -> None:
    found = compared([((8.0, 8.0), (6.0, 6.0))] * 4)
    assert (found.low, found.high) == pytest.approx((0.75, 0.75))
    assert found.verdict == VerdictKind.BETTER


def test_a_pair_that_is_never_missed_any_more_is_better() -> None:
    found = compared([((30.0, 0.0), (0.0, 0.0)), ((25.0, 31.0), (0.0, 0.0))] * 3, MISSES)
    assert (found.ratio, found.low, found.verdict) == (0.0, 0.0, VerdictKind.BETTER)
    assert found.high < 0.5


def test_a_pair_that_is_missed_anew_is_worse_by_a_finite_ratio() -> None:
    found = compared([((0.0, 0.0), (30.0, 28.0)), ((0.0, 0.0), (25.0, 31.0))] * 3, MISSES)
    assert found.verdict == VerdictKind.WORSE
    assert 1 < found.low < found.ratio < found.high < 1000


def test_few_misses_in_one_boot_of_many_show_nothing() -> None:
    found = compared([((0.0, 0.0), (0.0, 0.0)), ((0.0, 3.0), (0.0, 0.0)), *[((0.0, 0.0), (0.0, 0.0))] * 3], MISSES)
    assert found.verdict == VerdictKind.TOO_NOISY


def test_of_misses_on_neither_side_nothing_is_known() -> None:
    found = compared([((0.0, 0.0), (0.0, 0.0))] * 4, MISSES)
    assert (found.ratio, found.low, found.high) == (1.0, 1.0, 1.0)
    assert (found.verdict, found.reason) == (
        VerdictKind.TOO_NOISY,
        "nothing was counted on either side, so nothing is known",
    )


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_value_without_a_ratio_is_nonsense(value: float) -> None:
    with pytest.raises(
        BenchmarkNonsense, match=r"exec-storm gave .* for seconds .variant moved, block 0.; only numbers"
    ):
        compared([((1.0, 1.0), (value, 1.0))] * 4)


def test_a_guard_that_loses_more_than_it_may_is_worse() -> None:
    slower = [(base, [1.1 * value for value in head]) for base, head in ALIKE]
    found = compared(slower, use=replace(STORM, guard=True, tolerance=0.02))
    assert (found.verdict, found.guard, found.tolerance) == (VerdictKind.WORSE, True, 0.02)


def test_a_guard_may_lose_what_is_tolerated() -> None:
    slower = [(base, [1.03 * value for value in head]) for base, head in ALIKE]
    found = compared(slower, use=Use("exec-storm", guard=True, tolerance=0.05))
    assert (found.verdict, found.reason) == (
        VerdictKind.NO_DIFFERENCE,
        "worse by 2.9%, within the tolerance of 5.0%",
    )


def test_a_guard_says_when_it_cannot_exclude_a_regression() -> None:
    found = compared(ALIKE, use=Use("exec-storm", guard=True, tolerance=0.003))
    assert found.verdict == VerdictKind.NO_DIFFERENCE
    assert found.reason.endswith("; as a guard it cannot exclude a regression beyond 0.3%")


def test_the_same_samples_give_the_same_bounds() -> None:
    assert compared(ALIKE) == compared(ALIKE)


def test_a_loss_is_told_by_the_share_that_the_change_shows() -> None:
    slower = [(base, [0.97 * value for value in head]) for base, head in ALIKE]
    found = compared(slower, SPEED, Use("exec-storm", guard=True, tolerance=0.05))
    assert (round(found.change, 3), found.reason) == (-0.031, "worse by 3.1%, within the tolerance of 5.0%")
