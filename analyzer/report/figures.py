# SPDX-License-Identifier: GPL-2.0-or-later
"""Measured numbers as tables show them, what machines said of themselves, and what a run leaves unchecked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, stdev

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import SIMULATED, Comparison, Result, VerdictKind

# Ratios from here on are not known any better.
VAST = 1000.0
DOTS = " .:*#"
# Characters in which the boots of a side are drawn.
COLUMNS = 50
MOST_VALUES = 4
# With fewer placebos what other builds differ by is hardly known.
ENOUGH_PLACEBOS = 3


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


def strips(base: Sequence[float], head: Sequence[float]) -> tuple[str, str]:
    """The boots of both sides as dots on one scale, from the smallest value on the left to the largest on the right.

    One boot is a dot, two are a colon, three a star, more a hash.
    """
    both = [*base, *head]
    low, high = min(both, default=0.0), max(both, default=0.0)
    return _strip(base, low, high), _strip(head, low, high)


def _strip(values: Sequence[float], low: float, high: float) -> str:
    counts = [0] * COLUMNS
    for value in values:
        place = (value - low) / (high - low) if high > low else 0.0
        counts[min(COLUMNS - 1, math.floor(place * COLUMNS))] += 1
    return "".join(DOTS[min(count, len(DOTS) - 1)] for count in counts)


def merged(facts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """What machines said of themselves: each name with its one value, ranges of its numbers, or a few texts."""
    found: dict[str, list[str]] = {}
    for name, value in facts:
        values = found.setdefault(name, [])
        if value not in values:
            values.append(value)
    return tuple((name, _together(values)) for name, values in found.items())


def emulated(facts: Iterable[tuple[str, str]]) -> bool:
    """Whether the machine was emulated by QEMU (TCG): its time is that of translated code, without caches."""
    return any(name == "machine" and "tcg" in value.casefold() for name, value in facts)


def _together(values: Sequence[str]) -> str:
    if len(values) == 1:
        return values[0]
    try:
        rows = [tuple(map(float, value.split())) for value in values]
        ranges = [(number(min(column)), number(max(column))) for column in zip(*rows, strict=True)]
    except ValueError:
        return listed(values, MOST_VALUES)
    return ", ".join(low if low == high else f"{low} to {high}" for low, high in ranges)


def unchecked(result: Result, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Sentences without their full stop about what ``comparisons`` of this run leave open."""
    guards = (
        f"whether {one.name} with {scale(one)} loses more than {one.tolerance:.1%}: up to {loss(one):.1%} is possible"
        for one in comparisons
        if unproven(one)
    )
    return (*_measured(result, comparisons), *_sides(result, comparisons), *guards)


def _measured(result: Result, comparisons: Sequence[Comparison]) -> Iterator[str]:
    timed = [one for one in comparisons if not one.simulated]
    if not timed:
        others = any(one.benchmark != SIMULATED for one in result.samples) and not emulated(result.facts)
        yield f"time on real hardware: {'only other builds were' if others else 'nothing was'} timed there"
        return
    if emulated(result.facts):
        yield "time on real hardware: the machine was emulated, and its time knows no caches"
    if all(one.threads != 1 for one in timed):
        yield "a single thread: the fewest were " + threads(min(one.threads for one in timed))
    elif all(one.threads == 1 for one in timed):
        yield "several threads: all was measured with one"


def _sides(result: Result, comparisons: Sequence[Comparison]) -> Iterator[str]:
    placebos = len(equal_builds(result))
    if placebos < ENOUGH_PLACEBOS and comparisons:
        yield f"what other builds of the same layout differ by (placebos measured: {placebos})"
    if len(comparisons) and not any(one.guard for one in comparisons):
        yield "other workloads: there was no guard benchmark"
    if not result.finished:
        yield "the rest of the plan: the run has not come to its end"


def equal_builds(result: Result) -> frozenset[str]:
    """The placebos that were compared with the baseline; its own halves are the same build."""
    own = (result.baseline, f"{result.baseline} again")
    return frozenset(one.variant for one in result.noise if one.variant not in own)


def unproven(one: Comparison) -> bool:
    """Whether a guard may have lost more than it may, for all that is known."""
    return one.guard and one.verdict != VerdictKind.WORSE and loss(one) > one.tolerance


def loss(one: Comparison) -> float:
    """The largest loss that the interval holds, as a share."""
    return 1 - one.low if one.metric.better == "higher" else one.high - 1
