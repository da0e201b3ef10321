# SPDX-License-Identifier: GPL-2.0-or-later
"""Which variants deserve fresh runs, and which of them won: never the luckiest sample.

The best of many noisy means is good partly by luck. So means are drawn in towards no change, the more the less is known
of them, before variants are ranked; and what is said of the winner comes from samples taken after it was chosen. Of
variants that cannot be told apart the smallest change comes first: it is the one that a reviewer would take.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from linesmith.analyzer.model import Better, Comparison, VerdictKind

# Half a 95 % interval in standard errors: what optimizers are told of a single point.
REACH = 1.96
FEWEST_BLOCKS = 2
# A ratio that is as good as none; it still has a logarithm.
_LEAST = 1e-9
# A smaller change is preferred while it gains at least this share of what the best one does.
_WORTHWHILE = 0.5
_NO_EFFORTS: Mapping[str, int] = MappingProxyType({})


def cost(comparisons: Iterable[Comparison]) -> tuple[float, float]:
    """The cost of a variant with its spread, as optimizers are told: below one is better, 1.96 standard errors.

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
        """Whether it cannot be told from the best, and gains a good part of what that does."""
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
