# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways to search, each by itself: places and their filling, the optional library, annealing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest
from packing_cases import cheapest

from linesmith.analyzer.geometry.placement import Shape
from linesmith.tuner.packing.anneal import anneal
from linesmith.tuner.packing.chain import undone
from linesmith.tuner.packing.cpsat import place_hot
from linesmith.tuner.packing.fill import Filling
from linesmith.tuner.packing.positions import Positions
from linesmith.tuner.packing.prices import UNITS
from linesmith.tuner.packing.problem import Clash, Grid, Hotspot, Item, Problem
from linesmith.tuner.packing.rooms import rooms
from linesmith.tuner.packing.scene import Scene
from linesmith.tuner.packing.solve import front, solve

ANYWHERE = Grid(64, tuple((start, 1 / 8) for start in range(0, 64, 8)))


def crowded(sizes: Sequence[int], hot: Sequence[int]) -> Problem:
    """Members of these sizes, aligned to 8, of which all of ``hot`` clash: the first pair least, the last most."""
    items = tuple(Item((Shape(size * 8, 64),)) for size in sizes)
    spots = tuple(Hotspot(number, 0, 0, sizes[number]) for number in hot)
    pairs = list(combinations(range(len(hot)), 2))
    clashes = tuple(Clash(one, other, float(weight + 1)) for weight, (one, other) in enumerate(pairs))
    return Problem(items, spots, clashes, (ANYWHERE,), sum(sizes), 8)


SEVEN = crowded([8, 8, 16, 24, 8, 40, 8], hot=(0, 1, 3, 6))


def test_places_of_hot_items_alone_give_the_cost_of_the_cheapest_order() -> None:
    scene = Scene(SEVEN)
    found = Positions(scene, 10**6, 2 * UNITS).run()
    assert found.best is not None
    assert found.best.units == found.bound
    assert found.bound * scene.prices.unit == pytest.approx(cheapest(SEVEN))


def test_a_search_that_is_cut_short_has_a_bound_below_the_cheapest_cost() -> None:
    scene = Scene(SEVEN)
    found = Positions(scene, 3, 2 * UNITS).run()
    assert found.bound * scene.prices.unit < cheapest(SEVEN)


def test_the_library_finds_the_same_cost_and_nearly_the_same_bound() -> None:
    pytest.importorskip("ortools")
    scene = Scene(SEVEN)
    found = place_hot(scene, 2 * UNITS, 5.0)
    assert found is not None
    assert found.best is not None
    assert found.best.units * scene.prices.unit == pytest.approx(cheapest(SEVEN))
    assert found.best.units - 100 <= found.bound <= found.best.units


def test_without_the_library_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = solve(SEVEN)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert place_hot(Scene(SEVEN), 2 * UNITS, 1.0) is None
    assert solve(SEVEN) == with_it


def test_gaps_are_filled_in_the_present_order_as_far_as_that_fits() -> None:
    scene = Scene(crowded([8, 8, 16, 24, 8, 40, 8], hot=(0, 6)))
    # The first hot item goes to byte 48: 8 + 16 + 24 bytes lie before it.
    filled = Filling(scene, {0: 48 * 8, 6: 104 * 8}, work=1000).run()
    assert filled.order == (1, 2, 3, 0, 4, 5, 6)


def test_a_gap_that_nothing_fills_is_known_to_be_impossible() -> None:
    scene = Scene(crowded([8, 24, 24, 8], hot=(0, 3)))
    filled = Filling(scene, {0: 16 * 8, 3: 56 * 8}, work=1000).run()
    assert (filled.order, filled.all_tried) == (None, True)


def test_annealing_never_answers_with_a_dearer_order_and_says_the_same_twice() -> None:
    random = Random(3)  # noqa: S311
    sizes = [random.choice([8, 16, 24]) for _ in range(40)]
    scene = Scene(crowded(sizes, hot=range(10, 26, 2)))
    present = scene.judge(range(40))
    assert present is not None
    found = anneal(scene, present, 2000)
    assert found.units < present.units
    assert found == anneal(scene, present, 2000)


def test_what_is_not_proven_says_what_it_may_miss_and_the_same_problem_has_the_same_answer() -> None:
    dense = crowded([8] * 24, hot=range(4, 20))
    answer = solve(dense, work=2000)
    assert not answer.proven
    assert 0 <= answer.bound < answer.cost
    assert answer == solve(dense, work=2000)


def test_a_bound_counts_what_members_gain_by_being_together() -> None:
    dense = crowded([8] * 24, hot=range(4, 20))
    signed = tuple(replace(one, weight=one.weight * (-1) ** number) for number, one in enumerate(dense.clashes))
    answer = solve(replace(dense, clashes=signed), work=500)
    assert not answer.proven
    assert -sum(one.weight for one in dense.clashes) < answer.bound < answer.cost


def test_a_move_that_saves_nothing_is_taken_back() -> None:
    scene = Scene(SEVEN)
    one_moved = scene.judge((0, 2, 3, 4, 5, 1, 6))
    assert one_moved is not None
    assert undone(scene, one_moved).order == (0, 1, 2, 3, 4, 5, 6)


def test_an_item_has_the_room_that_those_before_and_behind_it_leave() -> None:
    """Two items, one that lies at byte 32, and two more, in 64 bytes."""
    sizes, segments = (8, 16, 8, 8, 8), (0, 0, 1, 2, 2)
    items = tuple(Item((Shape(size * 8, 64),), segment) for size, segment in zip(sizes, segments, strict=True))
    pinned = (*items[:2], replace(items[2], pinned=32), *items[3:])
    scene = Scene(replace(crowded(sizes, hot=(0, 3)), items=pinned, size_limit=64))
    before, behind = (0, 33 * 8 - 1), (40 * 8, 64 * 8)
    assert rooms(scene) == (before, before, (24 * 8, 48 * 8), behind, behind)


def test_items_that_do_not_move_keep_their_order() -> None:
    items = [replace(item, movable=number not in (0, 1, 3)) for number, item in enumerate(SEVEN.items)]
    for answer in front(replace(SEVEN, items=tuple(items))):
        assert [item for item in answer.order if item in (0, 1, 3)] == [0, 1, 3]
        assert not {0, 1, 3} & set(answer.moved)


def test_the_latest_place_of_an_item_is_kept() -> None:
    items = [replace(item, latest=16 if number == 6 else None) for number, item in enumerate(SEVEN.items)]
    answer = solve(replace(SEVEN, items=tuple(items)))
    before = answer.order[: answer.order.index(6)]
    assert sum(SEVEN.items[item].shapes[0].size // 8 for item in before) <= 16
