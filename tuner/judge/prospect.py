# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether more blocks would find a difference: stopping without hope spares boots and can claim nothing wrong.

Source: predictive power as in Spiegelhalter, Freedman and Blackburn, "Monitoring clinical trials: conditional or
predictive power?" (1986).
"""

from __future__ import annotations

import math
from dataclasses import replace

from scipy import stats

from linesmith.analyzer.model import Comparison, Rules
from linesmith.tuner.judge.looks import level, planned_looks

HOPELESS = 0.05
# A logarithm whose exponential is beyond any ratio that is told apart.
_FAR = 50.0


def hopeless(one: Comparison, rules: Rules) -> bool:
    """Whether the most blocks would hardly find a difference, as the blocks so far let expect.

    What is expected of the ratio at the end is drawn around the ratio now, as far as it can still move.
    """
    reach = _log_reach(one)
    if not 0 < reach < math.inf:
        return False
    allowed = _allowed(one, rules)
    now, end = _student(allowed, one.blocks), _student(allowed, rules.most_blocks)
    expected = abs(math.log(one.ratio)) / reach * now * math.sqrt(rules.most_blocks / one.blocks)
    spread = math.sqrt((rules.most_blocks - one.blocks) / one.blocks)
    power = stats.norm.sf((end - expected) / spread) + stats.norm.cdf((-end - expected) / spread)
    return bool(power < HOPELESS)


def reach_at_the_end(one: Comparison, rules: Rules) -> float:
    """Half the width that the interval will about have with the most blocks."""
    allowed = _allowed(one, rules)
    students = _student(allowed, rules.most_blocks) / _student(allowed, one.blocks)
    left = _log_reach(one) * students * math.sqrt(one.blocks / rules.most_blocks)
    return one.ratio * math.sinh(min(left, _FAR))


def _allowed(one: Comparison, rules: Rules) -> float:
    """The level that each look at this comparison is held to; it may share its error with others."""
    return level(replace(rules, confidence=one.confidence), planned_looks(rules))


def _log_reach(one: Comparison) -> float:
    """Half the interval's width on the logarithm; infinite where it has no bound there."""
    return math.log(one.high / one.low) / 2 if one.low > 0 and one.blocks > 1 else math.inf


def _student(allowed: float, blocks: int) -> float:
    return float(stats.t.ppf(1 - allowed / 2, max(blocks - 1, 1)))
