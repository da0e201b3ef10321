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
from linesmith.tuner.judge.interval import FAR
from linesmith.tuner.judge.looks import level, planned_looks

HOPELESS = 0.05


def hopeless(one: Comparison, rules: Rules) -> bool:
    """Whether the most blocks would hardly find a difference, as the blocks so far let expect.

    What is expected of the ratio at the end is drawn around the ratio now, as far as it can still move.
    """
    if one.ratio <= 0 or not 0 < one.error < FAR:
        return False
    end = _student(one, rules)
    expected = abs(math.log(one.ratio)) / one.error * math.sqrt(rules.most_blocks / one.blocks)
    spread = math.sqrt((rules.most_blocks - one.blocks) / one.blocks)
    power = stats.norm.sf((end - expected) / spread) + stats.norm.cdf((-end - expected) / spread)
    return bool(power < HOPELESS)


def reach_at_the_end(one: Comparison, rules: Rules) -> float:
    """Half the width that the interval will about have with the most blocks."""
    left = one.error * _student(one, rules) * math.sqrt(one.blocks / rules.most_blocks)
    return one.ratio * math.sinh(min(left, FAR))


def _student(one: Comparison, rules: Rules) -> float:
    """How many standard errors a difference must have at the end; a comparison may share its error with others."""
    allowed = level(replace(rules, confidence=one.confidence), planned_looks(rules))
    return float(stats.t.ppf(1 - allowed / 2, rules.most_blocks - 1))
