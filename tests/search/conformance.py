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
LADDERS = ((4, 2), (3, 2), (2, 1), (1, 1))


def separable(point: Point) -> float:
    """Each choice has an effect of its own; the best is (3, 2, 1)."""
    return 1 - 0.05 * point[0] - 0.04 * point[1] - 0.03 * point[2]


def interacting(point: Point) -> float:
    """Either change alone does nothing; the best is (2, 1, any)."""
    return 0.7 if point[:2] == (2, 1) else 1.0


def answer(ask: Ask, cost: Cost, spread: float = 0.0, seed: int = 0) -> Told:
    """A cost with noise of that spread, the same for the same ask."""
    draw = random.Random(f"{ask} {seed}")  # noqa: S311 - noise, no secret
    return Told(ask.point, ask.rung, cost(ask.point) + draw.gauss(0, spread / 2), spread)


def broken(ask: Ask, kind: FailureKind = FailureKind.BUILD) -> Told:
    """An answer without a cost."""
    return Told(ask.point, ask.rung, None, failure=Failure(kind, "it does not compile"))


def run(search: Search, tell: Callable[[Ask], Told], slots: int = 1, most: int = 2000) -> list[Ask]:
    """Ask and tell until the end."""
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

    @pytest.mark.parametrize(("rungs", "costly"), LADDERS)
    def test_asks_are_new_points_of_the_space(self, rungs: int, costly: int) -> None:
        asked = run(self.optimizer.search(SMALL, rungs, 1, 10, costly), lambda ask: answer(ask, separable), slots=4)
        assert len(set(asked)) == len(asked)
        assert asked
        for ask in asked:
            assert 0 <= ask.rung < rungs
            assert ask.point != SMALL.start
            assert all(0 <= number < len(one.choices) for number, one in zip(ask.point, SMALL.dimensions, strict=True))

    @pytest.mark.parametrize(("rungs", "costly"), LADDERS)
    def test_a_point_climbs_rung_by_rung(self, rungs: int, costly: int) -> None:
        seen: set[Ask] = set()
        for ask in run(self.optimizer.search(SMALL, rungs, 1, 10, costly), lambda ask: answer(ask, separable), slots=4):
            assert ask.rung == 0 or Ask(ask.point, ask.rung - 1) in seen
            seen.add(ask)
        assert {ask.rung for ask in seen} == set(range(rungs))

    @pytest.mark.parametrize(("rungs", "costly"), LADDERS)
    @pytest.mark.parametrize("trials", [0, 1, 7])
    def test_the_budget_is_kept(self, rungs: int, costly: int, trials: int) -> None:
        asked = run(self.optimizer.search(SMALL, rungs, 1, trials, costly), lambda ask: answer(ask, separable), slots=4)
        assert len(tried(asked, rungs, costly)) == trials

    def test_what_is_illegal_costs_no_trial(self) -> None:
        def told(ask: Ask) -> Told:
            return broken(ask, FailureKind.ILLEGAL) if ask.point[0] else answer(ask, separable)

        asked = run(self.optimizer.search(SMALL, 1, 1, 5, 1), told)
        assert len([ask for ask in asked if not ask.point[0]]) == 5

    def test_the_search_ends_when_every_point_was_asked(self) -> None:
        asked = run(self.optimizer.search(SMALL, 1, 1, 1000, 1), lambda ask: answer(ask, separable), slots=4)
        assert len(asked) == SMALL.size - 1

    @pytest.mark.parametrize(("rungs", "costly"), LADDERS)
    def test_a_failure_is_not_asked_for_again(self, rungs: int, costly: int) -> None:
        asked = run(self.optimizer.search(SMALL, rungs, 1, 1000, costly), broken, slots=4)
        assert len(asked) == len({ask.point for ask in asked}) == SMALL.size - 1

    def test_what_is_worse_than_the_baseline_beyond_its_spread_does_not_climb(self) -> None:
        if self.optimizer.name == "exhaustive":
            pytest.skip("an exhaustive search takes every point to every rung")
        asked = run(self.optimizer.search(SMALL, 2, 1, 10, 1), lambda ask: Told(ask.point, ask.rung, 1.2, 0.1))
        assert {ask.rung for ask in asked} == {0}

    def test_answers_come_in_any_order(self) -> None:
        search = self.optimizer.search(SMALL, 3, 1, 8, 2)
        waiting: list[Ask] = []
        asked: list[Ask] = []
        draw = random.Random(1)  # noqa: S311 - an order, no secret
        while True:
            asks = search.ask(max(4 - len(waiting), 0))
            waiting += asks
            asked += asks
            if not waiting:
                break
            search.tell(answer(waiting.pop(draw.randrange(len(waiting))), separable))
        assert len(set(asked)) == len(asked)
        assert len(tried(asked, 3, 2)) == 8

    def test_four_workers_are_kept_busy(self) -> None:
        search = self.optimizer.search(SMALL, 1, 1, 16, 1)
        waiting = list(search.ask(4))
        for _ in range(12):
            assert len(waiting) == 4
            search.tell(answer(waiting.pop(), separable))
            waiting += search.ask(1)

    def test_an_answer_for_another_space_is_not_heard(self) -> None:
        search = self.optimizer.search(SMALL, 1, 1, 10, 1)
        for point in ((1,), (9, 9, 9), (0, 0, 1, 0)):
            search.tell(Told(point, 0, 0.5))
        search.tell(Told((1, 0, 0), 7, 0.5))
        assert len(run(search, lambda ask: answer(ask, separable))) == 10

    @pytest.mark.parametrize("dimensions", [(), (Dimension("place of a", ("as it is",)),)])
    def test_a_space_of_the_baseline_alone_ends_at_once(self, dimensions: tuple[Dimension, ...]) -> None:
        assert self.optimizer.search(Space(dimensions), 2, 1, 10, 1).ask(4) == ()

    def test_a_dimension_without_a_choice_does_no_harm(self) -> None:
        space = Space((*SMALL.dimensions, Dimension("place of fixed", ("as it is",))))
        asked = run(self.optimizer.search(space, 1, 1, 6, 1), lambda ask: answer(ask, separable), slots=2)
        assert len(asked) == 6

    def test_a_second_answer_to_the_same_ask_changes_nothing(self) -> None:
        once, twice = (self.optimizer.search(SMALL, 1, 1, 10, 1) for _ in range(2))
        (ask,) = once.ask(1)
        assert twice.ask(1) == (ask,)
        once.tell(answer(ask, separable))
        twice.tell(answer(ask, separable))
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
        assert run(second, lambda ask: answer(ask, separable)) == run(first, lambda ask: answer(ask, separable))

    def test_what_was_under_way_is_asked_for_again(self) -> None:
        first = self.optimizer.search(SMALL, 1, 1, 10, 1)
        lost, done = first.ask(2)
        first.tell(answer(done, separable))
        second = self.optimizer.search(SMALL, 1, 1, 10, 1)
        second.tell(answer(done, separable))
        asked = run(second, lambda ask: answer(ask, separable))
        assert done not in asked
        assert lost in asked or len(asked) == 9
