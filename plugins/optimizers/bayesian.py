# SPDX-License-Identifier: GPL-2.0-or-later
"""Bayesian optimization by scikit-optimize: the ladder of ``racing``, with that library's model of the costs.

The library's development has ended, so it is asked for little: an ``Optimizer`` over categories that is given answers
and gives back its model. It is made anew for each question from all answers, which makes a search that is continued
ask what the one that was interrupted would have asked.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from linesmith.analyzer.base.errors import install_command
from linesmith.analyzer.model import Point, Space
from linesmith.plugins.optimizers.ladder import (
    DOUBT,
    LEAST_NOISE,
    TRUST,
    Forecast,
    Observation,
    SearchLadder,
    Vector,
    recommended_first,
)
from linesmith.plugins.optimizers.racing import RacingSearch

# Points that the library draws for a question of its own, which nobody asks.
_OWN_SAMPLE = 10
# How far an answer may be from what the cheaper rungs promise, however much of that comes true.
_OFF = 0.2
# No scale of costs is taken to be smaller, as a share of the baseline's.
_LEAST_SCALE = 0.01


class Bayesian:
    """The optimizer ``scikit-optimize``."""

    name = "scikit-optimize"

    def obstacle(self) -> str | None:
        """The library that is missing or does not load."""
        if find_spec("skopt") is None:
            return f"scikit-optimize is not installed: {install_command('search')}"
        try:
            _library()
        except Exception as error:
            newer = f"{install_command('search')} --upgrade"
            return f"scikit-optimize does not load ({type(error).__name__}: {error}): {newer}"
        return None

    def search(self, space: Space, rungs: int, seed: int, trials: int, costly: int = 2) -> RacingSearch:
        """Begin a search; the seed decides among points that nothing else tells apart, and seeds the model."""
        ladder = SearchLadder(space, rungs, trials, costly)
        return RacingSearch(ladder, recommended_first(space, seed), partial(_expected, space, seed))


def _library() -> tuple[Any, Any, Any, Any]:
    """The four classes that are used: optimizer, category, regressor, kernel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            import_module("skopt").Optimizer,
            import_module("skopt.space").Categorical,
            import_module("skopt.learning").GaussianProcessRegressor,
            import_module("skopt.learning.gaussian_process.kernels").Matern,
        )


def _expected(
    space: Space,
    seed: int,
    seen: Sequence[Observation],
    awaited: Sequence[Point],
    guesses: Mapping[Point, float],
    points: Sequence[Point],
) -> Forecast:
    """The model's mean and deviation, costs being passed as their distance from what the cheaper rungs let expect.

    The baseline, first of those ``seen``, is passed while it is alone: what all changes have in common is taken off.
    Points that are awaited count as the mean of those answered (Ginsbourger et al., "Kriging is well-suited to
    parallelize optimization", 2010: constant liar).
    """
    mean_cost = sum(one.cost for one in seen) / len(seen)
    told = [*(seen[1:] or seen), *(Observation(point, mean_cost, LEAST_NOISE) for point in awaited)]
    # How much of what the cheaper rungs promise comes true: ``TRUST`` at first, then by what was answered.
    promised = np.array([_hint(guesses, one.point) for one in seen])
    kept = promised @ np.array([one.cost - 1 for one in seen])
    known = 1 / DOUBT**2
    trust = float((known * TRUST + kept / _OFF**2) / (known + promised @ promised / _OFF**2))
    rest = np.array([one.cost - 1 - trust * _hint(guesses, one.point) for one in told])
    level, scale = float(rest.mean()), max(float(rest.std()), _LEAST_SCALE)
    noise = np.array([(max(one.deviation, LEAST_NOISE) / scale) ** 2 for one in told])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = _optimizer(space, seed, noise, len(told))
        optimizer.tell([_as_text(one.point) for one in told], list((rest - level) / scale))
        places = optimizer.space.transform([_as_text(point) for point in points])
        mean, deviation = optimizer.models[-1].predict(places, return_std=True)
    hints = np.array([_hint(guesses, point) for point in points])
    return Forecast(1 + trust * hints + level + scale * np.asarray(mean), scale * np.asarray(deviation))


def _hint(guesses: Mapping[Point, float], point: Point) -> float:
    """How far the cheaper rungs see the point from the baseline."""
    return guesses.get(point, 1.0) - 1


def _as_text(point: Point) -> list[str]:
    return [str(number) for number in point]


def _optimizer(space: Space, seed: int, noise: Vector, told: int) -> Any:  # noqa: ANN401 - the library has no types
    optimizer, category, regressor, kernel = _library()
    dimensions = [category([str(number) for number in range(len(one.choices))]) for one in space.dimensions]
    model = regressor(kernel=kernel(length_scale=2.0, nu=2.5), alpha=noise, n_restarts_optimizer=0, random_state=seed)
    return optimizer(
        dimensions,
        base_estimator=model,
        n_initial_points=told,
        acq_optimizer="sampling",
        acq_optimizer_kwargs={"n_points": _OWN_SAMPLE},
        random_state=seed,
    )
