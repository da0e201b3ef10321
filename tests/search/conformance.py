# SPDX-License-Identifier: GPL-2.0-or-later
"""What every optimizer must keep to: write ``class TestMine(Conformance)`` with an ``optimizer`` and run it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.model import Ask, Dimension, Failure, FailureKind, Point, Space, Told
from linesmith.plugins.api import Optimizer, Search

Cost = Callable[[Point], float]
SMALL = Space(
    tuple(Dimension(f"place of m{number}", tuple(map(str, range(count)))) for number, count in enumerate((4, 3, 2))),
    priors=((1, 0, 0), (0, 2, 0)),
)
# Rungs of a ladder, and how many of them count against the budget.
LADDERS = ((4, 2), (3, 2), (2, 1), (1, 1))


def separable(point: Point) -> float:
    """Each choice has an effect of its own; the best is (3, 2, 1)."""
    return 1 - 0.05 * point[0] - 0.04 * point[1] - 0.03 * point[2]


def interacting(point: Point) -> float:
    """Either change alone does nothing; the best is (2, 1, any)."""
    return 0.7 if point[:2] == (2, 1) else 1.0


def answer(ask: Ask, cost: Cost = separable, spread: float = 0.0, seed: int = 0) -> Told:
    """A cost with noise of that spread, the same for the same ask."""
    draw = random.Random(f"{ask} {seed}")  # noqa: S311 - noise, no secret
    return Told(ask.point, ask.rung, cost(ask.point) + draw.gauss(0, spread / 2), spread)


def broken(ask: Ask, kind: FailureKind = FailureKind.BUILD) -> Told:
    return Told(ask.point, ask.rung, None, failure=Failure(kind, "it does not compile"))


def run(search: Search, tell: Callable[[Ask], Told] = answer, slots: int = 1, most: int = 2000) -> list[Ask]:
    asked: list[Ask] = []
    while asks := search.ask(slots):
        assert len(asks) <= slots
        asked += asks
        assert len(asked) <= most, "the search does not end"
        for ask in asks:
            search.tell(tell(ask))
    return asked


def tried(asked: list[Ask], rungs: int, costly: int) -> set[Point]:
    """The points that count against the budget."""
    return {ask.point for ask in asked if ask.rung >= rungs - costly}


class Conformance:
    """Inherit, and set ``optimizer``."""

    optimizer: Optimizer

    def small(self, trials: int = 10, rungs: int = 1, costly: int = 1) -> Search:
        return self.optimizer.search(SMALL, rungs, 1, trials, costly)

    @pytest.mark.parametrize(("rungs", "costly"), LADDERS)
    def test_asks_are_new_points_of_the_space_that_climb_rung_by_rung(self, rungs: int, costly: int) -> None:
        seen: set[Ask] = set()
        for ask in run(self.small(10, rungs, costly), slots=4):
            assert ask not in seen
            assert ask.point != SMALL.start
            assert all(0 <= number < len(one.choices) for number, one in zip(ask.point, SMALL.dimensions, strict=True))
            assert ask.rung == 0 or Ask(ask.point, ask.rung - 1) in seen
            seen.add(ask)
        assert {ask.rung for ask in seen} == set(range(rungs))

    @pytest.mark.parametrize(("rungs", "costly"), LADDERS)
    @pytest.mark.parametrize("trials", [0, 1, 7])
    def test_the_budget_is_kept(self, rungs: int, costly: int, trials: int) -> None:
        assert len(tried(run(self.small(trials, rungs, costly), slots=4), rungs, costly)) == trials

    def test_what_is_illegal_costs_no_trial(self) -> None:
        def told(ask: Ask) -> Told:
            return broken(ask, FailureKind.ILLEGAL) if ask.point[0] else answer(ask)

        assert len([ask for ask in run(self.small(5), told) if not ask.point[0]]) == 5

    def test_the_search_ends_when_every_point_was_asked(self) -> None:
        assert len(run(self.small(1000), slots=4)) == SMALL.size - 1

    @pytest.mark.parametrize(("rungs", "costly"), LADDERS)
    def test_a_failure_is_not_asked_for_again(self, rungs: int, costly: int) -> None:
        asked = run(self.small(1000, rungs, costly), broken, slots=4)
        assert len(asked) == len({ask.point for ask in asked}) == SMALL.size - 1

    def test_what_is_worse_than_the_baseline_beyond_its_spread_does_not_climb(self) -> None:
        climbs = self.optimizer.name == "exhaustive"  # it takes every point to every rung
        asked = run(self.small(10, 2), lambda ask: Told(ask.point, ask.rung, 1.2, 0.1))
        assert {ask.rung for ask in asked} == ({0, 1} if climbs else {0})

    def test_answers_come_in_any_order(self) -> None:
        search = self.small(8, 3, 2)
        waiting: list[Ask] = []
        asked: list[Ask] = []
        draw = random.Random(1)  # noqa: S311 - an order, no secret
        while True:
            asks = search.ask(max(4 - len(waiting), 0))
            waiting += asks
            asked += asks
            if not waiting:
                break
            search.tell(answer(waiting.pop(draw.randrange(len(waiting)))))
        assert len(set(asked)) == len(asked)
        assert len(tried(asked, 3, 2)) == 8

    def test_four_workers_are_kept_busy(self) -> None:
        search = self.small(16)
        waiting = list(search.ask(4))
        for _ in range(12):
            assert len(waiting) == 4
            search.tell(answer(waiting.pop()))
            waiting += search.ask(1)

    def test_an_answer_for_another_space_is_not_heard(self) -> None:
        search = self.small()
        for point in ((1,), (9, 9, 9), (0, 0, 1, 0)):
            search.tell(Told(point, 0, 0.5))
        search.tell(Told((1, 0, 0), 7, 0.5))
        assert len(run(search)) == 10

    def test_a_dimension_without_a_choice_does_no_harm(self) -> None:
        fixed = Dimension("place of fixed", ("as it is",))
        space = Space((*SMALL.dimensions, fixed))
        assert len(run(self.optimizer.search(space, 1, 1, 6, 1), slots=2)) == 6
        for dimensions in ((), (fixed,)):
            assert self.optimizer.search(Space(dimensions), 2, 1, 10, 1).ask(4) == (), "the baseline alone"

    def test_a_second_answer_to_the_same_ask_changes_nothing(self) -> None:
        once, twice = self.small(), self.small()
        (ask,) = once.ask(1)
        assert twice.ask(1) == (ask,)
        once.tell(answer(ask))
        twice.tell(answer(ask))
        twice.tell(broken(ask))
        assert once.ask(3) == twice.ask(3)

    # No deadline here either: optimizers of others inherit this, under settings of their own.
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def test_a_search_that_is_told_the_same_goes_on_in_the_same_way(self, data: st.DataObject) -> None:
        rungs, costly = data.draw(st.sampled_from(LADDERS))
        seed, slots = data.draw(st.integers(0, 99)), data.draw(st.integers(1, 4))
        first = self.optimizer.search(SMALL, rungs, seed, 8, costly)
        told: list[Told] = []
        for _ in range(data.draw(st.integers(0, 12))):
            for ask in first.ask(slots):
                failed = data.draw(st.integers(0, 5)) == 0
                told.append(broken(ask) if failed else answer(ask, interacting, 0.1, seed))
                first.tell(told[-1])
        second = self.optimizer.search(SMALL, rungs, seed, 8, costly)
        for one in told:
            second.tell(one)
        assert run(second) == run(first)

    def test_what_was_under_way_is_asked_for_again(self) -> None:
        first, second = self.small(), self.small()
        lost, done = first.ask(2)
        second.tell(answer(done))
        asked = run(second)
        assert done not in asked
        assert lost in asked or len(asked) == 9
