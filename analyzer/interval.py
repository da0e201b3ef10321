# SPDX-License-Identifier: GPL-2.0-or-later
"""Intervals of shares and ratios of counts that were sampled."""

from __future__ import annotations

from math import inf, sqrt

from linesmith.analyzer.model import Bounds

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


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else inf
