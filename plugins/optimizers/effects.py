# SPDX-License-Identifier: GPL-2.0-or-later
"""What the answers so far say of points not yet tried: the effect of each choice, alone and in company.

A Gaussian process whose covariance is a sum: of points that agree in a dimension (the effects of single choices, which
add up), of points that differ in few (choices that only matter together), and of the guesses that a cheaper rung gives.
It shrinks towards the baseline what was measured once, and counts each answer by its spread. Source: Rasmussen and
Williams, Gaussian Processes for Machine Learning (2006), equations 2.23-2.24 and 5.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.model import Point
from linesmith.plugins.optimizers.forecast import DOUBT, LEAST_NOISE, TRUST, Forecast, Observation, Vector

# How far costs may lie from the baseline's: the likeliest is used. It is at least so many times the noise, or what
# matters only in company would never be looked for.
_SCALES = (0.03, 0.1, 0.3, 0.8)
_ABOVE_NOISE = 5.0
# How much of it single choices explain.
ALONE = 0.5
# What all changed layouts may have in common, against the effects of choices: where most changes help, those not yet
# tried are expected to help too.
ANY = 4.0
# Dimensions in which two points differ before what is known of one says little of the other.
_REACH = 1.0


def expected(
    seen: Sequence[Observation], awaited: Sequence[Point], guesses: Mapping[Point, float], points: Sequence[Point]
) -> Forecast:
    """What to expect of ``points``; those ``awaited`` count as if they turned out as they are expected to."""
    effects = Effects(seen, guesses)
    if not awaited:
        return effects.forecast(points)
    coming = effects.forecast(awaited)
    believed = [Observation(*one) for one in zip(awaited, coming.cost, coming.deviation, strict=True)]
    return Effects([*seen, *believed], guesses).forecast(points)


class Effects:
    """What ``seen`` answers, at least the baseline's, say; ``guesses`` are ratios that a cheaper rung gave."""

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
        company = np.exp(-differ / _REACH)
        changed = np.outer(points.any(axis=1), self._points.any(axis=1))
        effects: Vector = scale**2 * (ALONE * alone + (1 - ALONE) * company + ANY * changed)
        return effects + DOUBT**2 * np.outer(hints, self._hints)

    def _hint(self, points: Sequence[Point]) -> Vector:
        """How far the guesses are from the baseline; 0 where there is none."""
        return np.array([self._guesses.get(point, 1.0) - 1 for point in points])


def _matrix(points: Sequence[Point]) -> NDArray[np.int64]:
    return np.array(points, dtype=np.int64).reshape(len(points), -1)
