# SPDX-License-Identifier: GPL-2.0-or-later
"""The space that a tuner searches, and what it and an optimizer say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.failure import Failure

# One choice for each dimension, by number; all zero is the layout as it is.
Point = tuple[int, ...]


class Fidelity(StrEnum):
    """How a point is judged, cheapest first."""

    ESTIMATE = "estimate"
    REPLAY = "replay"
    SIMULATION = "simulate"
    BENCHMARK = "benchmark"


@dataclass(frozen=True, slots=True)
class Dimension:
    """One decision about a layout: where a member goes, or how it is aligned; the first choice is as it is now."""

    name: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """All layouts that are searched, most of them legal. ``priors`` are recommended points, best first."""

    dimensions: tuple[Dimension, ...]
    priors: tuple[Point, ...] = ()

    @property
    def start(self) -> Point:
        """The layout as it is."""
        return (0,) * len(self.dimensions)

    @property
    def size(self) -> int:
        """How many points there are."""
        count = 1
        for dimension in self.dimensions:
            count *= len(dimension.choices)
        return count


@dataclass(frozen=True, slots=True)
class Ask:
    """A point to judge, on the rung of the ladder of fidelities counted from 0."""

    point: Point
    rung: int


@dataclass(frozen=True, slots=True)
class Told:
    """The answer to an ask: ``cost`` is the ratio to the baseline (below one is better) with its ``spread``.

    ``spread`` is 1.96 standard errors: half of a 95 % interval for this point alone, whatever its verdict asks for.
    A point without a cost failed.
    """

    point: Point
    rung: int
    cost: float | None
    spread: float = 0.0
    failure: Failure | None = None
