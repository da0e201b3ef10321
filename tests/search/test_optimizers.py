# SPDX-License-Identifier: GPL-2.0-or-later
"""The included optimizers keep to the rules, and those that learn find more than chance does."""

from __future__ import annotations

from statistics import mean

import pytest
from search.conformance import SMALL, Conformance, Cost, answer, interacting, run, separable

from linesmith.analyzer.extras import install_command
from linesmith.analyzer.model import Ask, Dimension, Point, Space, Told
from linesmith.plugins.api import Optimizer
from linesmith.plugins.optimizers.bayesian import Bayesian
from linesmith.plugins.optimizers.exhaustive import Exhaustive
from linesmith.plugins.optimizers.points import MOST_POINTS
from linesmith.plugins.optimizers.racing import Racing
from linesmith.plugins.optimizers.random import Random
from linesmith.plugins.registry import optimizer

WIDE = Space(tuple(Dimension(f"d{number}", tuple(map(str, range(4)))) for number in range(3)))


class TestRandom(Conformance):
    optimizer = Random()


class TestExhaustive(Conformance):
    optimizer = Exhaustive()


class TestRacing(Conformance):
    optimizer = Racing()


class TestBayesian(Conformance):
    optimizer = Bayesian()


@pytest.mark.parametrize("name", ["exhaustive", "racing", "random", "scikit-optimize"])
def test_each_is_found_by_its_name(name: str) -> None:
    found = optimizer(name)
    assert (found.name, found.obstacle()) == (name, None)


def gains(tested: Optimizer, cost: Cost, trials: int, seeds: int, spread: float = 0.04) -> float:
    """The mean gain of the best point tried, of answers with noise."""

    def reached(seed: int) -> float:
        asked = run(tested.search(WIDE, 1, seed, trials, 1), lambda ask: answer(ask, cost, spread, seed))
        return 1 - min(cost(ask.point) for ask in asked)

    return mean(reached(seed) for seed in range(seeds))


@pytest.mark.parametrize("tested", [Racing(), Bayesian()], ids=lambda one: one.name)
@pytest.mark.parametrize("cost", [separable, interacting], ids=lambda one: one.__name__)
def test_learning_finds_more_than_chance(tested: Optimizer, cost: Cost) -> None:
    assert gains(tested, cost, trials=14, seeds=6) > gains(Random(), cost, trials=14, seeds=40)


@pytest.mark.parametrize("tested", [Racing(), Bayesian()], ids=lambda one: one.name)
def test_a_cheap_rung_that_is_right_saves_trials(tested: Optimizer) -> None:
    asked = run(tested.search(WIDE, 2, 1, 4, 1), lambda ask: answer(ask, separable))
    assert min(separable(ask.point) for ask in asked if ask.rung == 1) == separable((3, 3, 3))


def test_one_noisy_answer_does_not_throw_the_best_out() -> None:
    best = (3, 2, 1)

    def told(ask: Ask) -> Told:
        unlucky = ask == Ask(best, 0)
        return Told(ask.point, ask.rung, separable(ask.point) + 0.14 * unlucky, 0.1)

    asked = run(Racing().search(SMALL, 2, 1, SMALL.size, 2), told)
    better = [ask for ask in asked if ask.rung == 0 and separable(ask.point) < told(Ask(best, 0)).cost]  # type: ignore[operator]
    assert len(better) > SMALL.size // 3
    assert Ask(best, 1) in asked


def test_priors_come_first() -> None:
    assert [ask.point for ask in Racing().search(SMALL, 3, 1, 8, 2).ask(2)] == list(SMALL.priors)


def test_a_space_too_large_to_look_at_is_sampled() -> None:
    huge = Space(tuple(Dimension(f"d{number}", tuple(map(str, range(10)))) for number in range(12)))
    asked = run(Random().search(huge, 1, 1, 5, 1), lambda ask: Told(ask.point, ask.rung, 1.0))
    assert len(asked) == 5
    assert huge.size > MOST_POINTS


def test_a_missing_library_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linesmith.plugins.optimizers.bayesian.find_spec", lambda _: None)
    assert Bayesian().obstacle() == f"scikit-optimize is not installed: {install_command('search')}"


def test_a_library_that_no_longer_loads_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(name: str) -> None:
        raise AttributeError(f"module '{name}' has no attribute 'int'")

    monkeypatch.setattr("linesmith.plugins.optimizers.bayesian.import_module", moved)
    said = Bayesian().obstacle() or ""
    assert said.startswith("scikit-optimize does not load (AttributeError: module 'skopt' has no attribute 'int')")


def test_points_are_told_once_each() -> None:
    points: list[Point] = [
        ask.point for ask in run(Exhaustive().search(SMALL, 1, 1, 99, 1), lambda a: answer(a, separable))
    ]
    assert points[:3] == [(0, 0, 1), (0, 1, 0), (0, 1, 1)]
