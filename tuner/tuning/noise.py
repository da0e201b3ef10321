# SPDX-License-Identifier: GPL-2.0-or-later
"""The noise floor of a run: placebos are built and measured before anything else."""

from __future__ import annotations

from linesmith.analyzer.model import Variant
from linesmith.tuner.tuning.assessment import Course, measured
from linesmith.tuner.tuning.blocks import Purpose
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.judgement import Judge
from linesmith.tuner.tuning.laboratory import Laboratory
from linesmith.tuner.tuning.rig import Rig
from linesmith.tuner.tuning.variants import PLACEBO, keep_variant


async def calibrated(lab: Laboratory, rig: Rig) -> Judge:
    """The rig's judge, who knows what equal layouts differ by. Raises ``BaselineFailed`` and ``DiskFull``."""
    course = Course(rig, rig.judge, Purpose.NOISE, lambda: lab.narration.left > 0, lab.slots)
    placebos = tuple(Variant(f"{PLACEBO}-{salt}", salt=salt) for salt in range(1, rig.judge.rules.placebos + 1))
    for placebo in placebos:
        with lab.run.journal.transaction():
            keep_variant(lab.run.journal, placebo)
        if failure := await measured(lab, course, placebo):
            remark(lab.run.journal, f"{placebo.name} shows no noise floor: {failure.kind}: {failure.reason}")
    samples = lab.stage_samples(course.stage)
    return rig.judge.with_floors(samples, [one.name for one in placebos]) if samples else rig.judge


def remark(journal: Journal, sentence: str) -> None:
    """Keep what a reader of the result must know, once."""
    with journal.transaction():
        journal.write("INSERT OR IGNORE INTO remarks (sentence) VALUES (?)", (sentence,))
