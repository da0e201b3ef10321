# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders priced by what lies on each line together: against every order, and what is proven of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.geometry.placement import Shape
from linesmith.tuner.packing.companies import Companies, most
from linesmith.tuner.packing.problem import Company, Grid, Hotspot, Item, Problem
from linesmith.tuner.packing.solve import solve

ANYWHERE = Grid(64, tuple((start, 1 / 8) for start in range(0, 64, 8)))
HERE = Grid(64, ((40, 1.0),))


def fetches(weights: Sequence[int], written: int) -> Company:
    """Hotspots with weights: a line costs the heaviest on it, and that again for each written one beside others."""

    def price(mask: int) -> float:
        on_line = [weight for number, weight in enumerate(weights) if mask >> number & 1]
        disturbed = (mask & written).bit_count() if len(on_line) > 1 else 0
        return max(on_line, default=0) * (1 + disturbed)

    return Company(len(weights) - 1, price, fixed=(200,))


def problem(sizes: Sequence[int], hot: Sequence[int], weights: Sequence[int], written: int) -> Problem:
    """The last weight is that of a byte outside, at byte 200 of an object in which the record begins at byte 160."""
    items = tuple(Item((Shape(size * 8, 64 if size % 8 == 0 else 32),)) for size in sizes)
    spots = tuple(Hotspot(number, 0, 0, 1) for number in hot)
    company = fetches(weights, written)
    # Room for every order, padding included.
    room = sum(sizes) + 8 * len(sizes)
    return Problem(items, spots, (), (ANYWHERE, HERE), room, 8, base=160, company=company)


def judged(problem: Problem, order: Sequence[int]) -> float:
    """What the order costs: bytes one by one, phase by phase."""
    assert problem.company is not None
    at, places = 0, {}
    for number in order:
        shape = problem.items[number].shapes[0]
        at += -at % (shape.alignment // 8)
        places[number] = at
        at += shape.size // 8
    total = 0.0
    for grid in problem.grids:
        for phase, share in grid.phases:
            bytes_of = [places[spot.item] + problem.base for spot in problem.hotspots] + [200]
            lines = [(byte + phase) // grid.line_bytes for byte in bytes_of]
            masks = [sum(1 << one for one, line in enumerate(lines) if line == other) for other in set(lines)]
            total += share * sum(problem.company.price(mask) for mask in masks)
    return total


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    sizes = draw(st.lists(st.sampled_from([4, 8, 8, 16, 40]), min_size=3, max_size=6))
    hot = draw(st.lists(st.integers(0, len(sizes) - 1), min_size=2, max_size=4, unique=True))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(hot) + 1, max_size=len(hot) + 1))
    return problem(sizes, hot, weights, draw(st.integers(0, 31)))


@settings(max_examples=25)
@given(problems())
def test_the_answer_costs_as_little_as_the_cheapest_of_all_orders(problem: Problem) -> None:
    answer = solve(problem)
    least = min(judged(problem, order) for order in permutations(range(len(problem.items))))
    assert answer.proven
    assert answer.cost == pytest.approx(least, abs=1e-6)
    assert judged(problem, answer.order) == pytest.approx(least, abs=1e-6)


WRITTEN = st.integers(0, 7)
WEIGHTS = st.lists(st.integers(1, 9), min_size=3, max_size=3)
PARTITIONS = ((0b111,), (0b001, 0b110), (0b010, 0b101), (0b100, 0b011), (0b001, 0b010, 0b100))


@given(WEIGHTS, WRITTEN)
def test_no_order_is_below_the_cheapest_way_to_share_lines(weights: list[int], written: int) -> None:
    """Each of eight phases of each hotspot may be rounded by half a unit; both grids count."""
    company = fetches(weights, written)
    made = problem([8, 8, 8], hot=(0, 2), weights=weights, written=written)
    cheapest = min(sum(map(company.price, parts)) for parts in PARTITIONS)
    assert Companies(made, company, 1e-3).least() == pytest.approx(2 * cheapest * 1000 - 3 * 8, abs=1)


@given(WEIGHTS, WRITTEN)
def test_no_order_costs_as_much_as_the_most(weights: list[int], written: int) -> None:
    made = problem([8, 40, 8], hot=(0, 2), weights=weights, written=written)
    dearest = max(judged(made, order) for order in permutations(range(3)))
    assert most(made, fetches(weights, written)) > dearest


def test_members_that_cost_less_together_come_together() -> None:
    apart = problem([8, 40, 40, 40, 8, 8], hot=(0, 4), weights=(5, 5, 1), written=0)
    order = solve(apart).order
    assert abs(order.index(0) - order.index(4)) == 1


def test_of_many_members_the_bound_is_that_of_the_best_company() -> None:
    many = problem([8] * 30, hot=(3, 15, 27), weights=(5, 4, 3, 1), written=0)
    answer = solve(many)
    # With the byte outside, at best all four on one line: 5 in each of the two grids.
    assert answer.bound == pytest.approx(10, abs=1e-6)
    assert answer.cost >= answer.bound
