# SPDX-License-Identifier: GPL-2.0-or-later
"""What counting leaves to chance: by how much two runs of one layout differ."""

from __future__ import annotations

from math import sqrt

from linesmith.analyzer.model import Bounds

# Two-sided 95 % of the normal distribution.
_Z = 1.959964
# Relative deviation of the misses on one record between runs that differ in nothing but the seed (docs/cost.md).
RUN_SCATTER = 0.03


def deviation(count: float) -> float:
    """By how much a count of one run may be off: samples are counts, and runs differ besides."""
    return _Z * sqrt(count + (RUN_SCATTER * count) ** 2)


def difference(count: float) -> float:
    """By how much two runs with this count on average may differ."""
    return sqrt(2) * deviation(count)


def as_counted(amount: Bounds) -> Bounds:
    """Limits of a count in another run, where ``amount`` are those of its mean."""
    return Bounds(max(amount.least - deviation(max(amount.least, 0.0)), 0.0), amount.most + deviation(amount.most))
