# SPDX-License-Identifier: GPL-2.0-or-later
"""Many looks, and many comparisons, err together as often as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linesmith.analyzer.model import Rules
from linesmith.tuner.judge.family import together
from linesmith.tuner.judge.looks import level, planned_looks

RULES = Rules(confidence=0.95, least_blocks=4, most_blocks=16)


def test_one_look_may_err_as_often_as_was_asked_for() -> None:
    assert level(RULES, 1) == pytest.approx(0.05)


def test_a_look_after_each_block_must_be_surer() -> None:
    assert planned_looks(RULES) == 13
    assert level(RULES, 13) == pytest.approx(0.0101, abs=0.0002)


def test_fewer_looks_cost_less() -> None:
    assert level(RULES, 13) < level(RULES, 4) < level(RULES, 2) < level(RULES, 1)


def test_a_fixed_number_of_blocks_is_one_look() -> None:
    assert planned_looks(replace(RULES, most_blocks=4)) == 1
    assert planned_looks(replace(RULES, most_blocks=3)) == 1


def test_four_comparisons_share_the_error_of_one() -> None:
    assert together(RULES, 4).confidence == pytest.approx(0.9875)
    assert together(RULES, 0) == RULES
