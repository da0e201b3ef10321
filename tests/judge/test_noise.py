# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs although the layouts are equal."""

from __future__ import annotations

import pytest
from measured import SECONDS, STORM, comparison, samples

from linesmith.analyzer.model import Rules
from linesmith.tuner.judge.noise import floor, halved, noise

BLOCKS = [((100.0, 101.0), (104.0, 105.0)), ((101.0, 100.0), (105.0, 104.5))] * 2


def test_the_halves_of_the_baseline_take_turns_in_coming_first() -> None:
    halves = halved(samples(BLOCKS), "baseline")
    assert [(one.block, one.variant) for one in halves] == [
        *((0, "baseline"), (0, "baseline again"), (1, "baseline again"), (1, "baseline")),
        *((2, "baseline"), (2, "baseline again"), (3, "baseline again"), (3, "baseline")),
    ]


def test_a_baseline_that_boots_once_in_a_block_has_no_halves() -> None:
    assert halved(samples([((100.0,), (104.0,))] * 4), "baseline") == ()


def test_the_baseline_and_each_placebo_are_compared() -> None:
    taken = samples(BLOCKS, head="placebo-1")
    found = noise(taken, SECONDS, STORM, 1, "baseline", ["placebo-1", "placebo-2"], Rules())
    assert [(one.variant, one.blocks) for one in found] == [("baseline again", 4), ("placebo-1", 4)]


def test_a_placebo_that_really_differs_sets_the_floor() -> None:
    taken = samples(BLOCKS, head="placebo-1")
    found = noise(taken, SECONDS, STORM, 1, "baseline", ["placebo-1"], Rules())
    assert floor(found) == pytest.approx(0.041, abs=0.001)


def test_what_chance_explains_is_no_floor() -> None:
    assert floor([comparison(0.01, 0.1)]) == 0.0


def test_of_a_change_beyond_chance_most_is_left() -> None:
    assert floor([comparison(0.02, 0.02), comparison(0.001, 0.02)]) == pytest.approx(0.018, abs=0.001)


def test_without_placebos_there_is_no_floor() -> None:
    assert floor([]) == 0.0
