# SPDX-License-Identifier: GPL-2.0-or-later
"""What a model of costs is given, and what it says of points not yet tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.model import Point

Vector = NDArray[np.float64]

# How many standard errors a spread is, as ``Told`` says.
DEVIATIONS = 1.96
# What no answer is more certain than: benchmarks differ between builds of one layout.
LEAST_NOISE = 0.003
# How much of what a cheaper rung promises is expected to come true; the answers decide how much does.
TRUST = 0.5
# The standard deviation of that share. It is hardly ever below none: a promise that was not kept speaks against what is
# like it, but not for those of which least is promised.
DOUBT = 0.25


@dataclass(frozen=True, slots=True)
class Observation:
    """A point's cost as a ratio to the baseline, with the standard deviation of that ratio."""

    point: Point
    cost: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected costs with their standard deviations, in the order of the points asked for."""

    cost: Vector
    deviation: Vector


class Model(Protocol):
    """A way to expect costs."""

    def __call__(
        self,
        seen: Sequence[Observation],
        awaited: Sequence[Point],
        guesses: Mapping[Point, float],
        points: Sequence[Point],
    ) -> Forecast:
        """What to expect of ``points``, when ``seen`` is known, ``awaited`` is under way and ``guesses`` are cheap."""
