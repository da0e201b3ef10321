# SPDX-License-Identifier: GPL-2.0-or-later
"""The search itself: the optimizer is asked, points are judged as many at a time as there are workers, it is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from linesmith.analyzer.model import Ask, Fidelity, Told, Trial
from linesmith.plugins.api import Search
from linesmith.tuner.tuning.fidelities import COSTLY
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.narration import Narration
from linesmith.tuner.tuning.rungs import Rung
from linesmith.tuner.tuning.trials import keep_trial, told, trials

# Answers that cost nothing are kept some at a time: should they be lost, they are given again alike.
_MOST_UNKEPT = 256


class Exploration:
    """One search over ``rungs``; what the journal has of it is told first, in the same order."""

    def __init__(
        self, rungs: Sequence[Rung], search: Search, journal: Journal, narration: Narration, budget: int
    ) -> None:
        self._rungs = rungs
        self._search = search
        self._journal = journal
        self._narration = narration
        self._budget = budget
        self._finished = list(trials(journal))
        self._told = {(one.point, one.rung): one for one in told(journal)}
        self._unkept: list[tuple[int, Trial]] = []
        for answer in self._told.values():
            search.tell(answer)

    async def run(self, slots: int, in_time: Callable[[], bool]) -> None:
        """Go on until the optimizer has no more questions or the time is over."""
        pending: set[asyncio.Task[None]] = set()
        self._score()
        try:
            while True:
                asks = self._search.ask(slots - len(pending)) if in_time() and len(pending) < slots else ()
                pending |= {asyncio.create_task(self._answer(ask)) for ask in asks}
                if not pending:
                    break
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for task in pending:
                task.cancel()
        self._keep()

    async def _answer(self, ask: Ask) -> None:
        """Judge a point and tell; nothing is told of a point for which there was no time."""
        known = self._told.get((ask.point, ask.rung))
        if known is not None:
            self._search.tell(known)
            return
        begin = time.monotonic()
        rung = self._rungs[ask.rung]
        if rung.fidelity in COSTLY:
            self._keep()
        trial = await rung.judge(ask.point)
        if trial is not None:
            self._tell(ask, replace(trial, seconds=time.monotonic() - begin))

    def _tell(self, ask: Ask, trial: Trial) -> None:
        numbered = replace(trial, number=len(self._finished) + 1)
        answer = Told(ask.point, ask.rung, trial.cost, trial.spread, trial.failure)
        self._finished.append(numbered)
        self._told[ask.point, ask.rung] = answer
        self._unkept.append((ask.rung, numbered))
        if trial.fidelity in COSTLY or len(self._unkept) >= _MOST_UNKEPT:
            self._keep()
        self._search.tell(answer)
        self._score()

    def _keep(self) -> None:
        if self._unkept:
            with self._journal.transaction():
                for rung, trial in self._unkept:
                    keep_trial(self._journal, rung, trial)
            self._unkept.clear()

    def _score(self) -> None:
        """Have the narration tell the best on the highest rung that has one."""
        judged = [one for one in self._finished if one.fidelity in COSTLY]
        top = max((tuple(Fidelity).index(one.fidelity) for one in judged if one.cost is not None), default=-1)
        on_top = [one for one in judged if one.cost is not None and tuple(Fidelity).index(one.fidelity) == top]
        best = min(on_top, key=lambda one: one.cost or 0.0, default=None)
        spent = len({one.point for one in judged})
        self._narration.score(spent, self._budget, best.variant if best else None, best.cost if best else None)
