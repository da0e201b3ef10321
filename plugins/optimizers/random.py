# SPDX-License-Identifier: GPL-2.0-or-later
"""Random search: points in random order, each as far up as its answers allow; what others are measured against."""

from __future__ import annotations

from linesmith.analyzer.model import Point, Space
from linesmith.plugins.api import Optimizer
from linesmith.plugins.optimizers.ladder import Climb, SearchLadder, promising, shuffled


class Random(Optimizer):
    """The optimizer ``random``."""

    name = "random"

    def search(self, space: Space, rungs: int, seed: int, trials: int, costly: int = 2) -> RandomSearch:
        """Begin a search; the seed decides the order."""
        return RandomSearch(SearchLadder(space, rungs, trials, costly), shuffled(space, seed))


class RandomSearch(Climb):
    """One random search over ``points``."""

    def __init__(self, ladder: SearchLadder, points: tuple[Point, ...]) -> None:
        super().__init__(ladder)
        self._points = points

    def _promoted(self, rung: int) -> Point | None:
        return next((one.point for one in self._ladder.climbers(rung) if promising(one)), None)

    def _fresh(self) -> Point | None:
        return next((point for point in self._points if self._ladder.may_ask(point, 0)), None)
