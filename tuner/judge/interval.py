# SPDX-License-Identifier: GPL-2.0-or-later
"""Bounds for a ratio of means, from few blocks: a bootstrap of whole blocks with Student's allowance for their number.

Blocks are drawn with replacement, both sides of a block together. With four blocks the quantiles of such drawings are
far too narrow (a nominal 95 % holds in 80 %), so only their standard error is taken, corrected for the number of
blocks, and Student's quantile gives the width. It is done on the logarithm, so no bound is below zero. docs/judge.md
has the coverage of this and of the usual ways. Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993),
chapters 6 and 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from linesmith.tuner.judge.paired import Means
from linesmith.tuner.judge.seeds import seed_of

RESAMPLES = 999
# Nothing is known of a ratio beyond it.
UNBOUNDED = 1e9
# A logarithm whose exponential is beyond that.
FAR = 50.0


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
    half = _half_unit(base, head)
    logarithm = float(_log_ratio(base, head, half))
    ratio = float(head.sum() / base.sum()) if base.any() else float(np.exp(logarithm))
    if len(base) < 2:
        return RatioInterval(ratio, 0.0, UNBOUNDED, UNBOUNDED)
    error = _error(base, head, half, seed)
    reach = float(stdtrit(len(base) - 1, 1 - level / 2)) * error
    low = float(np.exp(logarithm - reach)) if head.any() else 0.0
    high = min(float(np.exp(min(logarithm + reach, FAR))), UNBOUNDED)
    return RatioInterval(ratio, min(low, ratio), max(ratio, high), error)


def _half_unit(base: Means, head: Means) -> float:
    """Half the smallest value where a drawing may find none on one side, else 0: there the ratio is left as it is."""
    both = np.concatenate([base, head])
    return 0.0 if both.all() else float(both[both > 0].min()) / 2


def _error(base: Means, head: Means, half: float, seed: int) -> float:
    """The standard error of the logarithm of the ratio; the bootstrap's own is short by a factor for few blocks."""
    draw = np.random.default_rng(seed_of(seed, len(base), *map(float, base), *map(float, head)))
    drawn = draw.integers(0, len(base), (RESAMPLES, len(base)))
    spread = np.std(_log_ratio(base[drawn], head[drawn], half), ddof=1)
    return float(spread) * float(np.sqrt(len(base) / (len(base) - 1)))


def _log_ratio(base: ArrayLike, head: ArrayLike, half: float) -> NDArray[np.float64]:
    above, below = np.sum(head, axis=-1) + half, np.sum(base, axis=-1) + half
    return np.asarray(np.log(above / below), dtype=np.float64)
