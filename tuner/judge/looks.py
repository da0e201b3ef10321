# SPDX-License-Identifier: GPL-2.0-or-later
"""How sure each look at growing data must be, so that all looks together err no more often than was asked for.

The same level holds at every look (Pocock, "Group sequential methods in the design and analysis of clinical trials",
Biometrika 64, 1977), so a large effect is told at the first one. It is found by playing the looks through on blocks of
pure noise: formulas for normal noise of known size let too much pass with blocks as few as four.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import stdtr

from linesmith.analyzer.model import Rules

PLAYED = 100_000


def planned_looks(rules: Rules) -> int:
    """How many looks there are when one is taken after each block from the least to the most."""
    return max(1, rules.most_blocks - rules.least_blocks + 1)


def level(rules: Rules, looks: int) -> float:
    """The share of errors allowed at each of ``looks`` looks, spread evenly from the least to the most blocks."""
    if looks <= 1:
        return 1 - rules.confidence
    return _level(round(1 - rules.confidence, 9), max(2, rules.least_blocks), rules.most_blocks, looks)


@lru_cache(maxsize=64)
def _level(errors: float, least: int, most: int, looks: int) -> float:
    at = {round(float(blocks)) for blocks in np.linspace(least, most, looks)}
    draw = np.random.default_rng(1)
    total, squares, smallest = np.zeros(PLAYED), np.zeros(PLAYED), np.ones(PLAYED)
    for blocks in range(1, most + 1):
        noise = draw.standard_normal(PLAYED)
        total, squares = total + noise, squares + noise * noise
        if blocks in at:
            error = np.sqrt((squares - total * total / blocks) / (blocks - 1) / blocks)
            smallest = np.minimum(smallest, 2 * stdtr(blocks - 1, -np.abs(total) / blocks / error))
    return float(np.quantile(smallest, errors))
