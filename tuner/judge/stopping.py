# SPDX-License-Identifier: GPL-2.0-or-later
"""When enough blocks were measured: all is clear, or more blocks are not allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Comparison, Rules, VerdictKind
from linesmith.tuner.judge.interval import RatioInterval
from linesmith.tuner.judge.prospect import hopeless, reach_at_the_end
from linesmith.tuner.judge.ruling import NOISY, losses


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
