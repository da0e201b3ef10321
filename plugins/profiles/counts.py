# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns printed shares back into the counts they were made of."""

from __future__ import annotations

from collections.abc import Sequence

# perf prints two decimals, so each share is off by up to half of a hundredth of a percent.
_ROUNDING = 0.005


def is_complete(shares: Sequence[float]) -> bool:
    """Whether shares in percent add up to the whole, within what rounding to two decimals explains."""
    return abs(sum(shares) - 100) <= _ROUNDING * len(shares) + 0.001


def exceeds_whole(shares: Sequence[float]) -> bool:
    """Whether shares in percent add up to more than rounding can explain: they are not of one column."""
    return sum(shares) > 100 + _ROUNDING * len(shares) + 0.001


def counts_of(total: int, shares: Sequence[float]) -> tuple[int, ...]:
    """Counts whose shares of ``total`` were printed as ``shares`` (percent).

    Complete columns add up to ``total`` exactly (largest remainder); others are rounded one by one.
    """
    if not is_complete(shares):
        return tuple(round(share * total / 100) for share in shares)
    exact = [share / sum(shares) * total for share in shares]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(shares)), key=lambda at: counts[at] - exact[at])
    for at in by_remainder[: total - sum(counts)]:
        counts[at] += 1
    return tuple(counts)
