# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search has asked and heard, rung by rung, and what its budget still allows."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import Ask, FailureKind, Point, Space, Told
from linesmith.plugins.optimizers.points import is_point

# How much worse than the baseline a cost may be, beside its spread, for its point to climb.
SLACK = 0.01


class Ladder:
    """The state of one search: nothing but what was told and what is waited for.

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


def promising(answer: Told) -> bool:
    """Whether the answer leaves it possible that the point is better than the baseline."""
    return answer.cost is not None and answer.cost <= 1 + answer.spread + SLACK
