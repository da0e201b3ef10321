# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user hears while a run goes on: every change of it at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from linesmith.analyzer.model import Fidelity, Trial
from linesmith.tuner.run.journal import Journal


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is: ``doing`` is a sentence without its full stop, ``running`` names the tasks under way.

    ``trials`` of ``budget`` have been judged on the upper fidelities. ``best`` is the variant with the lowest ``cost``
    (a ratio to the baseline) on ``rung``, the highest one reached so far; it is not confirmed yet. ``seconds`` of
    ``limit`` have been spent.
    """

    doing: str
    running: tuple[str, ...] = ()
    trials: int = 0
    budget: int = 0
    best: str | None = None
    cost: float | None = None
    rung: Fidelity | None = None
    seconds: float = 0.0
    limit: float = 0.0


TellProgress = Callable[[RunProgress], None]


class Narration:
    """Tells how a run goes that may take ``limit`` seconds, those of earlier processes included."""

    def __init__(self, tell: TellProgress, journal: Journal, limit: float) -> None:
        self._tell = tell
        self._begun = time.monotonic() - journal.seconds
        self._now = RunProgress("beginning", limit=limit)
        if journal.interrupted:
            self.say(f"continuing; repeating interrupted tasks: {', '.join(journal.interrupted)}")

    @property
    def seconds(self) -> float:
        """Wall time of the run so far."""
        return time.monotonic() - self._begun

    @property
    def left(self) -> float:
        """Seconds that the run may still take."""
        return self._now.limit - self.seconds

    def say(self, doing: str) -> None:
        """Tell what is being done."""
        self._now = replace(self._now, doing=doing, seconds=self.seconds)
        self._tell(self._now)

    def score(self, trials: int, budget: int, best: Trial | None) -> None:
        """From now on tell this of the search: ``best`` is the best answer on the highest rung that gave any."""
        self._now = replace(self._now, trials=trials, budget=budget)
        if best is not None:
            self._now = replace(self._now, best=best.variant, cost=best.cost, rung=best.fidelity)

    @contextmanager
    def during(self, task: str, doing: str) -> Iterator[None]:
        """Tell what is begun, and count the task among those under way while the block lasts."""
        self._now = replace(self._now, running=(*self._now.running, task))
        self.say(doing)
        try:
            yield
        finally:
            self._now = replace(self._now, running=tuple(one for one in self._now.running if one != task))
