# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search has asked and heard, rung by rung, and what its budget still allows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice, product
from random import Random

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.model import Ask, FailureKind, Point, Space, Told

# More points than that are not looked at one by one: a sample of as many stands for the space.
MOST_POINTS = 4096
# How much worse than the baseline a cost may be, besides its spread, for its point to climb.
SLACK = 0.01

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
# Failures that say nothing of the layout.
ACCIDENTS = frozenset(
    (FailureKind.WORKER, FailureKind.DISK_FULL, FailureKind.KILLED, FailureKind.RECORDING, FailureKind.OTHER)
)
# How sure it is that what failed once is as bad as the worst.
_FAILED = 0.1


def is_point(point: Point, space: Space) -> bool:
    """Whether it has a choice of each dimension."""
    counts = [len(dimension.choices) for dimension in space.dimensions]
    return len(point) == len(counts) and all(0 <= number < count for number, count in zip(point, counts, strict=True))


def in_order(space: Space) -> Iterator[Point]:
    """Every point but the layout as it is, the last dimension changing fastest."""
    points = product(*(range(len(dimension.choices)) for dimension in space.dimensions))
    return (point for point in points if any(point))


def shuffled(space: Space, seed: int) -> tuple[Point, ...]:
    """All points but the layout as it is in random order, or ``MOST_POINTS`` of a larger space; equal by seed."""
    draw = Random(seed)  # noqa: S311 - a repeatable order, no secret
    if space.size <= MOST_POINTS:
        points = list(in_order(space))
        draw.shuffle(points)
        return tuple(points)
    drawn = (tuple(draw.randrange(len(one.choices)) for one in space.dimensions) for _ in count())
    return tuple(dict.fromkeys(islice(filter(any, drawn), MOST_POINTS)))


def recommended_first(space: Space, seed: int) -> tuple[Point, ...]:
    """The priors, best first, then all other points in random order."""
    priors = (point for point in space.priors if any(point) and is_point(point, space))
    return tuple(dict.fromkeys((*priors, *shuffled(space, seed))))


class SearchLadder:
    """The state of one search: nothing but what it was given and what is waited for.

    Rungs from ``first_costly`` on count against ``trials``; a point counts once, and an illegal one not at all.
    """

    def __init__(self, space: Space, rungs: int, trials: int, costly: int) -> None:
        self.space = space
        self.rungs = rungs
        self.first_costly = max(0, rungs - costly)
        self.answers: tuple[dict[Point, Told], ...] = tuple({} for _ in range(rungs))
        self.pending: dict[Ask, None] = {}
        self.failed: set[Point] = set()
        self._trials = trials
        self._spent: set[Point] = set()

    def begin(self, ask: Ask) -> None:
        """The ask is under way."""
        self.pending[ask] = None
        if ask.rung >= self.first_costly:
            self._spent.add(ask.point)

    def tell(self, answer: Told) -> None:
        """Keep the first answer to an ask; one of an earlier run that was never asked for here counts as well.

        What is no point of the space, or no rung, is not heard.
        """
        self.pending.pop(Ask(answer.point, answer.rung), None)
        known = 0 <= answer.rung < self.rungs and is_point(answer.point, self.space)
        if not known or answer.point in self.answers[answer.rung]:
            return
        self.answers[answer.rung][answer.point] = answer
        if answer.rung >= self.first_costly:
            self._spent.add(answer.point)
        if answer.cost is None:
            self.failed.add(answer.point)
        if answer.failure is not None and answer.failure.kind is FailureKind.ILLEGAL:
            self._spent.discard(answer.point)

    def may_ask(self, point: Point, rung: int) -> bool:
        """Whether the point has not been asked on this rung, has not failed, and is within the budget."""
        if point in self.failed or point in self.answers[rung] or Ask(point, rung) in self.pending:
            return False
        return rung < self.first_costly or point in self._spent or self.has_room

    @property
    def has_room(self) -> bool:
        """Whether one more point may be tried on the costly rungs."""
        return len(self._spent) < self._trials

    def climbers(self, rung: int) -> Iterator[Told]:
        """Answers on ``rung`` whose points may be asked on the next one, in the order in which they came."""
        above = rung + 1
        if above < self.rungs:
            yield from (one for one in self.answers[rung].values() if self.may_ask(one.point, above))

    def waits_for(self, rung: int) -> bool:
        """Whether an answer on this rung is still to come."""
        return any(ask.rung == rung for ask in self.pending)

    def guesses(self) -> dict[Point, float]:
        """What the uppermost cheap rung that judged a point reported of it."""
        cheap = self.answers[: self.first_costly]
        return {point: one.cost for answers in cheap for point, one in answers.items() if one.cost is not None}

    def answered(self) -> list[Observation]:
        """The baseline and the answers of the first costly rung; a failure counts as the worst cost seen.

        A failure that was an accident counts as nothing.
        """
        answers = self.answers[self.first_costly].values()
        seen = [Observation(self.space.start, 1.0, 0.0)]
        seen += [Observation(one.point, one.cost, one.spread / DEVIATIONS) for one in answers if one.cost is not None]
        worst = max(one.cost for one in seen)
        failed = [one for one in answers if one.cost is None]
        bad = [one for one in failed if one.failure is None or one.failure.kind not in ACCIDENTS]
        return seen + [Observation(one.point, worst, _FAILED) for one in bad]

    def awaited(self) -> list[Point]:
        """Points that the first costly rung is judging."""
        return [ask.point for ask in self.pending if ask.rung == self.first_costly]


def promising(answer: Told) -> bool:
    """Whether the answer leaves it possible that the point is better than the baseline."""
    return answer.cost is not None and answer.cost <= 1 + answer.spread + SLACK


class Climb(ABC):
    """A search that climbs: points that may go up a rung go first, the uppermost before others, then new points.

    Asks by what it has been given alone, so a search that hears the same again goes on in the same way.
    """

    def __init__(self, ladder: SearchLadder) -> None:
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


class OrderedSearch(Climb):
    """A search that takes ``points`` in their order; what it hears decides only which of them ``climbs``."""

    def __init__(self, ladder: SearchLadder, points: Iterator[Point], climbs: Callable[[Told], bool]) -> None:
        super().__init__(ladder)
        self._points = points
        self._climbs = climbs
        self._coming: Point | None = None

    def _promoted(self, rung: int) -> Point | None:
        return next((one.point for one in self._ladder.climbers(rung) if self._climbs(one)), None)

    def _fresh(self) -> Point | None:
        while self._coming is None or not self._ladder.may_ask(self._coming, 0):
            self._coming = next(self._points, None)
            if self._coming is None:
                return None
        return self._coming


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


# What to expect of the last points, when some are seen, others are under way, and the guesses of cheap rungs are known.
CostModel = Callable[[Sequence[Observation], Sequence[Point], Mapping[Point, float], Sequence[Point]], Forecast]
