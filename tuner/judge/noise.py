# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs although the layouts are equal: halves of the baseline's own runs, and placebos (another build salt)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from linesmith.analyzer.model import Comparison, Metric, Rules, Sample, Use
from linesmith.tuner.judge.compare import compare


def noise(
    samples: Sequence[Sample],
    metric: Metric,
    use: Use,
    threads: int,
    baseline: str,
    placebos: Sequence[str],
    rules: Rules,
) -> tuple[Comparison, ...]:
    """The baseline against itself where its blocks have two boots, then each placebo against the baseline."""
    halves = halved(samples, baseline)
    itself = [compare(halves, metric, use, threads, baseline, again(baseline), rules)]
    others = [compare(samples, metric, use, threads, baseline, placebo, rules) for placebo in placebos]
    return tuple(one for one in itself + others if one.blocks > 1)


def floor(comparisons: Iterable[Comparison]) -> float:
    """The largest change (a share) of variants with equal layouts: what is smaller is nothing to claim.

    Few blocks show a change by chance alone. That part is taken off as far as the standard error tells it, by the
    positive part of the estimator of James and Stein; what is left is what the builds themselves differ by. With k
    placebos, a build whose layout changes nothing goes beyond all of them in one case of k + 1.
    """
    return max((_beyond_chance(one) for one in comparisons), default=0.0)


def _beyond_chance(one: Comparison) -> float:
    return abs(one.change) * max(0.0, 1 - (one.error / one.change) ** 2) if one.change else 0.0


def halved(samples: Iterable[Sample], baseline: str) -> tuple[Sample, ...]:
    """The baseline's runs as if every second boot of a block were another variant's; the first takes turns.

    Blocks with one boot of the baseline have no halves and are left out.
    """
    boots: defaultdict[int, set[int]] = defaultdict(set)
    own = [sample for sample in samples if sample.variant == baseline]
    for sample in own:
        boots[sample.block].add(sample.boot)
    return tuple(_half(sample, sorted(boots[sample.block])) for sample in own if len(boots[sample.block]) > 1)


def again(baseline: str) -> str:
    """What the second half of the baseline's runs is called."""
    return f"{baseline} again"


def _half(sample: Sample, boots: Sequence[int]) -> Sample:
    turn = (boots.index(sample.boot) + sample.block) % 2
    return replace(sample, variant=again(sample.variant)) if turn else sample
