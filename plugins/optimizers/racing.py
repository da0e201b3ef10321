# SPDX-License-Identifier: GPL-2.0-or-later
"""Racing: many points on the cheap rungs, few on the costly ones, those first that the answers so far speak for.

Rungs are climbed one point at a time, as soon as one may: no worker waits for the slowest of a round (Li et al., "A
System for Massively Parallel Hyperparameter Tuning", MLSys 2020). Which point is tried next is decided by the effects
of its choices and by the rungs below. Ties with the best climb as well, so one noisy answer throws nobody out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.model import Point, Space, Told
from linesmith.plugins.api import Optimizer
from linesmith.plugins.optimizers.ladder import (
    DOUBT,
    LEAST_NOISE,
    TRUST,
    Climb,
    CostModel,
    Forecast,
    Observation,
    SearchLadder,
    Vector,
    promising,
    recommended_first,
)

# How far costs may lie from the baseline's: the likeliest is used. It is at least so many times the noise, or what
# matters only together would never be looked for.
_SCALES = (0.03, 0.1, 0.3, 0.8)
_ABOVE_NOISE = 5.0
# How much of it single choices explain.
ALONE = 0.5
# What all changed layouts may have in common, against the effects of choices: where most changes help, those not yet
# tried are expected to help too.
ANY = 4.0
# Dimensions in which two points differ before what is known of one says little of the other.
_REACH = 1.0
# One in so many climbs from a rung to the next.
REDUCTION = 3
# As many climb at least between cheap rungs.
FEWEST = 12
# Priors that are tried before the answers decide, where no cheap rung has judged them.
LEADING = 3
# How many deviations below its expected cost a point is taken to be.
OPTIMISM = 1.0


def expected(
    seen: Sequence[Observation], awaited: Sequence[Point], guesses: Mapping[Point, float], points: Sequence[Point]
) -> Forecast:
    """What to expect of ``points``; those ``awaited`` count as if they turned out as they are expected to."""
    effects = ChoiceEffects(seen, guesses)
    if not awaited:
        return effects.forecast(points)
    coming = effects.forecast(awaited)
    believed = [Observation(*one) for one in zip(awaited, coming.cost, coming.deviation, strict=True)]
    return ChoiceEffects([*seen, *believed], guesses).forecast(points)


class ChoiceEffects:
    """What ``seen`` answers, at least the baseline's, say; ``guesses`` are ratios that a cheaper rung gave.

    A Gaussian process whose covariance is a sum: of points that agree in a dimension (the effects of single choices,
    which add up), of points that differ in few (choices that only matter together), and of the guesses. It shrinks
    towards the baseline what was measured once, and counts each answer by its spread. Source: Rasmussen and Williams,
    Gaussian Processes for Machine Learning (2006), equations 2.23-2.24 and 5.8.
    """

    def __init__(self, seen: Sequence[Observation], guesses: Mapping[Point, float]) -> None:
        self._guesses = guesses
        self._points = _matrix([one.point for one in seen])
        self._hints = self._hint([one.point for one in seen])
        self._costs = np.array([one.cost - 1 for one in seen]) - TRUST * self._hints
        self._noise = np.array([max(one.deviation, LEAST_NOISE) ** 2 for one in seen])
        least = _ABOVE_NOISE * float(np.sqrt(np.median(self._noise)))
        scales = [scale for scale in _SCALES if scale >= least] or [least]
        fits = [(self._fit(scale), scale) for scale in scales]
        (_, self._root, self._weights), self._scale = max(fits, key=lambda one: one[0][0])

    def forecast(self, points: Sequence[Point]) -> Forecast:
        """What to expect of ``points``."""
        hints = self._hint(points)
        across = self._covariance(_matrix(points), hints, self._scale)
        known = np.linalg.solve(self._root, across.T)
        own = self._scale**2 * (1 + ANY) + (DOUBT * hints) ** 2
        spread = np.sqrt(np.maximum(own - (known**2).sum(axis=0), 1e-12))
        return Forecast(1 + TRUST * hints + across @ self._weights, spread)

    def _fit(self, scale: float) -> tuple[float, Vector, Vector]:
        """Log likelihood, root of the covariance, and weights of the answers."""
        covariance = self._covariance(self._points, self._hints, scale) + np.diag(self._noise)
        root = np.linalg.cholesky(covariance).astype(np.float64)
        weights = np.linalg.solve(root.T, np.linalg.solve(root, self._costs)).astype(np.float64)
        likelihood = -0.5 * float(self._costs @ weights) - float(np.log(np.diag(root)).sum())
        return likelihood, root, weights

    def _covariance(self, points: NDArray[np.int64], hints: Vector, scale: float) -> Vector:
        """Of ``points`` with those seen."""
        differ = (points[:, None, :] != self._points[None, :, :]).sum(axis=2)
        dimensions = max(points.shape[1], 1)
        alone = 1 - differ / dimensions
        together = np.exp(-differ / _REACH)
        changed = np.outer(points.any(axis=1), self._points.any(axis=1))
        effects: Vector = scale**2 * (ALONE * alone + (1 - ALONE) * together + ANY * changed)
        return effects + DOUBT**2 * np.outer(hints, self._hints)

    def _hint(self, points: Sequence[Point]) -> Vector:
        """How far the guesses are from the baseline; 0 where there is none."""
        return np.array([self._guesses.get(point, 1.0) - 1 for point in points])


def _matrix(points: Sequence[Point]) -> NDArray[np.int64]:
    return np.array(points, dtype=np.int64).reshape(len(points), -1)


class Racing(Optimizer):
    """The optimizer ``racing``, built in."""

    name = "racing"

    def search(self, space: Space, rungs: int, seed: int, trials: int, costly: int = 2) -> RacingSearch:
        """Begin a search; the seed decides among points that nothing else tells apart."""
        return RacingSearch(SearchLadder(space, rungs, trials, costly), recommended_first(space, seed), expected)


class RacingSearch(Climb):
    """One race over ``points``, which come in the order in which they are worth a look.

    ``model`` says what to expect of a point.
    """

    def __init__(self, ladder: SearchLadder, points: Sequence[Point], model: CostModel) -> None:
        super().__init__(ladder)
        self._points = points
        self._model = model
        self._place = {point: place for place, point in enumerate(points)}

    def _promoted(self, rung: int) -> Point | None:
        climbers = [one for one in self._ladder.climbers(rung) if promising(one)]
        if rung + 1 == self._ladder.first_costly:
            # The point to try next, when the cheap rungs have judged all that they will.
            free = {one.point for one in climbers} if self._is_exhausted(rung) else set()
            return self._best(sorted(free, key=lambda point: self._place.get(point, len(self._place))))
        if rung + 1 < self._ladder.first_costly:
            return self._looked_at(climbers, rung)
        return self._raced(climbers, rung)

    def _fresh(self) -> Point | None:
        if self._ladder.first_costly:
            return next((point for point in self._points if self._ladder.may_ask(point, 0)), None)
        free = [point for point in self._points if self._ladder.may_ask(point, 0)]
        leading = [point for point in self._ladder.space.priors[:LEADING] if point in free]
        return next(iter(leading), None) or self._best(free)

    def _looked_at(self, climbers: Sequence[Told], rung: int) -> Point | None:
        """The best of the share that climbs between cheap rungs; priors need not wait for the others."""
        priors = [one.point for one in climbers if one.point in self._ladder.space.priors]
        if priors or not self._is_exhausted(rung):
            return next(iter(priors), None)
        ranked = sorted(self._ladder.answers[rung].values(), key=self._rank)
        good = [one for one in ranked if promising(one)]
        last = good[: max(FEWEST, ceil(len(good) / REDUCTION))][-1:]
        return next((one.point for one in climbers if last and self._rank(one) <= self._rank(last[0])), None)

    def _raced(self, climbers: Sequence[Told], rung: int) -> Point | None:
        """The best that may climb between costly rungs: one in three of those judged, and ties with the best."""
        good = sorted((one for one in self._ladder.answers[rung].values() if promising(one)), key=self._rank)
        # Whether nothing new will be judged on this rung.
        waits = any(self._ladder.waits_for(below) for below in range(rung + 1))
        ended = not waits and (not self._ladder.has_room or self._is_exhausted(rung))
        quota = ceil(len(good) / REDUCTION) if ended else len(good) // REDUCTION
        highest = (good[0].cost or 0.0) + good[0].spread if good else 0.0
        tied = sum(1 for one in good if ended and (one.cost or 0.0) - one.spread <= highest)
        allowed = {one.point for one in good[: max(quota, min(tied, 2 * quota))]}
        return next((one.point for one in sorted(climbers, key=self._rank) if one.point in allowed), None)

    def _best(self, free: Sequence[Point]) -> Point | None:
        """The free point that may cost least, by what is known; the first of equals."""
        if not free:
            return None
        found = self._model(self._ladder.answered(), self._ladder.awaited(), self._ladder.guesses(), free)
        hopes = found.cost - OPTIMISM * found.deviation
        return free[int(hopes.argmin())]

    def _is_exhausted(self, rung: int) -> bool:
        """Whether no other point will come to be judged on this cheap rung."""
        if self._ladder.waits_for(rung):
            return False
        if rung == 0:
            return not any(self._ladder.may_ask(point, 0) for point in self._points)
        return self._is_exhausted(rung - 1) and self._promoted(rung - 1) is None

    def _rank(self, answer: Told) -> tuple[float, int]:
        return answer.cost or 0.0, self._place.get(answer.point, len(self._place))
