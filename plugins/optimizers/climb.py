# SPDX-License-Identifier: GPL-2.0-or-later
"""A search that climbs: points that may go up a rung go first, the uppermost before others, then new points."""

from __future__ import annotations

from abc import ABC, abstractmethod

from linesmith.analyzer.model import Ask, Point, Told
from linesmith.plugins.optimizers.ladder import Ladder


class Climb(ABC):
    """Asks by what it has been told alone, so a search that hears the same again goes on in the same way."""

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder

    def ask(self, count: int) -> tuple[Ask, ...]:
        """At most ``count`` points to judge next."""
        asks: list[Ask] = []
        while len(asks) < count and (ask := self._next()) is not None:
            self._ladder.begin(ask)
            asks.append(ask)
        return tuple(asks)

    def tell(self, answer: Told) -> None:
        """Hear the answer to an ask."""
        self._ladder.tell(answer)

    def _next(self) -> Ask | None:
        for rung in reversed(range(self._ladder.rungs - 1)):
            point = self._promoted(rung)
            if point is not None:
                return Ask(point, rung + 1)
        point = self._fresh() if self._ladder.has_room else None
        return None if point is None else Ask(point, 0)

    @abstractmethod
    def _promoted(self, rung: int) -> Point | None:
        """A point judged on ``rung`` that the next one should judge, if there is any now."""

    @abstractmethod
    def _fresh(self) -> Point | None:
        """A point for the lowest rung, if there is any now."""
