# SPDX-License-Identifier: GPL-2.0-or-later
"""The included optimizers keep to the rules, and those that learn find more than chance does."""

from __future__ import annotations

from statistics import mean

import pytest
from search.conformance import SMALL, Conformance, Cost, answer, interacting, run, separable, tried

from linesmith.analyzer.base.errors import install_command
from linesmith.analyzer.model import Ask, Dimension, Space, Told
from linesmith.plugins import registry
from linesmith.plugins.api import Optimizer

WIDE = Space(tuple(Dimension(f"d{number}", tuple(map(str, range(4)))) for number in range(3)))
RANDOM, EXHAUSTIVE, RACING, SCIKIT = map(registry.optimizer, ("random", "exhaustive", "racing", "scikit-optimize"))
BAYESIAN = pytest.param(SCIKIT, marks=pytest.mark.study)


class TestRandom(Conformance):
    optimizer = RANDOM


class TestExhaustive(Conformance):
    optimizer = EXHAUSTIVE


class TestRacing(Conformance):
    optimizer = RACING


@pytest.mark.study
class TestBayesian(Conformance):
    optimizer = SCIKIT


def test_scikit_optimize_keeps_to_the_rules() -> None:
    """What costs most time of them once: new points that climb within the budget, and the same answers twice."""
    asked, again = (run(SCIKIT.search(SMALL, 2, 1, 3, 1), slots=2) for _ in range(2))
    assert asked == again
    assert len(set(asked)) == len(asked)
    assert len(tried(asked, 2, 1)) == 3
    assert all(Ask(ask.point, 0) in asked and ask.point != SMALL.start for ask in asked)


def gains(tested: Optimizer, cost: Cost, seeds: int) -> float:
    """The mean gain of the best of 14 points tried, of answers with noise."""

    def reached(seed: int) -> float:
        asked = run(tested.search(WIDE, 1, seed, 14, 1), lambda ask: answer(ask, cost, 0.04, seed))
        return 1 - min(cost(ask.point) for ask in asked)

    return mean(reached(seed) for seed in range(seeds))


@pytest.mark.parametrize("tested", [RACING, BAYESIAN], ids=lambda one: one.name)
@pytest.mark.parametrize("cost", [separable, interacting], ids=lambda one: one.__name__)
def test_learning_finds_more_than_chance(tested: Optimizer, cost: Cost) -> None:
    assert gains(tested, cost, seeds=6) > gains(RANDOM, cost, seeds=40)


@pytest.mark.parametrize("tested", [RACING, BAYESIAN], ids=lambda one: one.name)
def test_a_cheap_rung_that_is_right_saves_trials(tested: Optimizer) -> None:
    asked = run(tested.search(WIDE, 2, 1, 4, 1))
    assert min(separable(ask.point) for ask in asked if ask.rung == 1) == separable((3, 3, 3))


def test_one_noisy_answer_does_not_throw_the_best_out() -> None:
    best = (3, 2, 1)

    def noisy(ask: Ask) -> float:
        return separable(ask.point) + 0.14 * (ask == Ask(best, 0))

    asked = run(RACING.search(SMALL, 2, 1, SMALL.size, 2), lambda ask: Told(ask.point, ask.rung, noisy(ask), 0.1))
    better = [ask for ask in asked if ask.rung == 0 and separable(ask.point) < noisy(Ask(best, 0))]
    assert len(better) > SMALL.size // 3
    assert Ask(best, 1) in asked


def test_which_points_come_first() -> None:
    assert [ask.point for ask in RACING.search(SMALL, 3, 1, 8, 2).ask(2)] == list(SMALL.priors)
    exhaustive = [ask.point for ask in run(EXHAUSTIVE.search(SMALL, 1, 1, 99, 1))]
    assert exhaustive[:3] == [(0, 0, 1), (0, 1, 0), (0, 1, 1)]


def test_a_space_too_large_to_look_at_is_sampled() -> None:
    huge = Space(tuple(Dimension(f"d{number}", tuple(map(str, range(10)))) for number in range(12)))
    assert len(run(RANDOM.search(huge, 1, 1, 5, 1), lambda ask: Told(ask.point, ask.rung, 1.0))) == 5


def test_a_library_that_is_missing_or_no_longer_loads_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(name: str) -> None:
        raise AttributeError(f"module '{name}' has no attribute 'int'")

    monkeypatch.setattr("linesmith.plugins.optimizers.bayesian.import_module", moved)
    broken = "scikit-optimize does not load (AttributeError: module 'skopt' has no attribute 'int')"
    assert (SCIKIT.obstacle() or "").startswith(broken)
    monkeypatch.setattr("linesmith.plugins.optimizers.bayesian.find_spec", lambda _: None)
    assert SCIKIT.obstacle() == f"scikit-optimize is not installed: {install_command('search')}"
