# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be said of a change after measuring: never a bare mean."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.measurement import SIMULATED, Metric


class VerdictKind(StrEnum):
    """What a comparison may end in; it is not decided where measuring ended before the least number of blocks."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference seen"
    TOO_NOISY = "too noisy"
    UNDECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class Rules:
    """How sure to be: ``confidence`` of the interval of the ratio over all looks together.

    Blocks are added one by one from ``least_blocks`` on until the verdict is clear or there are ``most_blocks``.
    ``smallest`` is the smallest change (a share) that matters: below it there is no difference to tell. As many
    ``placebos`` are built and measured before anything else, to see how far equal layouts differ.
    """

    confidence: float = 0.98
    least_blocks: int = 4
    most_blocks: int = 16
    smallest: float = 0.005
    warm_up: int = 1
    placebos: int = 1
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of one benchmark with one number of threads: the base, the head, and the ratio head / base.

    ``base`` and ``head`` are the means of each boot, oldest first. ``low`` and ``high`` bound the ratio. ``floor`` is
    the change (a share) that variants with equal layouts were seen to have. ``outliers`` are values far from their
    variant's others; they count like any. ``tolerance`` is a guard's: the loss (a share) that it lets pass.
    The bounds hold with ``confidence``, over all looks that were taken. What is ``only_shown`` decides nothing.
    ``error`` is the standard error of the ratio's logarithm, whatever confidence is asked for.
    """

    benchmark: str
    metric: Metric
    threads: int
    baseline: str
    variant: str
    base: tuple[float, ...]
    head: tuple[float, ...]
    ratio: float
    low: float
    high: float
    floor: float
    blocks: int
    verdict: VerdictKind
    reason: str
    guard: bool = False
    outliers: tuple[float, ...] = ()
    tolerance: float = 0.0
    confidence: float = 0.95
    only_shown: bool = False
    error: float = 0.0

    @property
    def decides(self) -> bool:
        """Whether a verdict on the variant may rest on it."""
        return not (self.guard or self.only_shown)

    @property
    def simulated(self) -> bool:
        """Whether a simulated machine was counted and no real one timed."""
        return self.benchmark == SIMULATED

    @property
    def name(self) -> str:
        """The metric as tables name it: ``exec-storm.ops_per_second``."""
        return f"{self.benchmark}.{self.metric.name}"

    @property
    def change(self) -> float:
        """The ratio's distance from one; its sign is that of the numbers, whichever way is better."""
        return self.ratio - 1.0

    @property
    def gain(self) -> float:
        """The change as a share, positive when better."""
        return self.change if self.metric.better == "higher" else -self.change
