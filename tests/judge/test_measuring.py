# SPDX-License-Identifier: GPL-2.0-or-later
"""How runs are ordered, how often they are looked at, which of them are outliers, and what equal layouts differ by."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from measured import SECONDS, STORM, comparison, samples

from linesmith.analyzer.model import Comparison, Rules
from linesmith.tuner.judge.compare import compare
from linesmith.tuner.judge.family import together
from linesmith.tuner.judge.looks import planned_looks
from linesmith.tuner.judge.noise import floor, noise
from linesmith.tuner.judge.schedule import order

RULES = Rules(confidence=0.95, least_blocks=4, most_blocks=16)
BLOCKS = [((100.0, 101.0), (104.0, 105.0)), ((101.0, 100.0), (105.0, 104.5))] * 2


def test_a_block_runs_one_side_around_the_other_so_that_a_steady_drift_adds_the_same_to_both() -> None:
    assert {order("a", "b", block, seed=1) for block in range(20)} == {("a", "b", "b", "a"), ("b", "a", "a", "b")}


def test_two_blocks_in_a_row_begin_with_different_sides_and_chance_decides_with_which() -> None:
    firsts = [order("a", "b", block, seed=3)[0] for block in range(200)]
    assert all(firsts[block] != firsts[block + 1] for block in range(0, 200, 2))
    assert 35 < Counter(firsts[::2])["a"] < 65
    firsts = [order("baseline", "moved", block, seed=7)[0] for block in range(6)]
    assert firsts == ["baseline", "moved", "moved", "baseline", "moved", "baseline"]


def test_many_looks_and_many_comparisons_err_together_as_often_as_one() -> None:
    assert planned_looks(RULES) == 13
    assert [planned_looks(replace(RULES, most_blocks=most)) for most in (3, 4)] == [1, 1]
    taken = samples([((100.0, 101.0), (104.0, 105.0)), ((101.0, 99.0), (105.5, 104.5))] * 3)
    reaches = [
        compare(taken, SECONDS, STORM, 1, "baseline", "moved", RULES, looks=looks).high for looks in (1, 2, 4, 13)
    ]
    assert reaches == sorted(set(reaches))
    assert together(RULES, 4).confidence == pytest.approx(0.9875)
    assert together(RULES, 0) == RULES


def test_the_baseline_and_each_placebo_are_compared_and_a_real_difference_is_the_floor() -> None:
    taken = samples(BLOCKS, head="placebo-1")
    found = noise(taken, SECONDS, STORM, 1, "baseline", ["placebo-1", "placebo-2"], Rules())
    assert [(one.variant, one.blocks) for one in found] == [("baseline again", 4), ("placebo-1", 4)]
    assert floor(found) == pytest.approx(0.041, abs=0.001)


@pytest.mark.parametrize(
    ("found", "expected"),
    [([comparison(0.01, 0.1)], 0.0), ([comparison(0.02, 0.02), comparison(0.001, 0.02)], 0.018), ([], 0.0)],
)
def test_what_chance_explains_is_no_floor(found: list[Comparison], expected: float) -> None:
    assert floor(found) == pytest.approx(expected, abs=0.001)
