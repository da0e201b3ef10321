# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds and blocks of a run: taken from the journal where they are finished, else made by a worker and kept."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from linesmith.analyzer.base.errors import BaselineFailed, DiskFull, PlanError, WorkerLost
from linesmith.analyzer.model import Built, Failure, FailureKind, Fidelity, Recipe, Sample, Trial, Variant
from linesmith.plugins.api import Pool
from linesmith.tuner.run.block import BuildTask, Task, TaskOutcome, benchmarking_on, perform
from linesmith.tuner.run.journal import BASELINE, BlockStage, Journal, MeasuredBlock, Purpose
from linesmith.tuner.run.judgement import BlockPlace, MachineRig, Rig
from linesmith.tuner.run.run_directory import RunDirectory


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is: ``doing`` is a sentence without its full stop.

    ``trials`` of ``budget`` have been judged on the upper fidelities. ``best`` is the variant with the lowest ``cost``
    (a ratio to the baseline) on ``rung``, the highest one reached so far; it is not confirmed yet. ``seconds`` of
    ``limit`` have been spent.
    """

    doing: str
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


# A compiler that was killed for want of memory may not be killed again.
_ATTEMPTS = 2
_DOING = {Fidelity.SIMULATION: "simulating", Fidelity.BENCHMARK: "benchmarking"}
# What machines say of themselves may change from boot to boot (their load): so many values of a name are kept.
_MOST_VALUES = 8
_INSERT_FACT = "INSERT OR IGNORE INTO facts SELECT ?, ? WHERE (SELECT count(*) FROM facts WHERE name = ?) < ?"


class Laboratory:
    """Where variants are built and measured; whatever it answers is in the journal."""

    def __init__(self, run: RunDirectory, pool: Pool, recipe: Recipe, narration: Narration) -> None:
        self.run = run
        # Builds on one machine share its CPUs; one that is alone has all of them (0).
        jobs = 0 if pool.neighbours <= 1 else max(1, len(os.sched_getaffinity(0)) // pool.neighbours)
        self.recipe = replace(recipe, jobs=recipe.jobs or jobs)
        self.narration = narration
        self._pool = pool
        self._building: dict[str, asyncio.Task[Built | Failure]] = {}
        self._blocks = {(one.stage, one.variant, one.ordinal): one for one in run.journal.blocks()}
        self._sources = ""
        self._last = max((one.number for one in self._blocks.values()), default=0)

    @property
    def slots(self) -> int:
        """How many tasks the workers take at a time."""
        return max(1, self._pool.slots)

    async def built(self, variant: Variant) -> Built | Failure:
        """The products of a variant, built once however many ask for it at a time."""
        if variant.name not in self._building:
            self._building[variant.name] = asyncio.create_task(self._build(variant))
        return await self._building[variant.name]

    async def baseline(self) -> Built:
        """The products of the tree as it is; raises ``BaselineFailed``."""
        outcome = await self.built(BASELINE)
        if isinstance(outcome, Failure):
            raise BaselineFailed(_complaint("cannot be built", outcome))
        return outcome

    def stage_samples(self, stage: BlockStage) -> tuple[Sample, ...]:
        """All samples of a stage."""
        return tuple(sample for block in self._blocks.values() if block.stage == stage for sample in block.samples)

    def measured(self, stage: BlockStage, variant: str) -> tuple[MeasuredBlock, ...]:
        """The blocks of a variant that are there, oldest first."""
        found = [one for one in self._blocks.values() if (one.stage, one.variant) == (stage, variant)]
        return tuple(sorted(found, key=lambda one: one.ordinal))

    def block_seconds(self, fidelity: Fidelity) -> float:
        """What a block takes, by those that were measured; 0.0 when none was."""
        spent = [one.seconds for one in self._blocks.values() if one.stage.fidelity is fidelity]
        return sum(spent) / len(spent) if spent else 0.0

    async def block(self, rig: Rig, purpose: Purpose, variant: Variant, built: Built, ordinal: int) -> MeasuredBlock:
        """Measure the block of a variant with this ordinal, which is not there yet; raises ``BaselineFailed``.

        Machines have accidents, so a failure counts when it comes twice.
        """
        self._last += 1
        place, stage = BlockPlace(self._last, ordinal, purpose, self.run.path), BlockStage(rig.fidelity, purpose)
        baseline = (BASELINE.name, await self.baseline())
        task = rig.task(place, baseline, (variant.name, built))
        # What was measured for a search before is confirmed.
        again = purpose is Purpose.CONFIRMATION and self.measured(replace(stage, purpose=Purpose.SEARCH), variant.name)
        doing = f"{'confirming' if again else _DOING[rig.fidelity]} {variant.name}, block {ordinal + 1}"
        if isinstance(rig, MachineRig) and (other := benchmarking_on(rig.site)) not in ("", str(self.run.path)):
            doing = f"{doing}, after {other}, which benchmarks on the same machine"
        outcome = await self.done(task, doing)
        if outcome.failure is not None:
            # Once anything was measured on this rung, a failure is not that of the benchmark itself.
            had_samples = any(one.samples for one in self._blocks.values() if one.stage.fidelity is rig.fidelity)
            if not had_samples or _blames_baseline(outcome):
                alone = await self.done(
                    rig.task(place, baseline, baseline), f"{_DOING[rig.fidelity]} the baseline alone"
                )
                if alone.failure is not None:
                    raise BaselineFailed(_complaint("cannot be measured", alone.failure))
            # One that was lost with its worker has had several.
            if outcome.failure.kind is not FailureKind.WORKER:
                outcome = await self.done(task, f"{doing} once more")
            if _blames_baseline(outcome):
                raise BaselineFailed(_complaint("cannot be measured", outcome.failure))
        block = MeasuredBlock(
            place.number, stage, variant.name, ordinal, outcome.seconds, outcome.samples, outcome.failure
        )
        with self.run.journal.transaction():
            self.run.journal.keep_block(block)
            for name, value in outcome.facts:
                self.run.journal.write(_INSERT_FACT, (name, value, name, _MOST_VALUES))
        self._blocks[stage, variant.name, ordinal] = block
        return block

    async def done(self, task: Task, doing: str) -> TaskOutcome:
        """What a worker makes of a task; raises ``DiskFull``, and what ``perform`` raises."""
        self.narration.say(doing)
        try:
            outcome = await asyncio.wrap_future(self._pool.submit(partial(perform, task), task.needs))
        except WorkerLost as error:
            return TaskOutcome(failure=Failure(FailureKind.WORKER, str(error)))
        if outcome.failure is not None and outcome.failure.kind is FailureKind.DISK_FULL:
            reason = outcome.failure.reason
            raise DiskFull(f"no space left for {task.name} ({reason}); free some and continue with --resume")
        return outcome

    async def _build(self, variant: Variant) -> Built | Failure:
        earlier = self.run.journal.build_of(variant.name)
        if earlier is not None and variant != BASELINE:
            return earlier
        task = BuildTask(self.recipe, variant, self.run.path)
        outcome = TaskOutcome()
        for _ in range(_ATTEMPTS):
            outcome = await self.done(task, f"building {variant.name}")
            if outcome.failure is None or outcome.failure.kind is not FailureKind.KILLED:
                break
        result = outcome.built or outcome.failure or Failure(FailureKind.OTHER, "the build produced nothing")
        if isinstance(result, Built):
            self._check_unchanged(result, earlier)
        with self.run.journal.transaction():
            self.run.journal.keep_variant(variant)
            # The baseline is built by each process anew: it may have been mended, and must not have been changed.
            if variant != BASELINE or (isinstance(result, Built) and earlier is None):
                self.run.journal.keep_build(variant.name, result)
        return result

    def _check_unchanged(self, now: Built, earlier: Built | Failure | None) -> None:
        """Raise ``PlanError`` when the tree is not the one that the run, or this process, was begun with."""
        self._sources = self._sources or now.sources
        if now.sources != self._sources or (isinstance(earlier, Built) and earlier.key != now.key):
            raise PlanError(
                f"{self.recipe.tree}, its configuration or the compiler has changed since the run started, so"
                " measurements would not be comparable: restore it, or start another run with --run"
            )


def _blames_baseline(outcome: TaskOutcome) -> bool:
    """Whether a block failed by no fault of its variant; a worker that was lost had both sides to run."""
    failure = outcome.failure
    return failure is not None and failure.kind is not FailureKind.WORKER and outcome.variant in ("", BASELINE.name)


def _complaint(what: str, failure: Failure | None) -> str:
    """Why there is nothing to compare with, and where to look."""
    reason = failure.reason if failure else "for an unknown reason"
    untold = failure is not None and failure.log and "; see " not in reason
    log = f"; its log is {failure.log} in the run directory" if failure and untold else ""
    return f"the unpatched tree {what}: {reason}{log}; fix that, then continue with --resume"
