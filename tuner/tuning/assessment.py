# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures a variant block by block until the judge has seen enough."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linesmith.analyzer.errors import BenchmarkNonsense
from linesmith.analyzer.model import Built, Comparison, Failure, FailureKind, Variant
from linesmith.tuner.judge.stopping import enough
from linesmith.tuner.tuning.blocks import Block, Purpose, Stage
from linesmith.tuner.tuning.judgement import Judge
from linesmith.tuner.tuning.laboratory import Laboratory
from linesmith.tuner.tuning.rig import Rig


@dataclass(frozen=True, slots=True)
class Course:
    """How variants are measured for a purpose; no block is begun any more once ``in_time`` says no.

    At most ``parallel`` blocks of a variant are measured at a time.
    """

    rig: Rig
    judge: Judge
    purpose: Purpose
    in_time: Callable[[], bool]
    parallel: int = 1

    @property
    def stage(self) -> Stage:
        """The stage that its blocks are of."""
        return Stage(self.rig.fidelity, self.purpose)


async def assessed(lab: Laboratory, course: Course, variant: Variant) -> tuple[Comparison, ...] | Failure:
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
        missing, late = _missing(blocks, course), not course.in_time()
        found = () if missing else _compared(course, blocks, variant)
        if isinstance(found, Failure) or late or (found and enough(found, course.judge.rules)):
            return found
        await _measure(lab, course, variant, built, missing or (len(blocks),))


async def measured(lab: Laboratory, course: Course, variant: Variant) -> Failure | None:
    """Measure the least number of blocks of a variant, whatever they say; its failure when it has one."""
    built = await lab.built(variant)
    if isinstance(built, Failure):
        return built
    while course.in_time():
        blocks = lab.measured(course.stage, variant.name)
        failure = next((one.failure for one in blocks if one.failure is not None), None)
        missing = _missing(blocks, course)
        if failure is not None or not missing:
            return failure
        await _measure(lab, course, variant, built, missing)
    return None


async def _measure(lab: Laboratory, course: Course, variant: Variant, built: Built, ordinals: Sequence[int]) -> None:
    wave = ordinals[: course.parallel]
    await asyncio.gather(*(lab.block(course.rig, course.purpose, variant, built, ordinal) for ordinal in wave))


def _missing(blocks: Sequence[Block], course: Course) -> tuple[int, ...]:
    """Which of the blocks that are measured in any case are not there yet."""
    present = {one.ordinal for one in blocks}
    rules = course.judge.rules
    return tuple(sorted(set(range(min(rules.least_blocks, rules.most_blocks))) - present))


def _compared(course: Course, blocks: Sequence[Block], variant: Variant) -> tuple[Comparison, ...] | Failure:
    samples = [sample for block in blocks for sample in block.samples]
    if not samples:
        return ()
    try:
        return course.judge.comparisons(samples, variant.name)
    except BenchmarkNonsense as error:
        return Failure(FailureKind.NONSENSE, str(error))
