# SPDX-License-Identifier: GPL-2.0-or-later
"""Racing: many points on the cheap rungs, few on the costly ones, those first that the answers so far speak for.

Rungs are climbed one point at a time, as soon as one may: no worker waits for the slowest of a round (Li et al., "A
System for Massively Parallel Hyperparameter Tuning", MLSys 2020). Which point is tried next is decided by the effects
of its choices and by the rungs below. Ties with the best climb as well, so one noisy answer throws nobody out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from linesmith.analyzer.model import Point, Space, Told
from linesmith.plugins.optimizers.climb import Climb
from linesmith.plugins.optimizers.effects import expected
from linesmith.plugins.optimizers.evidence import answered, awaited, guesses
from linesmith.plugins.optimizers.forecast import Model
from linesmith.plugins.optimizers.ladder import Ladder, promising
from linesmith.plugins.optimizers.points import recommended_first

# One in so many climbs from a rung to the next.
REDUCTION = 3
# As many climb at least between cheap rungs.
FEWEST = 12
# Priors that are tried before the answers decide, where no cheap rung has judged them.
LEADING = 3
# How many deviations below its expected cost a point is taken to be.
OPTIMISM = 1.0


class Racing:
    """The optimizer ``racing``, built in."""

    name = "racing"

    def obstacle(self) -> str | None:
        """Nothing keeps it from running."""
        return None

    def search(self, space: Space, rungs: int, seed: int, trials: int, costly: int = 2) -> RacingSearch:
        """Begin a search; the seed decides among points that nothing else tells apart."""
        return RacingSearch(Ladder(space, rungs, trials, costly), recommended_first(space, seed), expected)


class RacingSearch(Climb):
    """One race over ``points``, which come in the order in which they are worth a look.

    ``model`` says what to expect of a point.
    """

    def __init__(self, ladder: Ladder, points: Sequence[Point], model: Model) -> None:
        super().__init__(ladder)
        self._points = points
        self._model = model
        self._place = {point: place for place, point in enumerate(points)}

    def _promoted(self, rung: int) -> Point | None:
        climbers = [one for one in self._ladder.climbers(rung) if promising(one)]
        if rung + 1 == self._ladder.first_costly:
            return self._tried(climbers, rung)
        if rung + 1 < self._ladder.first_costly:
            return self._looked_at(climbers, rung)
        return self._raced(climbers, rung)

    def _fresh(self) -> Point | None:
        free = [point for point in self._points if self._ladder.may_ask(point, 0)]
        if self._ladder.first_costly:
            return next(iter(free), None)
        leading = [point for point in self._ladder.space.priors[:LEADING] if point in free]
        return next(iter(leading), None) or self._best(free)

    def _tried(self, climbers: Sequence[Told], rung: int) -> Point | None:
        """The point to try next on the first costly rung, when the cheap ones have judged all that they will."""
        if not self._settled(rung):
            return None
        free = {one.point for one in climbers}
        return self._best(sorted(free, key=lambda point: self._place.get(point, len(self._place))))

    def _looked_at(self, climbers: Sequence[Told], rung: int) -> Point | None:
        """The best of the share that climbs between cheap rungs; priors need not wait for the others."""
        priors = [one.point for one in climbers if one.point in self._ladder.space.priors]
        if priors or not self._settled(rung):
            return next(iter(priors), None)
        ranked = sorted(self._ladder.answers[rung].values(), key=self._rank)
        good = [one for one in ranked if promising(one)]
        last = good[: max(FEWEST, ceil(len(good) / REDUCTION))][-1:]
        return next((one.point for one in climbers if last and self._rank(one) <= self._rank(last[0])), None)

    def _raced(self, climbers: Sequence[Told], rung: int) -> Point | None:
        """The best that may climb between costly rungs: one in three of those judged, and ties with the best."""
        good = sorted((one for one in self._ladder.answers[rung].values() if promising(one)), key=self._rank)
        ended = self._is_over(rung)
        quota = ceil(len(good) / REDUCTION) if ended else len(good) // REDUCTION
        tied = sum(1 for one in good if ended and _low(one) <= _high(good[0]))
        allowed = {one.point for one in good[: max(quota, min(tied, 2 * quota))]}
        return next((one.point for one in sorted(climbers, key=self._rank) if one.point in allowed), None)

    def _best(self, free: Sequence[Point]) -> Point | None:
        """The free point that may cost least, by what is known; the first of equals."""
        if not free:
            return None
        found = self._model(answered(self._ladder), awaited(self._ladder), guesses(self._ladder), free)
        hopes = found.cost - OPTIMISM * found.deviation
        return free[int(hopes.argmin())]

    def _settled(self, rung: int) -> bool:
        """Whether no other point will come to be judged on this cheap rung."""
        if self._ladder.waits_for(rung):
            return False
        if rung == 0:
            return not any(self._ladder.may_ask(point, 0) for point in self._points)
        return self._settled(rung - 1) and self._promoted(rung - 1) is None

    def _is_over(self, rung: int) -> bool:
        """Whether nothing new will be judged on this costly rung."""
        if any(self._ladder.waits_for(below) for below in range(rung + 1)):
            return False
        return not self._ladder.has_room or self._settled(rung)

    def _rank(self, answer: Told) -> tuple[float, int]:
        cost = 0.0 if answer.cost is None else answer.cost
        return cost, self._place.get(answer.point, len(self._place))


def _low(answer: Told) -> float:
    return (answer.cost or 0.0) - answer.spread


def _high(answer: Told) -> float:
    return (answer.cost or 0.0) + answer.spread
