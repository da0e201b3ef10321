# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's result, read from its journal: at its end, in its midst, or after it was killed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.errors import BenchmarkNonsense
from linesmith.analyzer.model import Comparison, Fidelity, Result
from linesmith.tuner.tuning.advice import advice
from linesmith.tuner.tuning.blocks import Block, Purpose, Stage, blocks
from linesmith.tuner.tuning.builds import builds
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.judgement import Judge
from linesmith.tuner.tuning.run_directory import journal_of
from linesmith.tuner.tuning.terms import Terms, kept_terms
from linesmith.tuner.tuning.trials import trials
from linesmith.tuner.tuning.variants import BASELINE, variants

FINISHED = "finished"
BEST = "best"


def read_result(path: Path) -> Result:
    """What the run in the directory ``path`` has found so far; the run may be in progress. Raises ``JournalError``."""
    journal = Journal.read(journal_of(path))
    try:
        return result_of(journal, path)
    finally:
        journal.close()


def result_of(journal: Journal, path: Path) -> Result:
    """What the journal of the run directory ``path`` says."""
    terms, measured = kept_terms(journal), blocks(journal)
    return Result(
        title=terms.title,
        baseline=BASELINE.name,
        trials=trials(journal),
        confirmed=_compared(terms, measured, Purpose.CONFIRMATION),
        explored=_compared(terms, measured, Purpose.SEARCH),
        noise=_noise(terms, measured),
        best=journal.note(BEST) or None,
        builds=builds(journal),
        samples=tuple(sample for block in measured for sample in block.samples),
        patches=_patches(journal, path),
        facts=tuple((str(name), str(value)) for name, value in journal.rows("SELECT name, value FROM facts")),
        remarks=tuple(str(said) for (said,) in journal.rows("SELECT sentence FROM remarks ORDER BY number")),
        finished=journal.note(FINISHED) is not None,
        seconds=journal.seconds,
        confirming=_confirming(measured),
        advice=_advice(journal, terms, measured),
    )


def comparisons(terms: Terms, measured: Sequence[Block], stage: Stage) -> tuple[Comparison, ...]:
    """All variants of a stage that never failed in it, against the baseline, with the noise seen on the same rung."""
    judge = _with_floors(terms, measured, stage)
    found: list[Comparison] = []
    failed = {one.variant for one in measured if one.stage == stage and one.failure is not None}
    for variant in dict.fromkeys(one.variant for one in measured if one.stage == stage and one.variant not in failed):
        samples = [sample for one in measured if (one.stage, one.variant) == (stage, variant) for sample in one.samples]
        try:
            found += judge.comparisons(samples, variant) if samples else ()
        except BenchmarkNonsense:
            continue  # its trial has failed for this
    return tuple(found)


def _compared(terms: Terms, measured: Sequence[Block], purpose: Purpose) -> tuple[Comparison, ...]:
    return tuple(one for fidelity in terms.fidelities for one in comparisons(terms, measured, Stage(fidelity, purpose)))


def _advice(journal: Journal, terms: Terms, measured: Sequence[Block]) -> tuple[str, ...]:
    """What would decide; nothing while the run goes on."""
    if journal.note(FINISHED) is None:
        return ()
    stages = (Stage(fidelity, Purpose.CONFIRMATION) for fidelity in terms.fidelities)
    return tuple(
        said
        for stage in stages
        for said in advice(comparisons(terms, measured, stage), terms.rules, _spent(measured, stage), journal.seconds)
    )


def _spent(measured: Sequence[Block], stage: Stage) -> float:
    """What a block of the stage took, in seconds."""
    seconds = [one.seconds for one in measured if one.stage == stage]
    return sum(seconds) / len(seconds) if seconds else 0.0


def _confirming(measured: Sequence[Block]) -> tuple[int, ...]:
    fresh = (one for one in measured if one.stage.purpose is Purpose.CONFIRMATION)
    return tuple(sorted({sample.block for one in fresh for sample in one.samples}))


def _noise(terms: Terms, measured: Sequence[Block]) -> tuple[Comparison, ...]:
    return tuple(one for fidelity in terms.fidelities for one in _noise_of(terms, measured, fidelity))


def _noise_of(terms: Terms, measured: Sequence[Block], fidelity: Fidelity) -> tuple[Comparison, ...]:
    stage = Stage(fidelity, Purpose.NOISE)
    own = [one for one in measured if one.stage == stage]
    placebos = tuple(dict.fromkeys(one.variant for one in own))
    return terms.judge(stage).noise([sample for one in own for sample in one.samples], placebos) if own else ()


def _with_floors(terms: Terms, measured: Sequence[Block], stage: Stage) -> Judge:
    own = [one for one in measured if one.stage == Stage(stage.fidelity, Purpose.NOISE)]
    samples = [sample for one in own for sample in one.samples]
    judge = terms.judge(stage)
    return judge.with_floors(samples, tuple(dict.fromkeys(one.variant for one in own))) if samples else judge


def _patches(journal: Journal, path: Path) -> tuple[tuple[str, str], ...]:
    named = ((one.name, f"patches/{one.name}.patch") for one in variants(journal) if one.patches)
    return tuple((name, file) for name, file in named if (path / file).is_file())
