# SPDX-License-Identifier: GPL-2.0-or-later
"""In which order blocks are run, and when enough were measured: all is clear, or more are not allowed.

Stopping where more blocks would hardly show anything spares boots and can claim nothing wrong. Source: predictive power
as in Spiegelhalter, Freedman and Blackburn, "Monitoring clinical trials: conditional or predictive power?" (1986).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from scipy.special import ndtr, stdtrit

from linesmith.analyzer.model import Comparison, Rules, VerdictKind
from linesmith.tuner.judge.interval import FAR, RatioInterval, level, planned_looks, seed_of
from linesmith.tuner.judge.verdict import NOISY, losses

HOPELESS = 0.05
# Farther ahead nobody plans.
MOST_FORESEEN = 1000


def hopeless(one: Comparison, rules: Rules) -> bool:
    """Whether the most blocks would hardly find a difference, as the blocks so far let expect.

    What is expected of the ratio at the end is drawn around the ratio now, as far as it can still move.
    """
    if one.ratio <= 0 or not 0 < one.error < FAR:
        return False
    end = _student(one, rules)
    expected = abs(math.log(one.ratio)) / one.error * math.sqrt(rules.most_blocks / one.blocks)
    spread = math.sqrt((rules.most_blocks - one.blocks) / one.blocks)
    power = ndtr((expected - end) / spread) + ndtr((-end - expected) / spread)
    return bool(power < HOPELESS)


def reach_at_the_end(one: Comparison, rules: Rules) -> float:
    """Half the width that the interval will about have with the most blocks."""
    left = one.error * _student(one, rules) * math.sqrt(one.blocks / rules.most_blocks)
    return one.ratio * math.sinh(min(left, FAR))


def blocks_needed(one: Comparison, rules: Rules, reach: float) -> int | None:
    """With about how many blocks, as noisy as they are, half the interval's width is at most ``reach`` (a share).

    ``None`` when it would take more than ``MOST_FORESEEN``, or the noise is not known.
    """
    if not 0 < one.error < FAR:
        return None
    blocks = np.arange(max(2, one.blocks), MOST_FORESEEN + 1)
    student = stdtrit(blocks - 1, 1 - _allowed(one, rules) / 2)
    left = np.minimum(one.error * student * np.sqrt(one.blocks / blocks), FAR)
    (enough,) = np.nonzero(one.ratio * np.sinh(left) <= reach)
    return int(blocks[enough[0]]) if len(enough) else None


def _student(one: Comparison, rules: Rules) -> float:
    """How many standard errors a difference must have at the end."""
    return float(stdtrit(rules.most_blocks - 1, 1 - _allowed(one, rules) / 2))


def _allowed(one: Comparison, rules: Rules) -> float:
    """The share of errors allowed at a look; a comparison may share its errors with others."""
    return level(replace(rules, confidence=one.confidence), planned_looks(rules))


@dataclass(frozen=True, slots=True)
class StopDecision:
    """Whether to ``stop`` measuring, and why."""

    stop: bool
    reason: str


def enough(comparisons: Sequence[Comparison], rules: Rules) -> bool:
    """Whether nothing is left to measure about these comparisons of one variant."""
    return decide(comparisons, rules).stop


def decide(comparisons: Sequence[Comparison], rules: Rules) -> StopDecision:
    """Stop at the most blocks, when a guard became worse, or when each comparison is clear; else say what is not."""
    blocks = min((one.blocks for one in comparisons), default=0)
    if blocks < min(rules.least_blocks, rules.most_blocks):
        return StopDecision(False, f"{blocks} of at least {rules.least_blocks} blocks")
    if blocks >= rules.most_blocks:
        return StopDecision(True, f"all {rules.most_blocks} blocks are measured")
    hurt = [one for one in comparisons if one.guard and one.verdict == VerdictKind.WORSE]
    if hurt:
        return StopDecision(True, f"the guard {hurt[0].benchmark} became worse")
    # Guards matter only to a variant that may be better: where nothing is gained nothing needs to be guarded.
    gained = any(one.verdict == VerdictKind.BETTER for one in comparisons if one.decides)
    counting = [one for one in comparisons if one.decides or (one.guard and gained)]
    unclear = [one for one in counting if not settled(one, rules)]
    if unclear:
        return StopDecision(False, f"{unclear[0].name} with {unclear[0].threads} threads is not clear yet")
    return StopDecision(True, f"all is clear after {blocks} blocks")


def settled(one: Comparison, rules: Rules) -> bool:
    """Whether more blocks would hardly change what is said.

    A difference is told, or none that matters is left, or none will be found. A guard is settled when it is known not
    to lose more than it may.
    """
    if one.verdict in (VerdictKind.BETTER, VerdictKind.WORSE):
        return True
    loss = losses(RatioInterval(one.ratio, one.low, one.high), one.metric.better)
    if one.guard:
        return loss.high <= 1 + one.tolerance
    least = max(rules.smallest, one.floor)
    if 1 - least <= loss.low and loss.high <= 1 + least:
        return True
    if one.verdict != VerdictKind.TOO_NOISY:
        return hopeless(one, rules)
    # More blocks may make the noise bearable; few blocks cannot tell how it will be, rare counts least.
    bearable = 2 * one.blocks < rules.most_blocks or reach_at_the_end(one, rules) <= NOISY * least
    return not bearable and hopeless(one, rules)


def order(baseline: str, variant: str, block: int, seed: int) -> tuple[str, ...]:
    """The four runs of a block, A B B A or B A A B: within it a steady drift of the machine cancels.

    Of two blocks in a row each begins with another side, and ``seed`` chooses which, so nothing that changes with every
    second block favours a side.
    """
    draw = Random(seed_of(seed, block // 2, baseline, variant))  # noqa: S311 - a repeatable order, no secret
    turned = draw.random() < 0.5
    first, second = (baseline, variant) if turned == (block % 2 == 0) else (variant, baseline)
    return (first, second, second, first)
