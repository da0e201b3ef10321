# SPDX-License-Identifier: GPL-2.0-or-later
"""What more blocks would show: stopping without hope spares boots and can claim nothing wrong.

Source: predictive power as in Spiegelhalter, Freedman and Blackburn, "Monitoring clinical trials: conditional or
predictive power?" (1986).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtr, stdtrit

from linesmith.analyzer.model import Comparison, Rules
from linesmith.tuner.judge.interval import FAR
from linesmith.tuner.judge.looks import level, planned_looks

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
