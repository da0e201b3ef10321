# SPDX-License-Identifier: GPL-2.0-or-later
"""Bounds for a ratio of means, from few blocks: a bootstrap of whole blocks with Student's allowance for their number.

Blocks are drawn with replacement, both sides of a block together. With four blocks the quantiles of such drawings are
far too narrow (a nominal 95 % holds in 80 %), so only their standard error is taken, corrected for the number of
blocks, and Student's quantile gives the width. It is done on the logarithm, so no bound is below zero. docs/judge.md
has the coverage of this and of the usual ways. Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993),
chapters 6 and 12.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from linesmith.analyzer.base.errors import BenchmarkNonsense
from linesmith.analyzer.model import Rules, Sample

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
# Biometrika 64, 1977), so a large effect is told at the first one. It is found by playing the looks through on blocks
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
