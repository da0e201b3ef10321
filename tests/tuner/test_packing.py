# SPDX-License-Identifier: GPL-2.0-or-later
"""The packing solver against every order there is, laid out byte by byte by a judge that shares no code with it."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.geometry.placement import Shape
from linesmith.tuner.packing.anneal import anneal
from linesmith.tuner.packing.chain import undone
from linesmith.tuner.packing.companies import Companies, most
from linesmith.tuner.packing.cpsat import place_hot
from linesmith.tuner.packing.fill import Filling
from linesmith.tuner.packing.order import moved
from linesmith.tuner.packing.positions import Positions
from linesmith.tuner.packing.prices import UNITS
from linesmith.tuner.packing.problem import Apart, Clash, Company, Grid, Hotspot, Item, Problem
from linesmith.tuner.packing.rooms import rooms
from linesmith.tuner.packing.scene import Scene
from linesmith.tuner.packing.solve import front, solve

ANYWHERE = Grid(64, tuple((start, 1 / 8) for start in range(0, 64, 8)))
HERE = Grid(64, ((40, 1.0),))
# A byte outside of the record, by which lines are priced too.
OUTSIDE = 200


def item(size: int, segment: int = 0, pinned: int | None = None) -> Item:
    """A member of ``size`` bytes, aligned to the largest power of two up to 8 that divides it."""
    alignment = next(step for step in (8, 4, 2, 1) if size % step == 0)
    return Item((Shape(size * 8, alignment * 8),), segment, pinned)


def problem(items: Sequence[Item | int], hot: Sequence[int], room: int = 8) -> Problem:
    """Every two of the items ``hot`` clash with weight 1; the record may be ``room`` bytes larger than its members."""
    made = tuple(item(one) if isinstance(one, int) else one for one in items)
    spots = tuple(Hotspot(number, 0, 0, made[number].shapes[0].size // 8) for number in hot)
    clashes = tuple(Clash(one, other, 1.0) for one, other in combinations(range(len(hot)), 2))
    return Problem(made, spots, clashes, (ANYWHERE,), sum(one.shapes[0].size // 8 for one in made) + room, 8)


def judged(problem: Problem, order: Sequence[int]) -> float | None:
    """The cost of the order, ``None`` if it is not legal: bytes one by one, phase by phase."""
    at, places = 0, {}
    for number in order:
        shape = problem.items[number].shapes[0]
        while at % (shape.alignment // 8):
            at += 1
        if problem.items[number].pinned not in (None, at):
            return None
        places[number] = range(at, at + shape.size // 8)
        at += shape.size // 8
    if at > problem.size_limit // problem.alignment * problem.alignment:
        return None
    total = 0.0
    for grid in problem.grids:
        for phase, share in grid.phases:
            spots = [[at + problem.base + phase for at in places[spot.item]] for spot in problem.hotspots]
            lines = [{at // grid.line_bytes for at in bytes_} for bytes_ in spots]
            clash = sum(one.weight for one in problem.clashes if lines[one.first] & lines[one.second])
            total += grid.weight * share * (clash + _together(problem.company, lines, phase, grid.line_bytes))
    return total


def _together(company: Company | None, lines: list[set[int]], phase: int, line_bytes: int) -> float:
    """The price of what lies on each line together, members by the line they begin on."""
    if company is None:
        return 0
    places = [*map(min, lines), (OUTSIDE + phase) // line_bytes]
    masks = [sum(1 << one for one, line in enumerate(places) if line == other) for other in set(places)]
    return sum(map(company.price, masks))


def orders(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Every order in which segments stay one behind the other."""
    for order in permutations(range(len(problem.items))):
        segments = [problem.items[number].segment for number in order]
        if segments == sorted(segments):
            yield order


def costs(problem: Problem) -> dict[tuple[int, ...], float]:
    """What each legal order costs."""
    tried = ((order, judged(problem, order)) for order in orders(problem))
    return {order: cost for order, cost in tried if cost is not None}


@st.composite
def clashing(draw: st.DrawFn) -> Problem:
    """Members that clash, or gain by being together, in two segments."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8, 8, 16, 24, 40]), min_size=2, max_size=5))
    cut = draw(st.integers(0, len(sizes)))
    items = [item(size, segment=int(number >= cut)) for number, size in enumerate(sizes)]
    hot = draw(st.lists(st.integers(0, len(sizes) - 1), min_size=2, max_size=4, unique=True))
    phase = draw(st.integers(0, 7)) * 8
    made = problem(items, hot)
    weights = draw(st.lists(st.integers(-4, 9), min_size=len(made.clashes), max_size=len(made.clashes)))
    clashes = tuple(replace(clash, weight=float(weight)) for clash, weight in zip(made.clashes, weights, strict=True))
    grids = (ANYWHERE, Grid(128, ((phase, 0.75), (64, 0.25)), 0.5))
    return replace(made, clashes=clashes, grids=grids, base=draw(st.sampled_from([0, 0, 8, 20])))


def fetched(sizes: Sequence[int], hot: Sequence[int], weights: Sequence[int], written: int) -> Problem:
    """A line costs the heaviest member on it, and that again for each written one beside others.

    The last weight is that of the byte outside; the record begins at byte 160 of its object.
    """

    def price(mask: int) -> float:
        on_line = [weight for number, weight in enumerate(weights) if mask >> number & 1]
        disturbed = (mask & written).bit_count() if len(on_line) > 1 else 0
        return max(on_line, default=0) * (1 + disturbed)

    made = problem(sizes, hot, room=8 * len(sizes))
    spots = tuple(replace(spot, size=1) for spot in made.hotspots)
    company = Company(len(weights) - 1, price, fixed=(OUTSIDE,))
    return replace(made, hotspots=spots, clashes=(), grids=(ANYWHERE, HERE), base=160, company=company)


@st.composite
def priced_by_line(draw: st.DrawFn) -> Problem:
    sizes = draw(st.lists(st.sampled_from([4, 8, 8, 16, 40]), min_size=3, max_size=5))
    hot = draw(st.lists(st.integers(0, len(sizes) - 1), min_size=2, max_size=4, unique=True))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(hot) + 1, max_size=len(hot) + 1))
    return fetched(sizes, hot, weights, draw(st.integers(0, 31)))


@settings(max_examples=25)
@given(clashing() | priced_by_line())
def test_the_answer_costs_as_little_as_the_cheapest_of_all_orders(problem: Problem) -> None:
    tried = costs(problem)
    if not tried:
        with pytest.raises(ValueError, match="no legal order"):
            solve(problem)
        return
    answer = solve(problem)
    assert answer.proven
    assert answer.cost == pytest.approx(min(tried.values()), abs=1e-6)
    assert tried[answer.order] == pytest.approx(answer.cost, abs=1e-6)


@settings(max_examples=15)
@given(clashing())
def test_each_answer_of_the_front_is_the_cheapest_with_so_many_moves(problem: Problem) -> None:
    tried = [(len(moved(order)), cost) for order, cost in costs(problem).items()]
    for answer in front(problem):
        within = [cost for count, cost in tried if count <= len(answer.moved)]
        assert answer.cost == pytest.approx(min(within), abs=1e-6)


PAIR = problem([8] * 11, hot=(0, 1))


def test_what_an_answer_keeps_to() -> None:
    fewest = [(answer.cost, answer.moved) for answer in front(PAIR)]
    assert fewest == [(0.875, ()), (0.0, (1,))], "moving fewer items is better where the cost is equal"
    pinned = solve(replace(PAIR, items=(PAIR.items[0], item(8, pinned=8), *PAIR.items[2:])))
    assert (pinned.order.index(1), pinned.cost) == (1, 0.0), "others give way to a pinned item"
    tight = replace(problem([8, 56, 4, 4], hot=(0, 1)), size_limit=72)
    assert (solve(tight).size, solve(tight).cost) == (72, min(costs(tight).values()))
    order = solve(replace(PAIR, clashes=(), apart=(Apart(0, 1, 64),))).order
    assert order.index(0) // 8 != order.index(1) // 8, "what must be apart is apart whatever it costs"
    small = problem([8, 4, 4], hot=(0, 1))
    assert (solve(small).size, solve(replace(small, size_floor=24)).order) == (16, (1, 0, 2)), "a hole makes it large"


def test_the_fewest_moves_are_all_but_the_longest_rise() -> None:
    assert [moved((0, 1, 2, 3)), moved((3, 0, 1, 2)), moved((1, 2, 3, 0), fixed=(0,))] == [(), (3,), (1, 2, 3)]


@settings(max_examples=50)
@given(st.permutations(range(8)))
def test_no_fewer_moves_lead_to_an_order(order: list[int]) -> None:
    longest = [1] * len(order)
    for place, number in enumerate(order):
        longest[place] = 1 + max((longest[at] for at in range(place) if order[at] < number), default=0)
    assert len(moved(order)) == len(order) - max(longest)


WEIGHTS, WRITTEN = st.lists(st.integers(1, 9), min_size=3, max_size=3), st.integers(0, 7)
PARTITIONS = ((0b111,), (0b001, 0b110), (0b010, 0b101), (0b100, 0b011), (0b001, 0b010, 0b100))


@settings(max_examples=25)
@given(WEIGHTS, WRITTEN)
def test_every_order_lies_between_the_bounds_of_what_shares_a_line(weights: list[int], written: int) -> None:
    """Each of eight phases of each hotspot may be rounded by half a unit; both grids count."""
    made = fetched([8, 8, 8], hot=(0, 2), weights=weights, written=written)
    assert made.company is not None
    cheapest = min(sum(map(made.company.price, parts)) for parts in PARTITIONS)
    least = Companies(made, made.company, 1e-3).least()
    assert least == pytest.approx(2 * cheapest * 1000 - 3 * 8, abs=1)
    wide = fetched([8, 40, 8], hot=(0, 2), weights=weights, written=written)
    assert most(wide, made.company) > max(costs(wide).values())


def test_members_that_cost_less_together_come_together_and_of_many_the_bound_is_that_of_the_best_line() -> None:
    order = solve(fetched([8, 40, 40, 40, 8, 8], hot=(0, 4), weights=(5, 5, 1), written=0)).order
    assert abs(order.index(0) - order.index(4)) == 1
    answer = solve(fetched([8] * 30, hot=(3, 15, 27), weights=(5, 4, 3, 1), written=0))
    # With the byte outside, at best all four on one line: 5 in each of the two grids.
    assert answer.bound == pytest.approx(10, abs=1e-6)
    assert answer.cost >= answer.bound


def test_a_search_that_ended_leaves_nothing_in_memory() -> None:
    scene = Scene(PAIR)
    Positions(scene, 1_000, UNITS).run()
    known = weakref.ref(scene)
    del scene
    gc.collect()
    assert known() is None


def crowded(sizes: Sequence[int], hot: Sequence[int]) -> Problem:
    """Members without room between them, of which all of ``hot`` clash: the first pair least, the last most."""
    made = problem(sizes, hot, room=0)
    return replace(made, clashes=tuple(replace(one, weight=float(at + 1)) for at, one in enumerate(made.clashes)))


SEVEN = crowded([8, 8, 16, 24, 8, 40, 8], hot=(0, 1, 3, 6))
CHEAPEST = min(costs(SEVEN).values())
DENSE = crowded([8] * 24, hot=range(4, 20))


def test_places_of_hot_items_alone_give_the_cost_of_the_cheapest_order() -> None:
    scene = Scene(SEVEN)
    found = Positions(scene, 10**6, 2 * UNITS).run()
    assert found.best is not None
    assert found.best.units == found.bound
    assert found.bound * scene.prices.unit == pytest.approx(CHEAPEST)
    assert Positions(scene, 3, 2 * UNITS).run().bound * scene.prices.unit < CHEAPEST, "cut short"


def test_the_library_finds_the_same_cost_and_without_it_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ortools")
    scene, with_it = Scene(SEVEN), solve(SEVEN)
    found = place_hot(scene, 2 * UNITS, 5.0)
    assert found is not None
    assert found.best is not None
    assert found.best.units * scene.prices.unit == pytest.approx(CHEAPEST)
    assert found.best.units - 100 <= found.bound <= found.best.units
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert place_hot(Scene(SEVEN), 2 * UNITS, 1.0) is None
    assert solve(SEVEN) == with_it


def test_gaps_are_filled_in_the_present_order_as_far_as_that_fits() -> None:
    scene = Scene(crowded([8, 8, 16, 24, 8, 40, 8], hot=(0, 6)))
    # The first hot item goes to byte 48: 8 + 16 + 24 bytes lie before it.
    assert Filling(scene, {0: 48 * 8, 6: 104 * 8}, work=1000).run().order == (1, 2, 3, 0, 4, 5, 6)
    impossible = Filling(Scene(crowded([8, 24, 24, 8], hot=(0, 3))), {0: 16 * 8, 3: 56 * 8}, work=1000).run()
    assert (impossible.order, impossible.all_tried) == (None, True)


def test_an_item_has_the_room_that_those_before_and_behind_it_leave() -> None:
    """Two items, one that lies at byte 32, and two more, in 64 bytes."""
    items = (item(8), item(16), item(8, 1, pinned=32), item(8, 2), item(8, 2))
    scene = Scene(replace(problem(items, hot=(0, 3)), size_limit=64))
    before, behind = (0, 33 * 8 - 1), (40 * 8, 64 * 8)
    assert rooms(scene) == (before, before, (24 * 8, 48 * 8), behind, behind)


def test_annealing_never_answers_with_a_dearer_order_and_says_the_same_twice() -> None:
    random = Random(3)  # noqa: S311
    scene = Scene(crowded([random.choice([8, 16, 24]) for _ in range(40)], hot=range(10, 26, 2)))
    present = scene.judge(range(40))
    assert present is not None
    found = anneal(scene, present, 2000)
    assert found.units < present.units
    assert found == anneal(scene, present, 2000)


def test_what_is_not_proven_has_a_bound_and_the_same_problem_has_the_same_answer() -> None:
    answer = solve(DENSE, work=1000)
    assert not answer.proven
    assert 0 <= answer.bound < answer.cost
    assert answer == solve(DENSE, work=1000)
    signed = tuple(replace(one, weight=one.weight * (-1) ** number) for number, one in enumerate(DENSE.clashes))
    together = solve(replace(DENSE, clashes=signed), work=300)
    assert not together.proven
    assert -sum(one.weight for one in DENSE.clashes) < together.bound < together.cost


def test_a_move_that_saves_nothing_is_taken_back() -> None:
    scene = Scene(SEVEN)
    one_moved = scene.judge((0, 2, 3, 4, 5, 1, 6))
    assert one_moved is not None
    assert undone(scene, one_moved).order == (0, 1, 2, 3, 4, 5, 6)


def test_items_that_do_not_move_keep_their_order_and_the_latest_place_is_kept() -> None:
    still = [replace(one, movable=number not in (0, 1, 3)) for number, one in enumerate(SEVEN.items)]
    for answer in front(replace(SEVEN, items=tuple(still))):
        assert [number for number in answer.order if number in (0, 1, 3)] == [0, 1, 3]
        assert not {0, 1, 3} & set(answer.moved)
    early = [replace(one, latest=16 if number == 6 else None) for number, one in enumerate(SEVEN.items)]
    order = solve(replace(SEVEN, items=tuple(early))).order
    assert sum(SEVEN.items[number].shapes[0].size // 8 for number in order[: order.index(6)]) <= 16
