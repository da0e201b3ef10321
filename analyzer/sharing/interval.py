# SPDX-License-Identifier: GPL-2.0-or-later
"""Intervals of shares and ratios of counts that were sampled."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, exp, hypot, inf, log, sqrt
from statistics import median

from linesmith.analyzer.model import Bounds

# Four fifths of the squares of a standard normal variable are below this.
QUANTILE, QUANTILE_SQUARE = 0.8, 1.642374
LEAST_PAIRS, LEAST_COUNT = 12, 20
SMALLEST_SCATTER, MOST_SCATTER = 1e-6, 2.0

# Two-sided 95 % of the normal distribution.
Z = 1.959964


def share_of(count: float, total: float, z: float = Z) -> Bounds:
    """Where the share ``count / total`` lies: the score interval of Wilson (JASA 22, 1927); 0 to 1 without samples."""
    if total <= 0:
        return Bounds(0.0, 1.0)
    share, spread = count / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    least = 0.0 if count <= 0 else max(0.0, middle - half)
    return Bounds(least, 1.0 if count >= total else min(1.0, middle + half))


def ratio_of(before: float, after: float, before_total: float, after_total: float, z: float = Z) -> Bounds:
    """Where the ratio of two Poisson rates, after to before, lies; ``inf`` is its upper limit where before is 0.

    Given their sum, one of two Poisson counts is binomial (Przyborowski and Wilenski, Biometrika 31, 1940).
    """
    if before + after <= 0 or before_total <= 0 or after_total <= 0:
        return Bounds(0.0, inf)
    share = share_of(after, before + after, z)
    scale = before_total / after_total
    return Bounds(_odds(share.least) * scale, _odds(share.most) * scale)


def widened(ratio: Bounds, middle: float, scatter: float, z: float = Z) -> Bounds:
    """Limits of a ratio about ``middle`` when both rates scatter besides, with the relative deviation ``scatter``."""
    extra = z * sqrt(2) * scatter
    if not extra:
        return ratio
    return Bounds(_away(middle, ratio.least, -extra), _away(middle, ratio.most, extra))


def _away(middle: float, limit: float, extra: float) -> float:
    """The limit moved so that its distance from the middle (as logarithms) and ``extra`` add up as squares do."""
    if limit in (0.0, inf):
        return limit
    if not 0 < middle < inf:
        return limit * exp(extra)
    return middle * exp(copysign(hypot(log(limit / middle), extra), extra))


def scatter_of(pairs: Sequence[tuple[int, int]]) -> float:
    """The relative deviation of rates between two profiles that explains how far most pairs of counts are apart.

    It is beyond what counting leaves to chance, and about the change that all have in common. It is fitted to four
    fifths of the pairs, so that up to a fifth of them may really change. 0 with fewer than ``LEAST_PAIRS`` pairs of
    ``LEAST_COUNT`` or more.
    """
    counted = [pair for pair in pairs if min(pair) >= LEAST_COUNT]
    if len(counted) < LEAST_PAIRS:
        return 0.0
    logs = [log(after / before) for before, after in counted]
    common = median(logs)
    low, high = 0.0, MOST_SCATTER
    for _ in range(40):
        tried = (low + high) / 2
        squares = sorted(
            (one - common) ** 2 / (1 / before + 1 / after + 2 * tried**2)
            for one, (before, after) in zip(logs, counted, strict=True)
        )
        wider = squares[int(QUANTILE * (len(squares) - 1))] > QUANTILE_SQUARE
        low, high = (tried, high) if wider else (low, tried)
    return high if high > SMALLEST_SCATTER else 0.0


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else inf
