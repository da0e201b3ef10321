# SPDX-License-Identifier: GPL-2.0-or-later
"""The packing solver against every order there is, laid out byte by byte by a judge that shares no code with it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.geometry.placement import Shape
from linesmith.tuner.packing.order import moved
from linesmith.tuner.packing.positions import Positions
from linesmith.tuner.packing.prices import UNITS
from linesmith.tuner.packing.problem import Apart, Clash, Grid, Hotspot, Item, Problem
from linesmith.tuner.packing.scene import Scene
from linesmith.tuner.packing.solve import front, solve

ANYWHERE = Grid(64, tuple((start, 1 / 8) for start in range(0, 64, 8)))


def item(size: int, segment: int = 0, pinned: int | None = None, movable: bool = True) -> Item:
    """A member of ``size`` bytes, aligned to the largest power of two up to 8 that divides it."""
    alignment = next(step for step in (8, 4, 2, 1) if size % step == 0)
    return Item((Shape(size * 8, alignment * 8),), segment, pinned, movable)


def problem(items: Sequence[Item], hot: Sequence[int], grids: Sequence[Grid] = (ANYWHERE,)) -> Problem:
    """Every two of the items ``hot`` clash with weight 1; the record may be 8 bytes larger than its members."""
    spots = tuple(Hotspot(number, 0, 0, items[number].shapes[0].size // 8) for number in hot)
    clashes = tuple(Clash(one, other, 1.0) for one, other in combinations(range(len(hot)), 2))
    room = sum(one.shapes[0].size // 8 for one in items) + 8
    return Problem(tuple(items), spots, clashes, tuple(grids), room, 8)


def judged(problem: Problem, order: Sequence[int]) -> float | None:
    """The cost of the order, ``None`` if it is not legal: bytes one by one, phase by phase."""
    at, bytes_of = 0, {}
    for number in order:
        shape = problem.items[number].shapes[0]
        while at % (shape.alignment // 8):
            at += 1
        if problem.items[number].pinned not in (None, at):
            return None
        bytes_of[number] = range(at, at + shape.size // 8)
        at += shape.size // 8
    if at > problem.size_limit // problem.alignment * problem.alignment:
        return None
    return sum(
        clash.weight * grid.weight * share
        for clash in problem.clashes
        for grid in problem.grids
        for phase, share in grid.phases
        if _line_in_common(problem, bytes_of, clash, phase, grid.line_bytes)
    )


def _line_in_common(problem: Problem, places: dict[int, range], clash: Clash, phase: int, line_bytes: int) -> bool:
    lines = [
        {(at + problem.base + phase) // line_bytes for at in places[problem.hotspots[number].item]}
        for number in (clash.first, clash.second)
    ]
    return bool(lines[0] & lines[1])


def orders(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Every order in which segments stay one behind the other."""
    for order in permutations(range(len(problem.items))):
        segments = [problem.items[number].segment for number in order]
        if segments == sorted(segments):
            yield order


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8, 8, 16, 24, 40]), min_size=2, max_size=6))
    cut = draw(st.integers(0, len(sizes)))
    items = [item(size, segment=int(number >= cut)) for number, size in enumerate(sizes)]
    hot = draw(st.lists(st.integers(0, len(sizes) - 1), min_size=2, max_size=4, unique=True))
    phase = draw(st.integers(0, 7)) * 8
    base = problem(items, hot, (ANYWHERE, Grid(128, ((phase, 0.75), (64, 0.25)), 0.5)))
    weights = draw(st.lists(st.integers(-4, 9), min_size=len(base.clashes), max_size=len(base.clashes)))
    clashes = tuple(replace(clash, weight=float(weight)) for clash, weight in zip(base.clashes, weights, strict=True))
    return replace(base, clashes=clashes, base=draw(st.sampled_from([0, 0, 8, 20])))


@settings(max_examples=80)
@given(problems())
def test_the_answer_costs_as_little_as_the_cheapest_of_all_orders(problem: Problem) -> None:
    costs = [cost for order in orders(problem) if (cost := judged(problem, order)) is not None]
    if not costs:
        with pytest.raises(ValueError, match="no legal order"):
            solve(problem)
        return
    answer = solve(problem)
    assert answer.proven
    assert answer.cost == pytest.approx(min(costs), abs=1e-6)
    assert judged(problem, answer.order) == pytest.approx(answer.cost, abs=1e-6)


@settings(max_examples=40)
@given(problems())
def test_each_answer_of_the_front_is_the_cheapest_with_so_many_moves(problem: Problem) -> None:
    by_moves: dict[int, float] = {}
    for order in orders(problem):
        cost = judged(problem, order)
        if cost is not None:
            count = len(moved(order))
            by_moves[count] = min(cost, by_moves.get(count, cost))
    for answer in front(problem):
        within = [cost for count, cost in by_moves.items() if count <= len(answer.moved)]
        assert answer.cost == pytest.approx(min(within), abs=1e-6)


def test_moving_fewer_items_is_better_where_the_cost_is_equal() -> None:
    apart = problem([item(8), item(8), *[item(8)] * 9], hot=(0, 1))
    assert [(answer.cost, answer.moved) for answer in front(apart)] == [(0.875, ()), (0.0, (1,))]


def test_a_pinned_item_keeps_its_byte_and_others_give_way() -> None:
    items = [item(8), item(8, pinned=8), *[item(8)] * 9]
    answer = solve(problem(items, hot=(0, 1)))
    assert answer.order.index(1) == 1
    assert answer.cost == 0.0


def test_what_does_not_fit_the_limit_is_not_chosen() -> None:
    tight = replace(problem([item(8), item(56), item(4), item(4)], hot=(0, 1)), size_limit=72)
    answer = solve(replace(tight, clashes=(Clash(0, 1, 1.0),)))
    assert answer.size == 72
    assert answer.cost == min(cost for order in orders(tight) if (cost := judged(tight, order)) is not None)


def test_what_must_be_apart_is_apart_whatever_it_costs() -> None:
    wanted = replace(problem([item(8), item(8), *[item(8)] * 9], hot=(0, 1)), clashes=(), apart=(Apart(0, 1, 64),))
    answer = solve(wanted)
    places = {number: place for place, number in enumerate(answer.order)}
    assert places[0] // 8 != places[1] // 8


def test_a_record_that_must_be_large_gets_a_hole() -> None:
    small = problem([item(8), item(4), item(4)], hot=(0, 1))
    assert (solve(small).size, solve(replace(small, size_floor=24)).order) == (16, (1, 0, 2))


def test_the_fewest_moves_are_all_but_the_longest_rise() -> None:
    assert moved((0, 1, 2, 3)) == ()
    assert moved((3, 0, 1, 2)) == (3,)
    assert moved((3, 2, 1, 0)) != (3, 2, 1, 0)
    assert moved((1, 2, 3, 0), fixed=(0,)) == (1, 2, 3)


@given(st.permutations(range(8)))
def test_no_fewer_moves_lead_to_an_order(order: list[int]) -> None:
    longest = [1] * len(order)
    for place, item in enumerate(order):
        longest[place] = 1 + max((longest[at] for at in range(place) if order[at] < item), default=0)
    assert len(moved(order)) == len(order) - max(longest)


def test_a_search_that_ended_leaves_nothing_in_memory() -> None:
    scene = Scene(problem([item(8), item(16), *[item(8)] * 9], hot=(0, 1)))
    Positions(scene, 1_000, UNITS).run()
    known = weakref.ref(scene)
    del scene
    gc.collect()
    assert known() is None
