# SPDX-License-Identifier: GPL-2.0-or-later
"""The last part of a run: the best variants on fresh samples, so that nobody's luck is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from linesmith.analyzer.model import Comparison, Failure, Variant
from linesmith.tuner.judge.ranking import winner
from linesmith.tuner.tuning.assessment import Course, assessed
from linesmith.tuner.tuning.blocks import Purpose
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.judgement import Judge
from linesmith.tuner.tuning.laboratory import Laboratory
from linesmith.tuner.tuning.noise import remark
from linesmith.tuner.tuning.result import BEST, FINISHED
from linesmith.tuner.tuning.rig import Rig
from linesmith.tuner.tuning.terms import keep_terms, kept_terms
from linesmith.tuner.tuning.variants import efforts_of


async def confirm(
    lab: Laboratory, rig: Rig, judge: Judge, finalists: Sequence[Variant]
) -> dict[str, tuple[Comparison, ...] | Failure]:
    """Fresh comparisons of each finalist, none when there was no time, or how it failed.

    Raises ``BaselineFailed`` and ``DiskFull``.
    """
    keep_terms(lab.run.journal, replace(kept_terms(lab.run.journal), confirmed=len(finalists)))
    sharing = replace(judge, variants=len(finalists))
    course = Course(rig, sharing, Purpose.CONFIRMATION, lambda: lab.narration.left > 0, lab.slots)
    outcomes = await asyncio.gather(*(assessed(lab, course, one) for one in finalists))
    for variant, outcome in zip(finalists, outcomes, strict=True):
        if not outcome:
            remark(lab.run.journal, f"the time was over before {variant.name} could be confirmed")
    return {variant.name: outcome for variant, outcome in zip(finalists, outcomes, strict=True)}


def finish(journal: Journal, confirmed: Mapping[str, tuple[Comparison, ...] | Failure]) -> None:
    """Keep what came out; the run is over."""
    compared = [one for outcome in confirmed.values() if not isinstance(outcome, Failure) for one in outcome]
    with journal.transaction():
        journal.keep_note(BEST, winner(compared, efforts_of(journal)) or "")
        journal.keep_note(FINISHED, "yes")
