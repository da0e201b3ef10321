# SPDX-License-Identifier: GPL-2.0-or-later
"""What an interval means: better, worse, no difference seen, too noisy to say, or from too few blocks to decide."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model import Better, VerdictKind
from linesmith.tuner.judge.interval import RatioInterval

# An interval that reaches this many times farther than what matters tells nothing about what matters.
NOISY = 20.0


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
        return VerdictKind.UNDECIDED, f"{counted}, and {limits.blocks} are the least that decide"
    loss = losses(interval, better)
    verdict, reason = _seen(loss, limits)
    if limits.tolerance is not None and verdict != VerdictKind.WORSE and loss.high > 1 + limits.tolerance:
        reason += f"; as a guard it cannot exclude a regression beyond {limits.tolerance:.1%}"
    return verdict, reason


def losses(interval: RatioInterval, better: Better) -> RatioInterval:
    """The interval turned so that what lies above one is a loss, by the same share as the change that is reported."""
    if better == Better.LOWER:
        return interval
    return RatioInterval(2 - interval.ratio, 2 - interval.high, 2 - interval.low)


def _seen(loss: RatioInterval, limits: Limits) -> tuple[VerdictKind, str]:
    if loss.low <= 1 <= loss.high:
        return _nothing(loss, limits)
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
    return kind, "zero lies outside the interval"


def _nothing(loss: RatioInterval, limits: Limits) -> tuple[VerdictKind, str]:
    if loss.reach > NOISY * limits.least:
        return (
            VerdictKind.TOO_NOISY,
            f"only changes beyond {loss.reach:.1%} can be seen, and {limits.least:.1%} matters",
        )
    if 1 - limits.least <= loss.low and loss.high <= 1 + limits.least:
        return VerdictKind.NO_DIFFERENCE, f"any difference is below {limits.least:.1%}"
    return VerdictKind.NO_DIFFERENCE, f"zero lies inside the interval; a change beyond {loss.reach:.1%} would be seen"
