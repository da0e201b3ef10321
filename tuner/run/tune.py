# SPDX-License-Identifier: GPL-2.0-or-later
"""``tune``: from a plan to the best layout that was confirmed on fresh measurements."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from linesmith.analyzer.base.errors import PlanError
from linesmith.analyzer.model import Failure, Result, TunePlan, Variant
from linesmith.plugins import registry
from linesmith.plugins.api import Pool
from linesmith.tuner.judge.ranking import finalists
from linesmith.tuner.run.assessment import calibrated, confirm, finish, remark
from linesmith.tuner.run.block import Rig
from linesmith.tuner.run.evidence import ExplainedRun, explained
from linesmith.tuner.run.exploration import Exploration, searched
from linesmith.tuner.run.journal import encoded
from linesmith.tuner.run.journal_tables import (
    BASELINE,
    BlockStage,
    Purpose,
    blocks,
    efforts_of,
    keep_variant,
    trials,
    variants,
)
from linesmith.tuner.run.judgement import Judge
from linesmith.tuner.run.laboratory import Laboratory, Narration, TellProgress
from linesmith.tuner.run.preparation import check, check_ladder, completed, reopen
from linesmith.tuner.run.result import Terms, comparisons, keep_terms, result_of, terms_of, with_measures
from linesmith.tuner.run.run_directory import RunDirectory, keep_purpose
from linesmith.tuner.run.rungs import Points, RungLadder, rigs
from linesmith.tuner.space.dimensions import room_wanted
from linesmith.tuner.space.proposals import RecordProposals

_MINUTE = 60.0
_SPACE = "space"
# At most this share of the time is set aside for the confirmation.
_MOST_RESERVED = 0.5


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
        keep_variant(run.journal, BASELINE)
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
        if room := room_wanted(proposed.record, growth):
            remark(self.lab.run.journal, room.reason(title, growth))
        terms = Terms(f"{self.plan.recipe.tree.name}: {title}", self.plan.rules)
        for rig in upper:
            terms = with_measures(terms, rig.fidelity, rig.judge.measures)
        keep_terms(self.lab.run.journal, terms)
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
        if known not in (None, now) and trials(journal):
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
        explored = comparisons(terms_of(journal), blocks(journal), stage)
        known = {one.name: one for one in variants(journal)}
        chosen = finalists(explored, self.plan.search.confirm, efforts_of(journal))
        return tuple(known[name] for name in chosen)
