# SPDX-License-Identifier: GPL-2.0-or-later
"""Intervals on one scale: where each begins, ends and has its middle in a drawing of a fixed width."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH = 320
# Room at both ends for an arrow: the interval goes on.
EDGE = 14
_LEAST_SCALE = 0.001
# An interval may reach so many times as far as the widest estimate before it is cut off.
_MOST_REACH = 3.0


@dataclass(frozen=True, slots=True)
class Strip:
    """An interval in units of the drawing; ``open_low`` and ``open_high`` tell that it goes on beyond the edge."""

    low: float
    middle: float
    high: float
    open_low: bool
    open_high: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of the scale at ``at``, in words."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Gains, as shares, from ``-reach`` at the left to ``reach`` at the right."""

    reach: float

    def at(self, gain: float) -> float:
        """Where the gain lies, no farther out than the edges."""
        half = WIDTH / 2
        inside = max(-1.0, min(1.0, gain / self.reach))
        return round(half + inside * (half - EDGE), 1)

    def strip(self, gain: float, low: float, high: float) -> Strip:
        """The interval, cut off where it goes beyond the edges."""
        cut = self.reach * 1.0001
        return Strip(self.at(low), self.at(gain), self.at(high), low < -cut, high > cut)

    def ticks(self) -> tuple[Tick, ...]:
        """Round numbers on both sides of nothing."""
        step = _round_step(self.reach)
        count = math.floor(self.reach / step)
        return tuple(Tick(self.at(place * step), _percent(place * step)) for place in range(-count, count + 1))


def scale_for(estimates: Iterable[float], bounds: Sequence[float]) -> Scale:
    """A scale that holds all estimates, and the bounds unless one of them lies so far out that nothing else is seen."""
    widest = max((abs(one) for one in estimates), default=0.0)
    farthest = max((abs(one) for one in bounds if math.isfinite(one)), default=0.0)
    return Scale(max(min(farthest, max(widest, _middle(bounds)) * _MOST_REACH), widest, _LEAST_SCALE) * 1.05)


def _middle(bounds: Sequence[float]) -> float:
    """Of an even number the smaller one: half of the bounds may have no end."""
    ordered = sorted(abs(one) for one in bounds)
    return ordered[(len(ordered) - 1) // 2] if ordered else 0.0


def _round_step(reach: float) -> float:
    """1, 2 or 5 times a power of ten, the largest that fits twice on each side."""
    power = 10.0 ** math.floor(math.log10(reach))
    return next(step * power for step in (2, 1, 0.5, 0.2) if reach >= 2 * step * power)


def _percent(gain: float) -> str:
    return f"{100 * gain:+.4g}%" if gain else "0"
