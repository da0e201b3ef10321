# SPDX-License-Identifier: GPL-2.0-or-later
"""Exhaustive search: every point in order, on every rung; for small spaces, and to know what the best is."""

from __future__ import annotations

from linesmith.analyzer.model import Point, Space
from linesmith.plugins.api import Optimizer
from linesmith.plugins.optimizers.ladder import Climb, SearchLadder, in_order


class Exhaustive(Optimizer):
    """The optimizer ``exhaustive``."""

    name = "exhaustive"

    def search(self, space: Space, rungs: int, seed: int, trials: int, costly: int = 2) -> ExhaustiveSearch:  # noqa: ARG002 - the order needs no seed
        """Begin a search; it ends at the budget or with the last point."""
        return ExhaustiveSearch(SearchLadder(space, rungs, trials, costly))


class ExhaustiveSearch(Climb):
    """One pass over a space; only failures do not climb."""

    def __init__(self, ladder: SearchLadder) -> None:
        super().__init__(ladder)
        self._points = in_order(ladder.space)
        self._coming: Point | None = None

    def _promoted(self, rung: int) -> Point | None:
        return next((one.point for one in self._ladder.climbers(rung)), None)

    def _fresh(self) -> Point | None:
        while self._coming is None or not self._ladder.may_ask(self._coming, 0):
            self._coming = next(self._points, None)
            if self._coming is None:
                return None
        return self._coming
