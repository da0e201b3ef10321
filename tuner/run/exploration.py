# SPDX-License-Identifier: GPL-2.0-or-later
"""The search itself: the optimizer is asked, points are judged as many at a time as there are workers, it is told."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.model import Ask, Fidelity, Searching, Told, Trial
from linesmith.plugins.api import Search
from linesmith.tuner.run.assessment import remark
from linesmith.tuner.run.evidence import ExplainedRun, with_all_lines
from linesmith.tuner.run.journal import Journal
from linesmith.tuner.run.journal_tables import keep_trial, trials
from linesmith.tuner.run.laboratory import Narration
from linesmith.tuner.run.rungs import COSTLY, Rung
from linesmith.tuner.space.proposals import RecordProposals, proposals

# Answers that cost nothing are kept some at a time: should they be lost, they are given again alike.
_MOST_UNKEPT = 256
_HOT = "`linesmith hot`"


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
        self._unkept: list[Trial] = []
        self._told: dict[Ask, Told] = {}
        self._cut_off = False
        for trial in self._finished:
            self._hear(trial)

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
        # Whether the time was over before the optimizer had an answer to all that it would ask.
        if not in_time() and (self._cut_off or self._search.ask(1)):
            spent = len({one.point for one in self._finished if one.fidelity in COSTLY})
            made = f"after {spent} of {self._budget} trials" if spent else "before the first trial finished"
            remark(
                self._journal,
                f"the time limit was reached {made}; continue the search with --resume and more --minutes",
            )

    async def _answer(self, ask: Ask) -> None:
        """Judge a point and tell; nothing is told of a point for which there was no time."""
        known = self._told.get(ask)
        if known is not None:
            self._search.tell(known)
            return
        begin = time.monotonic()
        rung = self._rungs[ask.rung]
        if rung.fidelity in COSTLY:
            self._keep()
        trial = await rung.judge(ask.point)
        if trial is None:
            self._cut_off = True
        else:
            self._tell(replace(trial, seconds=time.monotonic() - begin))

    def _tell(self, trial: Trial) -> None:
        self._finished.append(trial)
        self._unkept.append(trial)
        if trial.fidelity in COSTLY or len(self._unkept) >= _MOST_UNKEPT:
            self._keep()
        self._hear(trial)
        self._score()

    def _hear(self, trial: Trial) -> None:
        """Have the optimizer hear of a trial, unless its rung is none of the ladder's any more."""
        rung = next((number for number, one in enumerate(self._rungs) if one.fidelity is trial.fidelity), None)
        if rung is not None:
            answer = Told(trial.point, rung, trial.cost, trial.spread, trial.failure)
            self._told[Ask(trial.point, rung)] = answer
            self._search.tell(answer)

    def _keep(self) -> None:
        if self._unkept:
            with self._journal.transaction():
                for trial in self._unkept:
                    keep_trial(self._journal, trial)
            self._unkept.clear()

    def _score(self) -> None:
        """Have the narration tell the best on the highest rung that has one."""
        judged = [one for one in self._finished if one.fidelity in COSTLY]
        top = max((tuple(Fidelity).index(one.fidelity) for one in judged if one.cost is not None), default=-1)
        on_top = [one for one in judged if one.cost is not None and tuple(Fidelity).index(one.fidelity) == top]
        best = min(on_top, key=lambda one: one.cost or 0.0, default=None)
        spent = len({one.point for one in judged})
        self._narration.score(spent, self._budget, best)


def searched(seen: ExplainedRun, search: Searching) -> tuple[ExplainedRun, RecordProposals]:
    """The profile with every line of the hottest record that may be changed, and its layouts.

    Raises ``NothingToSuggest``, with the files to look at.
    """
    try:
        first = proposals(seen.findings, seen.layouts, search)
        hottest = first.record.subject.type
        widened = with_all_lines(seen, hottest)
        if search.type.split()[-1:] == [hottest] and widened.findings == seen.findings:
            return widened, first  # asked the same again, which takes minutes where many lines hold the record
        return widened, proposals(widened.findings, widened.layouts, replace(search, type=hottest))
    except NothingToSuggest as error:
        text = re.sub(r"^Line (\d+):", rf"line \1 of {seen.profile.source}:", str(error)).rstrip(".")
        text = text.replace(_HOT, f"{_HOT[:-1]} {seen.elf} {seen.profile.source}`")
        if any("::" in name for name in seen.layouts.names()):
            text = f"{text}; {seen.elf.name} has C++ types, and only C types are supported"
        raise NothingToSuggest(text) from error
