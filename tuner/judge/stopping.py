# SPDX-License-Identifier: GPL-2.0-or-later
"""When enough blocks were measured: all is clear, or more blocks are not allowed."""

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

# What more blocks would show: stopping without hope spares boots and can claim nothing wrong.
#
# Source: predictive power as in Spiegelhalter, Freedman and Blackburn, "Monitoring clinical trials: conditional or
# predictive power?" (1986).

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
class Decision:
    """Whether to ``stop`` measuring, and why."""

    stop: bool
    reason: str


def enough(comparisons: Sequence[Comparison], rules: Rules) -> bool:
    """Whether nothing is left to measure about these comparisons of one variant."""
    return decide(comparisons, rules).stop


def decide(comparisons: Sequence[Comparison], rules: Rules) -> Decision:
    """Stop at the most blocks, when a guard became worse, or when each comparison is clear; else say what is not."""
    blocks = min((one.blocks for one in comparisons), default=0)
    if blocks < min(rules.least_blocks, rules.most_blocks):
        return Decision(False, f"{blocks} of at least {rules.least_blocks} blocks")
    if blocks >= rules.most_blocks:
        return Decision(True, f"all {rules.most_blocks} blocks are measured")
    hurt = [one for one in comparisons if one.guard and one.verdict == VerdictKind.WORSE]
    if hurt:
        return Decision(True, f"the guard {hurt[0].benchmark} became worse")
    unclear = [one for one in _asked(comparisons) if not settled(one, rules)]
    if unclear:
        return Decision(False, f"{unclear[0].name} with {unclear[0].threads} threads is not clear yet")
    return Decision(True, f"all is clear after {blocks} blocks")


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
    return hopeless(one, rules) and not (one.verdict == VerdictKind.TOO_NOISY and _may_clear_up(one, rules, least))


def _may_clear_up(one: Comparison, rules: Rules, least: float) -> bool:
    """Whether more blocks may make the noise bearable; few blocks cannot tell how it will be, rare counts least."""
    return 2 * one.blocks < rules.most_blocks or reach_at_the_end(one, rules) <= NOISY * least


def _asked(comparisons: Sequence[Comparison]) -> Sequence[Comparison]:
    """Guards matter only to a variant that may be better: where nothing is gained nothing needs to be guarded."""
    deciding = [one for one in comparisons if one.decides]
    gained = any(one.verdict == VerdictKind.BETTER for one in deciding)
    return [one for one in comparisons if one.decides or (one.guard and gained)]


# In which order the runs of a block are made, so that drift of the machine falls on both sides alike.


def order(baseline: str, variant: str, block: int, seed: int) -> tuple[str, ...]:
    """The four runs of a block, A B B A or B A A B: within it a steady drift cancels.

    Of two blocks in a row each begins with another side, and ``seed`` chooses which, so nothing that changes with every
    second block favours a side.
    """
    first, second = _turned((baseline, variant), block, seed)
    return (first, second, second, first)


def _turned(sides: tuple[str, str], block: int, seed: int) -> tuple[str, str]:
    """The sides in the order in which the block begins with them: one draw for each two blocks."""
    turned = Random(seed_of(seed, block // 2, *sides)).random() < 0.5  # noqa: S311 - a repeatable order, no secret
    return sides if turned == (block % 2 == 0) else (sides[1], sides[0])
