# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples and comparisons written by hand, for tests of the judge and of the reports."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import Better, Comparison, Metric, Rules, Sample, Use, VerdictKind
from linesmith.tuner.judge.verdict import compare

SECONDS = Metric("seconds", "s", Better.LOWER)
SPEED = Metric("ops_per_second", "ops/s", Better.HIGHER)
STORM = Use("exec-storm")

Blocks = Sequence[tuple[Sequence[float], Sequence[float]]]


def samples(blocks: Blocks, metric: Metric = SECONDS, head: str = "moved", threads: int = 1) -> tuple[Sample, ...]:
    """For each block the values of the baseline's boots and those of the head's, every boot with one sample."""
    found: list[Sample] = []
    for block, sides in enumerate(blocks):
        runs = [(variant, value) for variant, side in zip(("baseline", head), sides, strict=True) for value in side]
        for position, (variant, value) in enumerate(runs):
            boot = len(found)
            found.append(Sample(variant, STORM.label, metric.name, threads, value, block, boot, position))
    return tuple(found)


def compared(blocks: Blocks, metric: Metric = SECONDS, use: Use = STORM, floor: float = 0.0) -> Comparison:
    """The judge's word on such blocks, looked at once."""
    return compare(samples(blocks, metric), metric, use, 1, "baseline", "moved", Rules(), floor)


def comparison(
    gain: float = 0.0,
    reach: float = 0.01,
    verdict: VerdictKind = VerdictKind.NO_DIFFERENCE,
    *,
    variant: str = "moved",
    benchmark: str = "exec-storm",
    metric: Metric = SPEED,
    threads: int = 8,
    blocks: int = 6,
    floor: float = 0.0,
    guard: bool = False,
    tolerance: float = 0.0,
    only_shown: bool = False,
    outliers: tuple[float, ...] = (),
) -> Comparison:
    """A comparison whose interval reaches ``reach``, three errors, to both sides of the ratio that ``gain`` makes."""
    ratio = 1 + gain if metric.better == Better.HIGHER else 1 - gain
    base = tuple(1000.0 + 10 * (boot % 3) for boot in range(2 * blocks))
    head = tuple(value * ratio for value in base)
    reason = "as the test has it"
    return Comparison(
        *(benchmark, metric, threads, "baseline", variant, base, head, ratio, ratio - reach, ratio + reach, floor),
        *(blocks, verdict, reason, guard, outliers, tolerance, 0.98, only_shown, reach / 3),
    )
