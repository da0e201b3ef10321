# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to a verdict: one metric of one benchmark with one number of threads, two variants."""

from __future__ import annotations

from collections.abc import Iterable

from linesmith.analyzer.model import Comparison, Metric, Rules, Sample, Use, VerdictKind
from linesmith.tuner.judge.interval import RatioInterval, ratio_interval
from linesmith.tuner.judge.looks import level
from linesmith.tuner.judge.outliers import outliers
from linesmith.tuner.judge.paired import Paired, paired
from linesmith.tuner.judge.ruling import Limits, ruling


def compare(
    samples: Iterable[Sample],
    metric: Metric,
    use: Use,
    threads: int,
    baseline: str,
    variant: str,
    rules: Rules,
    floor: float = 0.0,
    looks: int = 1,
) -> Comparison:
    """The variant against the baseline on the blocks in which both ran; samples of other metrics are left out.

    ``floor`` is the change (a share) that equal layouts were seen to have. ``looks`` is how many looks are planned
    while the samples grow (``planned_looks(rules)`` for one after each block): together they err as often as one would.
    Raises ``BenchmarkNonsense`` for values below zero.
    """
    chosen = [one for one in samples if (one.benchmark, one.metric, one.threads) == (use.label, metric.name, threads)]
    sides = paired(chosen, baseline, variant)
    interval = ratio_interval(sides.base, sides.head, level(rules, looks), rules.seed)
    limits = Limits(rules.smallest, floor, use.tolerance if use.guard else None, _fewest(rules))
    far = outliers(sides.base_boots) + outliers(sides.head_boots)
    verdict, reason = _ruled(sides, interval, metric, limits, len(far))
    told = (use.label, metric, threads, baseline, variant, sides.base_boots, sides.head_boots)
    bounds = (interval.ratio, interval.low, interval.high, floor, sides.blocks)
    return Comparison(
        *(*told, *bounds, verdict, reason),
        guard=use.guard,
        outliers=far,
        tolerance=use.tolerance if use.guard else 0.0,
        confidence=rules.confidence,
        error=interval.error,
    )


def _fewest(rules: Rules) -> int:
    """Blocks for a first look: what fewer of them show is none of the looks whose errors are added up."""
    return max(2, min(rules.least_blocks, rules.most_blocks))


def _ruled(sides: Paired, interval: RatioInterval, metric: Metric, limits: Limits, far: int) -> tuple[VerdictKind, str]:
    """The ruling on what was counted, with how many runs were far out where that may be why nothing is seen."""
    if sides.blocks and not (sides.base.any() or sides.head.any()):
        return VerdictKind.TOO_NOISY, "nothing was counted on either side, so nothing is known"
    verdict, reason = ruling(interval, metric.better, limits, sides.blocks)
    seen = verdict in (VerdictKind.BETTER, VerdictKind.WORSE)
    return verdict, reason if seen or not far else f"{reason}; far-out runs: {far}"
