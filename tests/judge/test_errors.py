# SPDX-License-Identifier: GPL-2.0-or-later
"""A thing compared with itself shows no difference, and a thing that differs does: small runs of judge_power.py."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from noise_models import BASE, HEAD, METRIC, MODELS, USE, normal, samples, trial

from linesmith.analyzer.model import Rules, VerdictKind
from linesmith.tuner.judge.compare import compare
from linesmith.tuner.judge.ranking import finalists, winner

REPETITIONS = 40
# Two kinds of noise that tell most: one without a trend, and one that a schedule without symmetry would fall for.
QUICK = ("normal, 1 %", "linear drift of 10 %")


def marked(*names: str) -> list[Any]:
    return [pytest.param(name, marks=[] if name in QUICK else pytest.mark.study) for name in names]


@pytest.mark.parametrize("name", marked(*MODELS))
def test_a_thing_compared_with_itself_shows_no_difference(name: str) -> None:
    verdicts = Counter(trial(MODELS[name], 0.0, seed).verdict for seed in range(REPETITIONS))
    assert verdicts[VerdictKind.NO_DIFFERENCE] >= 0.95 * REPETITIONS


@pytest.mark.parametrize("name", marked(*QUICK, "step of 5 %", "timer of 2 % steps"))
def test_a_large_difference_is_found_with_few_blocks(name: str) -> None:
    found = [trial(MODELS[name], 0.05, seed) for seed in range(10)]
    assert {one.verdict for one in found} == {VerdictKind.WORSE}
    assert max(one.blocks for one in found) <= 6


def test_bounds_hold_as_often_as_they_say() -> None:
    taken = (samples(normal(0.03), 8, 0.1, seed) for seed in range(200))
    found = [compare(one, METRIC, USE, 1, BASE, HEAD, Rules()) for one in taken]
    assert 184 <= sum(one.low <= 1.1 <= one.high for one in found) < 200


@pytest.mark.study
def test_the_luckiest_of_equal_variants_is_not_confirmed() -> None:
    noise, confirmed = MODELS["normal, 1 %"], []
    for seed in range(20):
        explored = [replace(trial(noise, 0.0, 100 * seed + n), variant=f"v{n}") for n in range(8)]
        chosen = finalists(explored, 2)
        fresh = [replace(trial(noise, 0.0, 9000 + 100 * seed + n), variant=v) for n, v in enumerate(chosen)]
        assert len(chosen) == 2
        confirmed.append(winner(fresh))
    assert confirmed.count(None) >= 19
