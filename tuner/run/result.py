# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's result, read from its journal: at its end, in its midst, or after it was killed.

The terms on which a run is judged are in its journal too, so that no plan and no plugin is needed. Where measuring
could not decide, the result says what would: more time, more blocks, or less noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import BenchmarkNonsense, JournalError, NothingToSuggest
from linesmith.analyzer.model import Built, Comparison, Evidence, Fidelity, Result, Rules, Sample, VerdictKind
from linesmith.tuner.judge.ranking import MOST_FORESEEN, blocks_needed
from linesmith.tuner.judge.verdict import NOISY
from linesmith.tuner.run.evidence import RECORDED, RunProfile, plan_of, planned_profile
from linesmith.tuner.run.journal import (
    BASELINE,
    BlockStage,
    Journal,
    MeasuredBlock,
    Purpose,
    decoded,
    encoded,
    journal_of,
)
from linesmith.tuner.run.judgement import Judge, Measure, searching
from linesmith.tuner.run.simulated import product_of

_NOTE = "terms"
FINISHED = "finished"
BEST = "best"
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run is called, its ``rules``, what decides on each upper rung that it uses, and how many are confirmed."""

    title: str
    rules: Rules
    measures: tuple[tuple[Fidelity, tuple[Measure, ...]], ...] = ()
    confirmed: int = 1

    @property
    def fidelities(self) -> tuple[Fidelity, ...]:
        """The upper rungs, the highest last."""
        return tuple(fidelity for fidelity, _ in self.measures)

    def judge(self, stage: BlockStage) -> Judge:
        """Who compares what was measured in a stage; no noise floor is known yet."""
        rules = searching(self.rules) if stage.purpose is Purpose.SEARCH else self.rules
        variants = self.confirmed if stage.purpose is Purpose.CONFIRMATION else 1
        return Judge(dict(self.measures)[stage.fidelity], BASELINE.name, rules, variants=variants)

    def comparisons(self, measured: Sequence[MeasuredBlock], stage: BlockStage) -> tuple[Comparison, ...]:
        """All variants of a stage that never failed in it, against the baseline, with the noise seen on its rung."""
        judge, placebos = self.judge(stage), _in_stage(measured, BlockStage(stage.fidelity, Purpose.NOISE))
        if any(one.samples for one in placebos):
            judge = judge.with_floors(_samples(placebos), _variants(placebos))
        found: list[Comparison] = []
        own = _in_stage(measured, stage)
        failed = {one.variant for one in own if one.failure is not None}
        for variant in _variants(own):
            samples = _samples([one for one in own if one.variant == variant])
            if samples and variant not in failed:
                with suppress(BenchmarkNonsense):  # its trial has failed for this
                    found += judge.comparisons(samples, variant)
        return tuple(found)

    def compared(self, measured: Sequence[MeasuredBlock], purpose: Purpose) -> tuple[Comparison, ...]:
        """The comparisons of all fidelities."""
        return tuple(
            one for fidelity in self.fidelities for one in self.comparisons(measured, BlockStage(fidelity, purpose))
        )

    def advice(self, measured: Sequence[MeasuredBlock], spent: float) -> Iterator[str]:
        """What would decide the comparisons that are confirmed; ``spent`` are the seconds of the run."""
        for fidelity in self.fidelities:
            stage = BlockStage(fidelity, Purpose.CONFIRMATION)
            seconds = [one.seconds for one in _in_stage(measured, stage)]
            block = sum(seconds) / len(seconds) if seconds else 0.0
            yield from advice(self.comparisons(measured, stage), self.rules, block, spent)

    def noise(self, measured: Sequence[MeasuredBlock]) -> Iterator[Comparison]:
        """What equal layouts differ by."""
        for fidelity in self.fidelities:
            stage = BlockStage(fidelity, Purpose.NOISE)
            if own := _in_stage(measured, stage):
                yield from self.judge(stage).noise(_samples(own), _variants(own))


def keep_terms(journal: Journal, terms: Terms) -> None:
    """Keep what is known of the terms, in the place of what was known before."""
    with journal.transaction():
        journal.keep_note(_NOTE, encoded(terms))


def terms_of(journal: Journal) -> Terms:
    """The terms of a run; those of one that was ended before anything was measured say nothing."""
    note = journal.note(_NOTE)
    return Terms("", Rules()) if note is None else decoded(note, Terms)


def advice(comparisons: Sequence[Comparison], rules: Rules, block: float, spent: float) -> Iterator[str]:
    """Sentences without their full stop, one for each variant about which nothing could be stated.

    A block takes ``block`` seconds, and the run has taken ``spent`` seconds so far.
    """
    for variant in dict.fromkeys(one.variant for one in comparisons):
        own = [one for one in comparisons if one.variant == variant and one.decides]
        if any(one.verdict is VerdictKind.UNDECIDED for one in own):
            missing = max(rules.least_blocks - one.blocks for one in own)
            yield f"{variant}: the first verdict needs {_more(missing, block, spent)}"
        elif noisy := [one for one in own if one.verdict is VerdictKind.TOO_NOISY and one.error]:
            yield f"{variant}: {_quieter(noisy, rules, block, spent)}"


def _quieter(noisy: Sequence[Comparison], rules: Rules, block: float, spent: float) -> str:
    """How many blocks would do at this noise, and how they, or less of it, are to be had."""
    bearable = max(_bearable(one, rules) for one in noisy)
    needed = max(blocks_needed(one, rules, _bearable(one, rules)) or MOST_FORESEEN + 1 for one in noisy)
    seen = f"detecting changes of {bearable:.0%} at this noise needs"
    if needed <= rules.most_blocks:
        return f"{seen} {_more(needed - min(one.blocks for one in noisy), block, spent)}"
    longer = "let the recorded command do more" if noisy[0].simulated else "let each run of the benchmark take longer"
    if needed > MOST_FORESEEN:
        return f"{seen} more than {MOST_FORESEEN:,} blocks: {longer}, on a quieter machine"
    return (
        f"{seen} about {needed} blocks ({_time(needed * block)}), and `most_blocks` in [judge] is {rules.most_blocks}: "
        f"{longer}, on a quieter machine, or allow more blocks in another run (--machines spreads them over several)"
    )


def _bearable(one: Comparison, rules: Rules) -> float:
    """The reach of an interval that is not too noisy any more."""
    return NOISY * max(rules.smallest, one.floor)


def _more(blocks: int, block: float, spent: float) -> str:
    """So many more blocks, and how to go on for them."""
    minutes = math.ceil((spent + blocks * block) / _MINUTE) + 1
    counted = f"{blocks} more block{'s' * (blocks != 1)}"
    return f"about {counted} ({_time(blocks * block)}): continue with --resume --minutes {minutes}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 2 * _MINUTE else f"{seconds / _MINUTE:,.0f} min"


def read_result(path: Path) -> Result:
    """What the run in the directory ``path`` has found so far; the run may be in progress. Raises ``JournalError``."""
    with closing(Journal.read(journal_of(path))) as journal:
        return result_of(journal, path)


def result_of(journal: Journal, path: Path) -> Result:
    """What the journal of the run directory ``path`` says; what would decide is stated of a run that is finished."""
    terms, measured = terms_of(journal), journal.blocks()
    files = ((one.name, f"patches/{one.name}.patch") for one in journal.variants() if one.patches)
    fresh = (one for one in measured if one.stage.purpose is Purpose.CONFIRMATION)
    finished = journal.note(FINISHED) is not None
    return Result(
        title=terms.title,
        baseline=BASELINE.name,
        trials=journal.trials(),
        confirmed=terms.compared(measured, Purpose.CONFIRMATION),
        explored=terms.compared(measured, Purpose.SEARCH),
        noise=tuple(terms.noise(measured)),
        best=journal.note(BEST) or None,
        builds=journal.builds(),
        samples=tuple(sample for block in measured for sample in block.samples),
        patches=tuple((name, file) for name, file in files if (path / file).is_file()),
        facts=tuple((str(name), str(value)) for name, value in journal.rows("SELECT name, value FROM facts")),
        remarks=tuple(str(said) for (said,) in journal.rows("SELECT sentence FROM remarks ORDER BY number")),
        finished=finished,
        seconds=journal.seconds,
        confirming=tuple(sorted({sample.block for one in fresh for sample in one.samples})),
        advice=tuple(terms.advice(measured, journal.seconds)) if finished else (),
    )


def _in_stage(measured: Sequence[MeasuredBlock], stage: BlockStage) -> list[MeasuredBlock]:
    return [one for one in measured if one.stage == stage]


def _samples(measured: Sequence[MeasuredBlock]) -> list[Sample]:
    return [sample for one in measured for sample in one.samples]


def _variants(measured: Sequence[MeasuredBlock]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.variant for one in measured))


@dataclass(frozen=True, slots=True)
class Winner:
    """The best variant of a finished run: ``before`` and ``after`` are the baseline's ELF file and that of ``name``.

    ``profile`` is what the search went out from, its report ``section``. ``moves`` tell the change in words,
    ``confirmed`` are the comparisons that a verdict on it rests on.
    """

    title: str
    name: str
    before: Path
    after: Path
    profile: Path
    section: int
    moves: tuple[str, ...]
    confirmed: tuple[Comparison, ...]


def winner(run: Path) -> Winner:
    """The best variant of the run in the directory ``run``.

    Raises ``NothingToSuggest`` where none was confirmed better, ``JournalError`` where ``run`` holds no run, went out
    from no profile, or its builds are gone.
    """
    with closing(Journal.read(journal_of(run))) as journal:
        result = result_of(journal, run)
        if result.best is None:
            raise NothingToSuggest(f"{run} has no variant that was confirmed better; see `linesmith report {run}`")
        plan = plan_of(run, journal)
        if plan.evidence is None:
            raise JournalError(f"the run in {run} did not start from a profile; name a profile")
        profile = planned_profile(plan) or RunProfile(run / RECORDED)
        return Winner(
            result.title,
            result.best,
            _product(journal, result.baseline, plan.evidence, run),
            _product(journal, result.best, plan.evidence, run),
            profile.path,
            profile.section,
            journal.moves().get(result.best, ()),
            tuple(one for one in result.confirmed if one.variant == result.best and one.decides),
        )


def _product(journal: Journal, variant: str, evidence: Evidence, run: Path) -> Path:
    built = journal.build_of(variant)
    if not isinstance(built, Built):
        raise JournalError(f"the build of {variant} is no longer in {run}; name the profile instead")
    return product_of(built, evidence)
