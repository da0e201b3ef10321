# SPDX-License-Identifier: GPL-2.0-or-later
"""When measuring ends: a difference is told, none is left to find, or the most blocks are measured."""

from __future__ import annotations

from dataclasses import replace

from measured import comparison

from linesmith.analyzer.model import Rules, VerdictKind
from linesmith.tuner.judge.stopping import decide, enough

RULES = Rules(least_blocks=4, most_blocks=16, smallest=0.005)
BETTER = comparison(0.1, 0.05, VerdictKind.BETTER)
UNCLEAR = comparison(0.02, 0.025)


def test_a_large_effect_ends_it_with_the_fewest_blocks() -> None:
    assert decide([comparison(0.1, 0.05, VerdictKind.BETTER, blocks=4)], RULES).reason == "all is clear after 4 blocks"


def test_fewer_blocks_are_never_enough() -> None:
    assert decide([comparison(0.1, 0.05, VerdictKind.BETTER, blocks=3)], RULES).reason == "3 of at least 4 blocks"
    assert not enough([], RULES)


def test_a_change_that_may_yet_be_found_is_followed() -> None:
    assert decide([UNCLEAR], RULES).reason == "exec-storm.ops_per_second with 8 threads is not clear yet"


def test_where_nothing_that_matters_is_left_nothing_is_measured() -> None:
    assert enough([comparison(0.001, 0.003)], RULES)


def test_without_hope_of_a_difference_nothing_more_is_measured() -> None:
    assert enough([comparison(0.0, 0.04, blocks=8)], RULES)


def test_too_noisy_is_not_said_before_more_blocks_would_say_so_too() -> None:
    now = comparison(0.0, 0.11, VerdictKind.TOO_NOISY, blocks=8)
    assert not enough([now], RULES)
    assert enough([comparison(0.0, 0.3, VerdictKind.TOO_NOISY, blocks=8)], RULES)


def test_the_most_blocks_end_it_in_any_case() -> None:
    assert decide([replace(UNCLEAR, blocks=16)], RULES).reason == "all 16 blocks are measured"


def test_every_number_of_threads_must_be_clear() -> None:
    assert not enough([BETTER, replace(UNCLEAR, threads=1)], RULES)


def test_a_guard_that_became_worse_ends_it() -> None:
    hurt = comparison(-0.1, 0.02, VerdictKind.WORSE, guard=True, tolerance=0.02, benchmark="page-faults")
    assert decide([UNCLEAR, hurt], RULES).reason == "the guard page-faults became worse"


def test_a_gain_is_not_enough_until_its_guards_are_known_to_hold() -> None:
    assert not enough([BETTER, comparison(0.0, 0.03, guard=True, tolerance=0.02)], RULES)
    assert enough([BETTER, comparison(0.0, 0.01, guard=True, tolerance=0.02)], RULES)


def test_where_nothing_is_gained_nothing_needs_to_be_guarded() -> None:
    assert enough([comparison(0.001, 0.003), comparison(0.0, 0.03, guard=True, tolerance=0.02)], RULES)


def test_what_is_only_shown_is_not_waited_for() -> None:
    assert enough([BETTER, replace(UNCLEAR, only_shown=True)], RULES)
