# SPDX-License-Identifier: GPL-2.0-or-later
"""Measured numbers as tables show them: four digits, spreads and changes in per cent, and dots for the boots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from linesmith.analyzer.model import Comparison

# Ratios from here on are not known any better.
VAST = 1000.0
DOTS = " .:*#"


def number(value: float) -> str:
    """Four digits, or all digits of the integer part with commas."""
    size = abs(value)
    if size >= 1e12 or 0 < size < 1e-4:
        return f"{value:.3e}"
    return f"{value:,.0f}" if size >= 999.95 else f"{value:.4g}"


def mean_and_spread(values: Sequence[float]) -> str:
    """The mean with its standard deviation over the boots in per cent: ``1,234 ±  1.2%``."""
    if not values:
        return "none"
    mean = fmean(values)
    if len(values) < 2 or mean == 0:
        return number(mean)
    return f"{number(mean)} ± {100 * stdev(values) / mean:4.1f}%"


def signed(change: float) -> str:
    """A change (a share) in per cent, with its sign."""
    if change >= VAST - 1:
        return f">+{100 * (VAST - 1):,.0f}%"
    text = f"{100 * change:+.2f}%" if abs(change) < 0.09995 else f"{100 * change:+.1f}%"
    return "0.00%" if text in ("+0.00%", "-0.00%") else text


def interval(one: Comparison) -> str:
    """The bounds of the change: ``-1.20% to +0.30%``."""
    return f"{signed(one.low - 1)} to {signed(one.high - 1)}"


def threads(count: int) -> str:
    """``1 thread``, ``8 threads``."""
    return f"{count} thread{'s' * (count != 1)}"


def scale(one: Comparison) -> str:
    """On how much of a machine it ran: ``8 threads``, or ``8 CPUs`` of a simulated one."""
    return f"{one.threads} CPU{'s' * (one.threads != 1)}" if one.simulated else threads(one.threads)


def duration(seconds: float) -> str:
    """Wall time: ``42 s``, ``12 min``, ``3 h 05 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"


def strips(base: Sequence[float], head: Sequence[float], width: int = 50) -> tuple[str, str]:
    """The boots of both sides as dots on one scale, from the smallest value on the left to the largest on the right.

    One boot is a dot, two are a colon, three a star, more a hash.
    """
    both = [*base, *head]
    low, high = min(both, default=0.0), max(both, default=0.0)
    return _strip(base, low, high, width), _strip(head, low, high, width)


def _strip(values: Sequence[float], low: float, high: float, width: int) -> str:
    counts = [0] * width
    for value in values:
        place = (value - low) / (high - low) if high > low else 0.0
        counts[min(width - 1, math.floor(place * width))] += 1
    return "".join(DOTS[min(count, len(DOTS) - 1)] for count in counts)
