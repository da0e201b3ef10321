# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of runs: what drifts falls on both sides alike."""

from __future__ import annotations

from collections import Counter

from linesmith.tuner.judge.schedule import order


def test_a_block_runs_each_side_twice_one_around_the_other() -> None:
    assert {order("a", "b", block, seed=1) for block in range(20)} == {("a", "b", "b", "a"), ("b", "a", "a", "b")}


def test_two_blocks_in_a_row_begin_with_different_sides() -> None:
    firsts = [order("a", "b", block, seed=3)[0] for block in range(40)]
    assert all(firsts[block] != firsts[block + 1] for block in range(0, 40, 2))


def test_which_side_begins_is_drawn_so_that_nothing_periodic_favours_one() -> None:
    firsts = [order("a", "b", block, seed=1)[0] for block in range(0, 200, 2)]
    assert 35 < Counter(firsts)["a"] < 65


def test_a_seed_gives_the_same_order_in_every_process_and_on_every_day() -> None:
    assert [order("baseline", "moved", block, seed=7)[0] for block in range(6)] == [
        "baseline",
        "moved",
        "moved",
        "baseline",
        "moved",
        "baseline",
    ]


def test_a_steady_drift_adds_the_same_to_both_sides_of_a_block() -> None:
    for block in range(10):
        runs = order("a", "b", block, seed=1)
        assert sum(at for at, side in enumerate(runs) if side == "a") == sum(
            at for at, side in enumerate(runs) if side == "b"
        )
