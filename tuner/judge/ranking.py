# SPDX-License-Identifier: GPL-2.0-or-later
"""Which variants deserve fresh runs, and which of them won: never the luckiest sample.

The best of many noisy means is good partly by luck. So means are drawn in towards no change, the more the less is known
of them, before variants are ranked; and what is stated of the winner comes from samples taken after it was chosen. Of
variants that cannot be distinguished the smallest change comes first: it is the one that a reviewer would take.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType

import numpy as np
from scipy.special import ndtr, stdtrit

from linesmith.analyzer.model import Better, Comparison, Rules, VerdictKind
from linesmith.tuner.judge.verdict import FAR, NOISY, RatioInterval, level, losses, planned_looks, seed_of

# Half a 95 % interval in standard errors: what optimizers are given of a single point.
REACH = 1.96
FEWEST_BLOCKS = 2
# A ratio that is as good as none; it still has a logarithm.
_LEAST = 1e-9
# A smaller change is preferred while it gains at least this share of what the best one does.
_WORTHWHILE = 0.5
_NO_EFFORTS: Mapping[str, int] = MappingProxyType({})


def cost(comparisons: Iterable[Comparison]) -> tuple[float, float]:
    """The cost of a variant with its spread, as optimizers are given: below one is better, 1.96 standard errors.

    It is the geometric mean over the comparisons that decide; the cost of a metric that should be high is that of the
    baseline to the variant. Raises ``ValueError`` when nothing decides.
    """
    deciding = [one for one in comparisons if one.decides]
    if not deciding:
        raise ValueError("a variant without a deciding comparison has no cost")
    logarithms = [
        math.log(max(one.ratio, _LEAST)) * (1 if one.metric.better == Better.LOWER else -1) for one in deciding
    ]
    mean = math.exp(math.fsum(logarithms) / len(deciding))
    error = math.sqrt(math.fsum(one.error**2 for one in deciding)) / len(deciding)
    return mean, REACH * error * mean


def finalists(explored: Iterable[Comparison], count: int, efforts: Mapping[str, int] = _NO_EFFORTS) -> tuple[str, ...]:
    """At most ``count`` variants to confirm on fresh samples, the most promising first.

    ``efforts`` are the numbers of moves of the variants. Left out are those whose guards became worse, those with
    fewer than two blocks, and those that are worse on average.
    """
    costs = {name: cost(ones) for name, ones in _by_variant(explored).items() if _eligible(ones)}
    ranked = {name: value for name, value in _shrunken(costs).items() if value < 1}
    return tuple(_smallest_first(ranked, costs, efforts)[:count])


def overall(comparisons: Sequence[Comparison]) -> tuple[VerdictKind, str]:
    """What a variant is as a whole: one loss makes it worse, one gain without any loss better."""
    for kind in (VerdictKind.WORSE, VerdictKind.BETTER, VerdictKind.TOO_NOISY, VerdictKind.UNDECIDED):
        # A guard can only spoil.
        guards = kind == VerdictKind.WORSE
        found = [one for one in comparisons if one.verdict == kind and (one.decides or (one.guard and guards))]
        if found:
            return kind, f"{found[0].benchmark} with {found[0].threads} threads: {found[0].reason}"
    return VerdictKind.NO_DIFFERENCE, "no comparison shows a difference"


def winner(confirmed: Iterable[Comparison], efforts: Mapping[str, int] = _NO_EFFORTS) -> str | None:
    """The variant that is better on fresh samples, of several the first by cost and effort; ``None`` without one."""
    variants = _by_variant(confirmed)
    better = {name: cost(ones) for name, ones in variants.items() if overall(ones)[0] == VerdictKind.BETTER}
    return next(iter(_smallest_first({name: value for name, (value, _) in better.items()}, better, efforts)), None)


def _smallest_first(
    ranked: Mapping[str, float], costs: Mapping[str, tuple[float, float]], efforts: Mapping[str, int]
) -> list[str]:
    """Those that are as good as the best, as far as one can tell, with the fewest moves first; then the others."""
    order = sorted(ranked, key=lambda name: (ranked[name], name))
    if not order:
        return []
    best = order[0]

    def is_as_good(name: str) -> bool:
        """Whether it cannot be distinguished from the best, and gains a good part of what that does."""
        reach = math.hypot(costs[name][1], costs[best][1])
        return costs[name][0] - costs[best][0] <= reach and 1 - ranked[name] >= _WORTHWHILE * (1 - ranked[best])

    as_good = [name for name in order if is_as_good(name)]
    as_good.sort(key=lambda name: (efforts.get(name, 0), ranked[name], name))
    return as_good + [name for name in order if name not in as_good]


def _by_variant(comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    found: defaultdict[str, list[Comparison]] = defaultdict(list)
    for one in comparisons:
        found[one.variant].append(one)
    return dict(found)


def _eligible(comparisons: Sequence[Comparison]) -> bool:
    deciding = [one for one in comparisons if one.decides]
    hurt = any(one.guard and one.verdict == VerdictKind.WORSE for one in comparisons)
    return bool(deciding) and not hurt and all(one.blocks >= FEWEST_BLOCKS for one in deciding)


def _shrunken(costs: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Costs drawn in towards one, by the share of the spread between variants that the noise of each one explains.

    Source: the empirical Bayes estimator of Efron and Morris, "Data analysis using Stein's estimator" (1975).
    """
    if not costs:
        return {}
    errors = {name: spread / REACH for name, (_, spread) in costs.items()}
    squares = [(value - 1) ** 2 - errors[name] ** 2 for name, (value, _) in costs.items()]
    between = max(math.fsum(squares) / len(squares), 1e-12)
    return {name: 1 + (value - 1) * between / (between + errors[name] ** 2) for name, (value, _) in costs.items()}


# In which order blocks are run, and when enough were measured: all is clear, or more are not allowed.

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
    """Whether more blocks would hardly change what is stated.

    A difference is known, or none that matters is left, or none will be found. A guard is settled when it is known not
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
