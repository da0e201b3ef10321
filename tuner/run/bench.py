# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures variants block by block until the judge has seen enough; ``bench`` does so with given patches.

Placebos are measured before anything else, for the noise floor of the run; at its end the best variants are measured
on fresh samples, so that nobody's luck is reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.base.errors import BenchmarkNonsense, PlanError
from linesmith.analyzer.model import Built, Comparison, Failure, FailureKind, Result, Trial, TunePlan, Variant
from linesmith.plugins.api import Pool
from linesmith.tuner.judge.ranking import enough, winner
from linesmith.tuner.replay.simulated import MeasuredRecord
from linesmith.tuner.run.journal import BASELINE, PLACEBO, BlockStage, Journal, Purpose, trial_of
from linesmith.tuner.run.judgement import Judge, Rig, machine_rig, simulation_rig
from linesmith.tuner.run.laboratory import Laboratory, Narration, TellProgress
from linesmith.tuner.run.preparation import check, check_ladder, completed, refusals, reopen, without_search
from linesmith.tuner.run.result import BEST, FINISHED, Terms, keep_terms, result_of, terms_of
from linesmith.tuner.run.run_directory import RunDirectory, keep_patch_file, keep_purpose
from linesmith.tuner.run.simulated import SimulatedBenchmark

_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class BlockCourse:
    """How variants are measured for a purpose; no block is begun any more once ``in_time`` says no.

    At most ``parallel`` blocks of a variant are measured at a time.
    """

    rig: Rig
    judge: Judge
    purpose: Purpose
    in_time: Callable[[], bool]
    parallel: int = 1

    @property
    def stage(self) -> BlockStage:
        """The stage that its blocks are of."""
        return BlockStage(self.rig.fidelity, self.purpose)


async def assessed(lab: Laboratory, course: BlockCourse, variant: Variant) -> tuple[Comparison, ...] | Failure:
    """What the judge says of a variant; nothing when the time was over before the least number of blocks was measured.

    Raises ``BaselineFailed`` and ``DiskFull``.
    """
    built = await lab.built(variant)
    if isinstance(built, Failure):
        return built
    await lab.baseline()
    while True:
        blocks = lab.measured(course.stage, variant.name)
        if failure := next((one.failure for one in blocks if one.failure is not None), None):
            return failure
        rules, late = course.judge.rules, not course.in_time()
        present = {one.ordinal for one in blocks}
        missing = sorted(set(range(min(rules.least_blocks, rules.most_blocks))) - present)
        samples = [] if missing else [sample for block in blocks for sample in block.samples]
        try:
            found = course.judge.comparisons(samples, variant.name) if samples else ()
        except BenchmarkNonsense as error:
            return Failure(FailureKind.NONSENSE, str(error))
        if late or (found and enough(found, rules)):
            return found
        wave = (missing or [len(blocks)])[: course.parallel]
        await asyncio.gather(*(lab.block(course.rig, course.purpose, variant, built, ordinal) for ordinal in wave))


async def calibrated(lab: Laboratory, rig: Rig) -> Judge:
    """The rig's judge, who knows what equal layouts differ by. Raises ``BaselineFailed`` and ``DiskFull``."""
    # No more than the least number of blocks of each, whatever they say.
    brief = replace(rig.judge, rules=replace(rig.judge.rules, most_blocks=rig.judge.rules.least_blocks))
    course = BlockCourse(rig, brief, Purpose.NOISE, lambda: lab.narration.left > 0, lab.slots)
    placebos = tuple(Variant(f"{PLACEBO}-{salt}", salt=salt) for salt in range(1, rig.judge.rules.placebos + 1))
    for placebo in placebos:
        with lab.run.journal.transaction():
            lab.run.journal.keep_variant(placebo)
        outcome = await assessed(lab, course, placebo)
        if isinstance(outcome, Failure):
            remark(lab.run.journal, f"{placebo.name} shows no noise floor: {outcome.kind}: {outcome.reason}")
    samples = lab.stage_samples(course.stage)
    return rig.judge.with_floors(samples, [one.name for one in placebos]) if samples else rig.judge


def remark(journal: Journal, sentence: str) -> None:
    """Keep what a reader of the result must know, once."""
    with journal.transaction():
        journal.write("INSERT OR IGNORE INTO remarks (sentence) VALUES (?)", (sentence,))


async def confirm(
    lab: Laboratory, rig: Rig, judge: Judge, finalists: Sequence[Variant]
) -> dict[str, tuple[Comparison, ...] | Failure]:
    """Fresh comparisons of each finalist, none when there was no time, or how it failed.

    Raises ``BaselineFailed`` and ``DiskFull``.
    """
    keep_terms(lab.run.journal, replace(terms_of(lab.run.journal), confirmed=len(finalists)))
    sharing = replace(judge, variants=len(finalists))
    course = BlockCourse(rig, sharing, Purpose.CONFIRMATION, lambda: lab.narration.left > 0, lab.slots)
    outcomes = await asyncio.gather(*(assessed(lab, course, one) for one in finalists))
    for variant, outcome in zip(finalists, outcomes, strict=True):
        if not outcome:
            remark(lab.run.journal, f"the time limit was reached before {variant.name} was confirmed")
    return {variant.name: outcome for variant, outcome in zip(finalists, outcomes, strict=True)}


def finish(journal: Journal, confirmed: Mapping[str, tuple[Comparison, ...] | Failure]) -> None:
    """Keep what came out; the run is over."""
    compared = [one for outcome in confirmed.values() if not isinstance(outcome, Failure) for one in outcome]
    with journal.transaction():
        journal.keep_note(BEST, winner(compared, journal.efforts()) or "")
        journal.keep_note(FINISHED, "yes")


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
            lab.run.journal.keep_build(name, Failure(FailureKind.PATCH, refused[name]))
    # A patch that does not apply or build is known before anything is measured.
    made = await asyncio.gather(*(lab.built(one) for one in variants))
    judge = await calibrated(lab, rig) if any(isinstance(one, Built) for one in made) else rig.judge
    confirmed = await confirm(lab, rig, judge, variants)
    _keep_trials(lab, rig, confirmed)
    finish(lab.run.journal, confirmed)


def _keep_trials(lab: Laboratory, rig: Rig, confirmed: Mapping[str, tuple[Comparison, ...] | Failure]) -> None:
    """One trial for each patch, unless an earlier process has kept it."""
    journal, stage = lab.run.journal, BlockStage(rig.fidelity, Purpose.CONFIRMATION)
    named = {one.variant for one in journal.trials()}
    fresh = [name for name in confirmed if name not in named and confirmed[name]]
    with journal.transaction():
        for name in fresh:
            seconds = sum(block.seconds for block in lab.measured(stage, name))
            journal.keep_trial(trial_of(Trial(0, name, (), rig.fidelity, seconds=seconds), confirmed[name]))


def _entered(run: RunDirectory, variants: Sequence[Variant]) -> tuple[Variant, ...]:
    """The variants as the journal has them: two patches that say the same are one."""
    for one in variants:
        if one.name.startswith(PLACEBO):
            raise PlanError(f"the patch name {one.name} is reserved; rename the patch")
    with run.journal.transaction():
        run.journal.keep_variant(BASELINE)
        entered = [run.journal.keep_variant(one) for one in variants]
    for one in entered:
        keep_patch_file(run, one.name, "".join(one.patches))
    return tuple(dict.fromkeys(entered))
