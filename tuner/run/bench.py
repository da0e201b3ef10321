# SPDX-License-Identifier: GPL-2.0-or-later
"""``bench``: given patches against the tree as it is, without a search."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from linesmith.analyzer.base.errors import PlanError
from linesmith.analyzer.model import Built, Comparison, Failure, FailureKind, Result, Trial, TunePlan, Variant
from linesmith.plugins.api import Pool
from linesmith.tuner.replay.simulated import MeasuredRecord
from linesmith.tuner.run.assessment import calibrated, confirm, finish, remark
from linesmith.tuner.run.journal_tables import (
    BASELINE,
    PLACEBO,
    BlockStage,
    Purpose,
    keep_build,
    keep_trial,
    keep_variant,
    trial_of,
    trials,
)
from linesmith.tuner.run.judgement import Rig, machine_rig, simulation_rig
from linesmith.tuner.run.laboratory import Laboratory, Narration, TellProgress
from linesmith.tuner.run.preparation import check, check_ladder, completed, refusals, reopen, without_search
from linesmith.tuner.run.result import Terms, keep_terms, result_of
from linesmith.tuner.run.run_directory import RunDirectory, keep_patch_file, keep_purpose
from linesmith.tuner.run.simulated import SimulatedBenchmark

_MINUTE = 60.0


def bench(plan: TunePlan, variants: Sequence[Variant], run: RunDirectory, pool: Pool, tell: TellProgress) -> Result:
    """Measure ``variants`` against the baseline until the judge has seen enough of each.

    What an earlier process finished in the same run directory is not done again. Raises ``BaselineFailed``,
    ``DiskFull``, ``PlanError``, ``BenchmarkUnknown``, ``ToolMissing``, or ``PatchRefused`` when no patch fits the tree.
    """
    complete = completed(plan)
    check_ladder(complete.plan)
    plan = without_search(complete.plan)
    keep_purpose(run.journal, f"a bench of {', '.join(sorted(one.name for one in variants))}")
    check(plan, pool)
    refused = refusals(plan.recipe, variants, pool)
    reopen(run.journal)
    for sentence in complete.remarks:
        remark(run.journal, sentence)
    rig: Rig = machine_rig(plan)
    if plan.evidence is not None:  # what is recorded is simulated
        question, folder = MeasuredRecord(plan.search.type), run.path / "recordings"
        rig = simulation_rig(plan, SimulatedBenchmark(plan.evidence, question, folder))
    title = f"{plan.recipe.tree.name}: {', '.join(one.name for one in variants)}"
    keep_terms(run.journal, Terms(title, plan.rules, ((rig.fidelity, rig.judge.measures),)))
    narration = Narration(tell, run.journal, plan.budget.minutes * _MINUTE)
    for name, reason in refused.items():
        narration.say(f"{name} is not measured: {reason}")
    asyncio.run(_measure(Laboratory(run, pool, plan.recipe, narration), rig, _entered(run, variants), refused))
    return result_of(run.journal, run.path)


async def _measure(lab: Laboratory, rig: Rig, variants: Sequence[Variant], refused: Mapping[str, str]) -> None:
    await lab.baseline()
    # The refused patches need no build; the tree is known to be that of the run.
    with lab.run.journal.transaction():
        for name in (one.name for one in variants if one.name in refused):
            keep_build(lab.run.journal, name, Failure(FailureKind.PATCH, refused[name]))
    # A patch that does not apply or build is known before anything is measured.
    made = await asyncio.gather(*(lab.built(one) for one in variants))
    judge = await calibrated(lab, rig) if any(isinstance(one, Built) for one in made) else rig.judge
    confirmed = await confirm(lab, rig, judge, variants)
    _keep_trials(lab, rig, confirmed)
    finish(lab.run.journal, confirmed)


def _keep_trials(lab: Laboratory, rig: Rig, confirmed: Mapping[str, tuple[Comparison, ...] | Failure]) -> None:
    """One trial for each patch, unless an earlier process has kept it."""
    journal, stage = lab.run.journal, BlockStage(rig.fidelity, Purpose.CONFIRMATION)
    named = {one.variant for one in trials(journal)}
    fresh = [name for name in confirmed if name not in named and confirmed[name]]
    with journal.transaction():
        for name in fresh:
            seconds = sum(block.seconds for block in lab.measured(stage, name))
            keep_trial(journal, trial_of(Trial(0, name, (), rig.fidelity, seconds=seconds), confirmed[name]))


def _entered(run: RunDirectory, variants: Sequence[Variant]) -> tuple[Variant, ...]:
    """The variants as the journal has them: two patches that say the same are one."""
    for one in variants:
        if one.name.startswith(PLACEBO):
            raise PlanError(f"the patch name {one.name} is reserved; rename the patch")
    with run.journal.transaction():
        keep_variant(run.journal, BASELINE)
        entered = [keep_variant(run.journal, one) for one in variants]
    for one in entered:
        keep_patch_file(run, one.name, "".join(one.patches))
    return tuple(dict.fromkeys(entered))
