# SPDX-License-Identifier: GPL-2.0-or-later
"""The best variant of a finished run beside the baseline: their builds, what parts them, what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import JournalError, NothingToSuggest
from linesmith.analyzer.model import Built, Comparison, Evidence, Result
from linesmith.tuner.recording_order import product_of
from linesmith.tuner.tuning.builds import kept_build
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.result import result_of
from linesmith.tuner.tuning.run_directory import journal_of
from linesmith.tuner.tuning.run_profile import RECORDED, RunProfile, plan_of, profile_given
from linesmith.tuner.tuning.variants import moves_of


@dataclass(frozen=True, slots=True)
class Winner:
    """``before`` and ``after`` are the ELF files of the baseline and of the variant called ``name``.

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
    journal = Journal.read(journal_of(run))
    try:
        return _winner(journal, run, result_of(journal, run))
    finally:
        journal.close()


def _winner(journal: Journal, run: Path, result: Result) -> Winner:
    if result.best is None:
        raise NothingToSuggest(f"{run} has no variant that was confirmed better; see `linesmith report {run}`")
    plan = plan_of(run, journal)
    if plan.evidence is None:
        raise JournalError(f"the run in {run} went out from no profile; name a profile instead")
    profile = profile_given(plan) or RunProfile(run / RECORDED)
    return Winner(
        result.title,
        result.best,
        _product(journal, result.baseline, plan.evidence, run),
        _product(journal, result.best, plan.evidence, run),
        profile.path,
        profile.section,
        moves_of(journal).get(result.best, ()),
        _confirmed(result.confirmed, result.best),
    )


def _product(journal: Journal, variant: str, evidence: Evidence, run: Path) -> Path:
    built = kept_build(journal, variant)
    if not isinstance(built, Built):
        raise JournalError(f"the build of {variant} is not in {run} any more; name the profile instead")
    return product_of(built, evidence)


def _confirmed(comparisons: Sequence[Comparison], variant: str) -> tuple[Comparison, ...]:
    return tuple(one for one in comparisons if one.variant == variant and one.decides)
