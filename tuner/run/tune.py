# SPDX-License-Identifier: GPL-2.0-or-later
"""``tune``: from a plan to the best layout that was confirmed on fresh measurements.

The optimizer is asked, points are judged as many at a time as there are workers, and it is given.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.base.errors import NothingToSuggest, PlanError
from linesmith.analyzer.model import Ask, Failure, Fidelity, Result, Searching, Told, Trial, TunePlan, Variant
from linesmith.plugins import registry
from linesmith.plugins.api import Pool, Search
from linesmith.tuner.judge.ranking import finalists
from linesmith.tuner.run.bench import calibrated, confirm, finish, remark
from linesmith.tuner.run.evidence import ExplainedRun, explained, with_all_lines
from linesmith.tuner.run.journal import BASELINE, BlockStage, Journal, Purpose, encoded
from linesmith.tuner.run.judgement import COSTLY, Judge, Rig
from linesmith.tuner.run.laboratory import Laboratory, Narration, TellProgress
from linesmith.tuner.run.preparation import check, check_ladder, completed, reopen
from linesmith.tuner.run.result import Terms, keep_terms, result_of, terms_of
from linesmith.tuner.run.run_directory import RunDirectory, keep_purpose
from linesmith.tuner.run.rungs import Points, Rung, RungLadder, rigs
from linesmith.tuner.space.proposals import RecordProposals, proposals

_MINUTE = 60.0
_SPACE = "space"
# At most this share of the time is set aside for the confirmation.
_MOST_RESERVED = 0.5
# Answers that cost nothing are kept some at a time: should they be lost, they are given again alike.
_MOST_UNKEPT = 256


def tune(plan: TunePlan, run: RunDirectory, pool: Pool, tell: TellProgress) -> Result:
    """Search as the plan says; what an earlier process finished in the same run directory is not done again.

    An exception in the middle, ``KeyboardInterrupt`` included, leaves a run directory that can be gone on with. Raises
    ``BaselineFailed`` when the tree as it is does not build, boot or run, ``DiskFull``, ``PlanError``,
    ``NothingToSuggest``, and what reading the profile raises.
    """
    complete = completed(plan)
    plan = complete.plan
    keep_purpose(run.journal, "a search")
    check_ladder(plan)
    check(plan, pool)
    for sentence in complete.remarks:
        remark(run.journal, sentence)
    reopen(run.journal)
    narration = Narration(tell, run.journal, plan.budget.minutes * _MINUTE)
    with run.journal.transaction():
        run.journal.keep_variant(BASELINE)
    asyncio.run(_Tuning(plan, Laboratory(run, pool, plan.recipe, narration)).run())
    return result_of(run.journal, run.path)


@dataclass(frozen=True, slots=True)
class _Tuning:
    """One process's work on a run."""

    plan: TunePlan
    lab: Laboratory

    async def run(self) -> None:
        """Evidence, noise, search, confirmation."""
        seen = await explained(self.lab, self.plan)
        seen, proposed = searched(seen, self.plan.search)
        upper = rigs(self.plan, proposed, self.lab)
        self._check_space(proposed)
        title, growth = proposed.record.subject.layout.title, self.plan.search.growth
        # Alignments, often the obvious change, are not searched for want of bytes.
        if room := proposed.record.room_wanted(growth):
            remark(self.lab.run.journal, room.reason(title, growth))
        measures = tuple((rig.fidelity, rig.judge.measures) for rig in upper)
        keep_terms(self.lab.run.journal, Terms(f"{self.plan.recipe.tree.name}: {title}", self.plan.rules, measures))
        judge = await calibrated(self.lab, upper[-1])
        await self._explore(seen, proposed, upper, judge)
        chosen = self._finalists(BlockStage(upper[-1].fidelity, Purpose.SEARCH))
        confirmed = await confirm(self.lab, upper[-1], judge, chosen)
        for name, outcome in confirmed.items():
            if isinstance(outcome, Failure):
                remark(self.lab.run.journal, f"{name} failed on fresh blocks: {outcome.kind}: {outcome.reason}")
        finish(self.lab.run.journal, confirmed)

    def _check_space(self, proposed: RecordProposals) -> None:
        """Points of an earlier process must mean the same layouts; raises ``PlanError`` where they do not."""
        journal = self.lab.run.journal
        now = encoded((proposed.record.subject.layout.title, proposed.space.dimensions))
        known = journal.note(_SPACE)
        if known not in (None, now) and journal.trials():
            raise PlanError(
                "the layouts to search differ from those of the run so far (another profile, or another linesmith);"
                " start another run with --run"
            )
        with journal.transaction():
            journal.keep_note(_SPACE, now)

    async def _explore(
        self, seen: ExplainedRun, proposed: RecordProposals, upper: tuple[Rig, ...], judge: Judge
    ) -> None:
        plan, run = self.plan, self.lab.run
        elf = plan.evidence.elf if plan.evidence else ""
        points = Points(proposed, plan.recipe.tree, elf, run)
        ladder = RungLadder(self.lab, points, seen, judge, lambda: self._in_time(upper[-1]))
        rungs = ladder.rungs(plan.search.ladder, upper)
        optimizer = registry.optimizer(plan.search.optimizer)
        if reason := optimizer.obstacle():
            raise PlanError(f"[search] optimizer = {plan.search.optimizer!r} cannot be used: {reason}")
        search = optimizer.search(proposed.space, len(rungs), plan.search.seed, plan.budget.trials, len(upper))
        exploration = Exploration(rungs, search, run.journal, self.lab.narration, plan.budget.trials)
        await exploration.run(self.lab.slots, ladder.in_time)

    def _in_time(self, rig: Rig) -> bool:
        """Whether more time is left than confirming needs: at the least its first look at each finalist."""
        least = self.plan.rules.least_blocks * self.plan.search.confirm
        needed = least * self.lab.block_seconds(rig.fidelity)
        return self.lab.narration.left > min(needed, _MOST_RESERVED * self.plan.budget.minutes * _MINUTE)

    def _finalists(self, stage: BlockStage) -> tuple[Variant, ...]:
        journal = self.lab.run.journal
        explored = terms_of(journal).comparisons(journal.blocks(), stage)
        known = {one.name: one for one in journal.variants()}
        chosen = finalists(explored, self.plan.search.confirm, journal.efforts())
        return tuple(known[name] for name in chosen)


class Exploration:
    """One search over ``rungs``; what the journal has of it is given first, in the same order."""

    def __init__(
        self, rungs: Sequence[Rung], search: Search, journal: Journal, narration: Narration, budget: int
    ) -> None:
        self._rungs = rungs
        self._search = search
        self._journal = journal
        self._narration = narration
        self._budget = budget
        self._finished = list(journal.trials())
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
                    self._journal.keep_trial(trial)
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
        text = text.removesuffix("; `linesmith hot` lists its records")
        if any("::" in name for name in seen.layouts.names()):
            text = f"{text}; {seen.elf.name} has C++ types, and only C types are supported"
        look = shlex.join(("linesmith", "hot", str(seen.elf), seen.profile.source))
        raise NothingToSuggest(f"{text}; see `{look}` for what is known") from error
