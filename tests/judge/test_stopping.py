# SPDX-License-Identifier: GPL-2.0-or-later
"""When measuring ends: a difference is told, none is left to find, or the most blocks are measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from measured import comparison

from linesmith.analyzer.model import Comparison, Rules, VerdictKind
from linesmith.tuner.judge.stopping import enough

RULES = Rules(least_blocks=4, most_blocks=16, smallest=0.005)
BETTER = comparison(0.1, 0.05, VerdictKind.BETTER)
UNCLEAR = comparison(0.02, 0.025)
NOISY = comparison(0.0, 0.11, VerdictKind.TOO_NOISY, blocks=8)
NOTHING = comparison(0.001, 0.003)
LOST = comparison(-0.1, 0.02, VerdictKind.WORSE, guard=True, tolerance=0.02, benchmark="page-faults")


def guarded(reach: float) -> Comparison:
    return comparison(0.0, reach, guard=True, tolerance=0.02)


@pytest.mark.parametrize(
    ("compared", "ends"),
    [
        pytest.param([], False, id="nothing is measured"),
        pytest.param([replace(BETTER, blocks=3)], False, id="fewer blocks than the least"),
        pytest.param([replace(BETTER, blocks=4)], True, id="all is clear"),
        pytest.param([UNCLEAR], False, id="a difference is not clear yet"),
        pytest.param([replace(UNCLEAR, blocks=16)], True, id="the most blocks are measured"),
        pytest.param([UNCLEAR, LOST], True, id="a guard became worse"),
        pytest.param([NOTHING], True, id="nothing that matters is left to find"),
        pytest.param([comparison(0.0, 0.04, blocks=8)], True, id="there is no hope of a difference"),
        pytest.param([NOISY], False, id="more blocks may say less than too noisy"),
        pytest.param([comparison(0.0, 0.3, VerdictKind.TOO_NOISY, blocks=8)], True, id="they would say the same"),
        pytest.param([BETTER, replace(UNCLEAR, threads=1)], False, id="one number of threads is not clear"),
        pytest.param([BETTER, guarded(0.03)], False, id="a guard may not hold"),
        pytest.param([BETTER, guarded(0.01)], True, id="the guard holds"),
        pytest.param([NOTHING, guarded(0.03)], True, id="without a gain nothing needs a guard"),
        pytest.param([BETTER, replace(UNCLEAR, only_shown=True)], True, id="what is only shown is not waited for"),
    ],
)
def test_when_enough_is_measured(compared: list[Comparison], ends: bool) -> None:
    assert enough(compared, RULES) is ends
