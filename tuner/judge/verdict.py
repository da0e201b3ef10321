# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to a verdict: one metric of one benchmark with one number of threads, two variants.

Bounds for the ratio of means, from few blocks, are a bootstrap of whole blocks with Student's allowance for their
number, on the logarithm, so that no bound is below zero. With four blocks the quantiles of the drawings are far too
narrow (a nominal 95 % holds in 80 %), so only their standard error is taken. docs/judge.md has the coverage. Source:
Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 6 and 12.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from linesmith.analyzer.base.errors import BenchmarkNonsense
from linesmith.analyzer.model import Better, Comparison, Metric, Rules, Sample, Use, VerdictKind

# An interval that reaches this many times farther than what matters tells nothing about what matters.
NOISY = 20.0
# Interquartile ranges from the middle half to an outlier, and values that have a middle half.
FENCE = 3.0
# An interval of the ratio that is wider than this, where runs of the baseline count nothing, tells of no change.
NO_SIZE = 10.0
FEWEST = 6
Means = NDArray[np.float64]
Boots = Mapping[tuple[int, int], float]
# So many times the looks are played through, and blocks are drawn.
PLAYED = 100_000
RESAMPLES = 999
# Nothing is known of a ratio beyond it.
UNBOUNDED = 1e9
# A logarithm whose exponential is beyond that.
FAR = 50.0


# Samples of two variants side by side: means of boots first, then of the blocks in which both ran.


@dataclass(frozen=True, slots=True)
class Paired:
    """``base_boots`` and ``head_boots`` are means of boots, oldest first; ``base`` and ``head`` are means of blocks.

    Only blocks in which both sides gave a number are there, and entry i of ``base`` and ``head`` is the same block.
    """

    base_boots: tuple[float, ...]
    head_boots: tuple[float, ...]
    base: Means
    head: Means

    @property
    def blocks(self) -> int:
        """How many blocks there are: the number of independent observations."""
        return len(self.base)


def paired(samples: Iterable[Sample], baseline: str, variant: str) -> Paired:
    """The two sides of one metric; ``samples`` are of that metric only, other variants are left out.

    Raises ``BenchmarkNonsense`` for a value that is negative or no number: such values have no ratio.
    """
    chosen = [sample for sample in samples if sample.variant in (baseline, variant)]
    for sample in chosen:
        if not math.isfinite(sample.value) or sample.value < 0:
            raise BenchmarkNonsense(
                f"{sample.benchmark} gave {sample.value} for {sample.metric} (variant {sample.variant}, block"
                f" {sample.block}); only numbers >= 0 can be compared; check the benchmark's pattern"
            )
    base, head = boot_means(chosen, baseline), boot_means(chosen, variant)
    blocks = sorted({block for block, _ in base} & {block for block, _ in head})
    base_boots = tuple(mean for (block, _), mean in base.items() if block in blocks)
    head_boots = tuple(mean for (block, _), mean in head.items() if block in blocks)
    return Paired(base_boots, head_boots, _block_means(base, blocks), _block_means(head, blocks))


def boot_means(samples: Iterable[Sample], variant: str) -> dict[tuple[int, int], float]:
    """The mean of each boot of a variant, by block and boot."""
    values: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for sample in samples:
        if sample.variant == variant:
            values[sample.block, sample.boot].append(sample.value)
    return {place: math.fsum(taken) / len(taken) for place, taken in sorted(values.items())}


def _block_means(boots: Boots, blocks: Iterable[int]) -> Means:
    return np.array(
        [np.mean([mean for (of, _), mean in boots.items() if of == block]) for block in blocks], dtype=float
    )


# How sure each look at growing data must be, so that all looks together err no more often than was asked for.
#
# The same level holds at every look (Pocock, "Group sequential methods in the design and analysis of clinical trials",
# Biometrika 64, 1977), so a large effect is seen at the first one. It is found by playing the looks through on blocks
# of pure noise: formulas for normal noise of known size let too much pass with blocks as few as four.


def planned_looks(rules: Rules) -> int:
    """How many looks there are when one is taken after each block from the least to the most."""
    return max(1, rules.most_blocks - rules.least_blocks + 1)


def level(rules: Rules, looks: int) -> float:
    """The share of errors allowed at each of ``looks`` looks, spread evenly from the least to the most blocks."""
    if looks <= 1:
        return 1 - rules.confidence
    return _level(round(1 - rules.confidence, 9), max(2, rules.least_blocks), rules.most_blocks, looks)


@lru_cache(maxsize=64)
def _level(errors: float, least: int, most: int, looks: int) -> float:
    at = {round(float(blocks)) for blocks in np.linspace(least, most, looks)}
    draw = np.random.default_rng(1)
    total, squares, smallest = np.zeros(PLAYED), np.zeros(PLAYED), np.ones(PLAYED)
    for blocks in range(1, most + 1):
        noise = draw.standard_normal(PLAYED)
        total, squares = total + noise, squares + noise * noise
        if blocks in at:
            error = np.sqrt((squares - total * total / blocks) / (blocks - 1) / blocks)
            smallest = np.minimum(smallest, 2 * stdtr(blocks - 1, -np.abs(total) / blocks / error))
    return float(np.quantile(smallest, errors))


# The ratio and its bounds.


def seed_of(*parts: int | str | float) -> int:
    """A seed of 64 bits from what the drawing is about, for drawings that are made again alike elsewhere.

    The built-in ``hash`` differs from process to process.
    """
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """The ratio head / base of the means over all blocks, and its bounds; all are finite.

    ``error`` is the standard error of the ratio's logarithm.
    """

    ratio: float
    low: float
    high: float
    error: float = 0.0

    @property
    def reach(self) -> float:
        """Half its width."""
        return (self.high - self.low) / 2


def ratio_interval(base: Means, head: Means, level: float, seed: int) -> RatioInterval:
    """The ratio with bounds that both miss the true one in a share ``level`` of all cases; entry i is block i.

    Fewer than two blocks say nothing: the bounds are 0 and ``UNBOUNDED``. Zeros are counts like any. As soon as a
    block has none, both sums get half of the smallest value seen before the logarithm is taken, so that it is finite.
    """
    if not (base.any() or head.any()):
        return RatioInterval(1.0, 1.0, 1.0) if len(base) > 1 else RatioInterval(1.0, 0.0, UNBOUNDED, UNBOUNDED)
    means = np.concatenate([base, head])
    # 0 where no drawing may find none on one side: there the ratio is left as it is.
    half = 0.0 if means.all() else float(means[means > 0].min()) / 2
    logarithm = float(_log_ratio(base, head, half))
    ratio = float(head.sum() / base.sum()) if base.any() else float(np.exp(logarithm))
    if len(base) < 2:
        return RatioInterval(ratio, 0.0, UNBOUNDED, UNBOUNDED)
    draw = np.random.default_rng(seed_of(seed, len(base), *map(float, base), *map(float, head)))
    drawn = draw.integers(0, len(base), (RESAMPLES, len(base)))
    spread = np.std(_log_ratio(base[drawn], head[drawn], half), ddof=1)
    # The bootstrap's own is short by this factor for few blocks.
    error = float(spread) * float(np.sqrt(len(base) / (len(base) - 1)))
    reach = float(stdtrit(len(base) - 1, 1 - level / 2)) * error
    low = float(np.exp(logarithm - reach)) if head.any() else 0.0
    high = min(float(np.exp(min(logarithm + reach, FAR))), UNBOUNDED)
    return RatioInterval(ratio, min(low, ratio), max(ratio, high), error)


def _log_ratio(base: ArrayLike, head: ArrayLike, half: float) -> NDArray[np.float64]:
    above, below = np.sum(head, axis=-1) + half, np.sum(base, axis=-1) + half
    return np.asarray(np.log(above / below), dtype=np.float64)


def bonferroni_rules(rules: Rules, comparisons: int) -> Rules:
    """The rules for each of so many comparisons, any of which may make a variant better.

    Their errors are added up (Bonferroni): it asks nothing of how the metrics of one boot depend on each other. Count
    the deciding comparisons of all variants that are confirmed; guards only forbid, so they need no correction.
    """
    return replace(rules, confidence=1 - (1 - rules.confidence) / max(1, comparisons))


@dataclass(frozen=True, slots=True)
class Limits:
    """Changes as shares: ``smallest`` matters, ``floor`` is what equal layouts showed, ``tolerance`` is a guard's.

    With fewer than ``blocks`` blocks nothing is decided.
    """

    smallest: float
    floor: float
    tolerance: float | None = None
    blocks: int = 2

    @property
    def least(self) -> float:
        """The smallest change that is a difference."""
        return max(self.smallest, self.floor)


def ruling(interval: RatioInterval, better: Better, limits: Limits, blocks: int) -> tuple[VerdictKind, str]:
    """The verdict and the sentence that says why."""
    if blocks < limits.blocks:
        counted = f"{blocks or 'no'} block{'s' * (blocks != 1)} with numbers of both"
        return VerdictKind.UNDECIDED, f"{counted}; {limits.blocks} are needed for a verdict"
    loss = losses(interval, better)
    verdict, reason = _by_interval(loss, limits)
    if limits.tolerance is not None and verdict != VerdictKind.WORSE and loss.high > 1 + limits.tolerance:
        reason += f"; as a guard it cannot exclude a regression beyond {limits.tolerance:.1%}"
    return verdict, reason


def losses(interval: RatioInterval, better: Better) -> RatioInterval:
    """The interval turned so that what lies above one is a loss, by the same share as the change that is reported."""
    if better == Better.LOWER:
        return interval
    return RatioInterval(2 - interval.ratio, 2 - interval.high, 2 - interval.low)


def _by_interval(loss: RatioInterval, limits: Limits) -> tuple[VerdictKind, str]:
    if loss.low <= 1 <= loss.high:
        return _zero_inside(loss, limits)
    change = abs(loss.ratio - 1)
    if loss.ratio > 1 and change <= (limits.tolerance or 0.0):
        return VerdictKind.NO_DIFFERENCE, f"worse by {change:.1%}, within the tolerance of {limits.tolerance:.1%}"
    if change < limits.smallest:
        return (
            VerdictKind.NO_DIFFERENCE,
            f"it differs by {change:.2%}, less than the {limits.smallest:.1%} that matters",
        )
    if change <= limits.floor:
        return VerdictKind.NO_DIFFERENCE, f"it differs by {change:.2%}, and equal layouts by up to {limits.floor:.2%}"
    kind = VerdictKind.BETTER if loss.ratio < 1 else VerdictKind.WORSE
    return kind, "the confidence interval excludes 0"


def _zero_inside(loss: RatioInterval, limits: Limits) -> tuple[VerdictKind, str]:
    if loss.reach > NOISY * limits.least:
        return (
            VerdictKind.TOO_NOISY,
            f"only changes beyond {loss.reach:.1%} can be detected, and {limits.least:.1%} matters",
        )
    if 1 - limits.least <= loss.low and loss.high <= 1 + limits.least:
        return VerdictKind.NO_DIFFERENCE, f"any difference is below {limits.least:.1%}"
    return (
        VerdictKind.NO_DIFFERENCE,
        f"the confidence interval includes 0; a change beyond {loss.reach:.1%} would be detected",
    )


def outliers(values: Sequence[float]) -> tuple[float, ...]:
    """Those more than three interquartile ranges away from the middle half, in the order given.

    They are shown and count like any, for they may be the effect itself. Fewer than six values have no middle half to
    speak of: none of them is an outlier. Source: the boxplot's far-out fences of Tukey, "Exploratory Data Analysis"
    (1977).
    """
    if len(values) < FEWEST:
        return ()
    low, high = np.quantile(values, (0.25, 0.75))
    reach = FENCE * (high - low)
    return tuple(value for value in values if value < low - reach or value > high + reach)


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
    # What fewer blocks than a first look has show is none of the looks whose errors are added up.
    fewest = max(2, min(rules.least_blocks, rules.most_blocks))
    limits = Limits(rules.smallest, floor, use.tolerance if use.guard else None, fewest)
    far = outliers(sides.base_boots) + outliers(sides.head_boots)
    verdict, reason = _ruled(sides, interval, metric, limits, len(far))
    compared = (use.label, metric, threads, baseline, variant, sides.base_boots, sides.head_boots)
    bounds = (interval.ratio, interval.low, interval.high, floor, sides.blocks)
    return Comparison(
        *(*compared, *bounds, verdict, reason),
        guard=use.guard,
        outliers=far,
        tolerance=use.tolerance if use.guard else 0.0,
        confidence=rules.confidence,
        error=interval.error,
    )


def _ruled(sides: Paired, interval: RatioInterval, metric: Metric, limits: Limits, far: int) -> tuple[VerdictKind, str]:
    """The ruling on what was counted, with how many runs were far out where that may be why nothing is seen."""
    if sides.blocks and not (sides.base.any() or sides.head.any()):
        return VerdictKind.TOO_NOISY, "nothing was counted on either side"
    if sides.blocks and sides.base.any() and not sides.base.all() and interval.high > interval.low + NO_SIZE:
        few = "some runs of the baseline count nothing, so there is no ratio"
        return VerdictKind.TOO_NOISY, f"{few}; let the command do more, or name a record that it contends for"
    verdict, reason = ruling(interval, metric.better, limits, sides.blocks)
    seen = verdict in (VerdictKind.BETTER, VerdictKind.WORSE)
    return verdict, reason if seen or not far else f"{reason}; far-out runs: {far}"


# What differs although the layouts are equal: halves of the baseline's own runs, and placebos (another build salt).


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
    changed = (one for one in comparisons if one.change)
    return max((abs(one.change) * max(0.0, 1 - (one.error / one.change) ** 2) for one in changed), default=0.0)


def halved(samples: Iterable[Sample], baseline: str) -> tuple[Sample, ...]:
    """The baseline's runs as if every second boot of a block were another variant's; the first takes turns.

    Blocks with one boot of the baseline have no halves and are left out.
    """
    boots: defaultdict[int, set[int]] = defaultdict(set)
    own = [sample for sample in samples if sample.variant == baseline]
    for sample in own:
        boots[sample.block].add(sample.boot)
    halves = []
    for sample in own:
        of_block = sorted(boots[sample.block])
        if len(of_block) > 1:
            turn = (of_block.index(sample.boot) + sample.block) % 2
            halves.append(replace(sample, variant=again(baseline)) if turn else sample)
    return tuple(halves)


def again(baseline: str) -> str:
    """What the second half of the baseline's runs is called."""
    return f"{baseline} again"
