# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from findings to what ``suggest`` shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.cli.analysis import beside
from linesmith.analyzer.cli.remarks import remark
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model.candidate_name import candidate_name
from linesmith.analyzer.report.moves import change
from linesmith.analyzer.report.suggested import Proposed, Suggested
from linesmith.tuner.cost.replayed_saving import replayed_saving
from linesmith.tuner.steps.step_table import step_tables
from linesmith.tuner.structure.advise import advise
from linesmith.tuner.suggestions import Suggestion, answers, first_candidates, reasons

if TYPE_CHECKING:
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.layouts import Layouts
    from linesmith.analyzer.model import Candidate, ReplayedSaving, Sharded, Simulation, StructuralAdvice
    from linesmith.tuner.premises import Premises


@dataclass(frozen=True, slots=True)
class Offered:
    """The answers for each line, and their candidates' simulations by number, where a trace was replayed."""

    answers: tuple[Suggestion, ...]
    simulations: Mapping[int, Simulation]


def offered(found: Analysis, premises: Premises, trace: Path | None) -> Offered:
    """What ``suggest`` shows and ``patch`` takes, numbered alike; raises what the replay raises."""
    layouts = found.reading.layouts
    given = answers(found.findings, layouts, premises=replace(premises, beside=beside(found), accesses=found.accesses))
    if trace is None:
        return Offered(given, {})
    # The replayer is loaded by those who ask for it only.
    from linesmith.tuner.replayed_choice import replayed_choice
    from linesmith.tuner.simulated import simulate

    simulations = simulate(given, found.profile.areas, layouts, trace)
    return Offered(replayed_choice(given, simulations), simulations)


def free_candidates(found: Analysis, premises: Premises, trace: Path | None) -> tuple[Candidate, ...]:
    """All candidates that there would be if nothing were known of the source."""
    from linesmith.analyzer.model import NO_FACTS

    made = offered(found, replace(premises, facts=NO_FACTS), trace)
    return tuple(candidate for answer in made.answers for candidate in answer.candidates)


def suggested(
    found: Analysis, premises: Premises, limit: int | None, trace: Path | None, sharded: Sharded | None
) -> Suggested:
    """What can be done about each line, and what beside moving members.

    Raises ``NothingToSuggest`` where neither is known of any line, and what a replay raises.
    """
    made = offered(found, premises, trace)
    told = _told(found, premises, made, trace, sharded, limit)
    if not any(line.candidates or line.advice for line in told.lines):
        raise NothingToSuggest(reasons(made.answers))
    return told


def whatever_is_suggested(found: Analysis, premises: Premises, trace: Path | None) -> Suggested:
    """The same, also where that is nothing; raises what a replay raises."""
    return _told(found, premises, offered(found, premises, trace), trace)


def _told(
    found: Analysis,
    premises: Premises,
    made: Offered,
    trace: Path | None,
    sharded: Sharded | None = None,
    limit: int | None = None,
) -> Suggested:
    given = first_candidates(made.answers, limit) if limit else made.answers
    return Suggested(
        found.reading.identity,
        found.profile.source,
        found.reading.layouts,
        tuple(_lines(given, _advice(found, premises, trace), found)),
        found.findings,
        premises.kernel.machine if premises.kernel else None,
        made.simulations,
        dict(_replayed(made)),
        sharded,
    )


def _replayed(made: Offered) -> Iterator[tuple[int, ReplayedSaving]]:
    """How far each prediction is from its replay, by the candidate's number."""
    candidates = (candidate for answer in made.answers for candidate in answer.candidates)
    for number, candidate in enumerate(candidates, start=1):
        simulation = made.simulations.get(number)
        apart = replayed_saving(candidate.saving, simulation) if simulation else None
        if apart is not None:
            yield number, apart


def _advice(found: Analysis, premises: Premises, trace: Path | None) -> dict[int, tuple[StructuralAdvice, ...]]:
    """Structural advice by the rank of the line, each piece once, at the hottest line it holds for."""
    layouts = found.reading.layouts
    advised = advise(found.findings, layouts, premises, found.accesses)
    if trace is not None:
        from linesmith.tuner.structure.replayed import with_gains

        advised = with_gains(advised, found.profile.areas, layouts, trace, found.accesses)
    return {one.finding.rank: one.advice for one in advised}


def _lines(
    given: Sequence[Suggestion], advice: Mapping[int, tuple[StructuralAdvice, ...]], found: Analysis
) -> Iterator[Proposed]:
    """The lines in the order of the findings: those with an answer, and others with advice."""
    answered = {one.finding.rank: one for one in given}
    for finding in found.findings:
        told = advice.get(finding.rank, ())
        if (answer := answered.get(finding.rank)) is not None:
            yield _proposed(answer, told, found.reading.layouts)
        elif told:
            yield Proposed(finding, advice=told)


def _proposed(one: Suggestion, advice: tuple[StructuralAdvice, ...], layouts: Layouts) -> Proposed:
    steps = tuple(step_tables(one.finding, candidate, layouts) for candidate in one.candidates)
    return Proposed(one.finding, one.candidates, steps, one.refusal, one.declined, advice)


def tell_choice(candidate: Candidate) -> None:
    """Say which candidate is taken."""
    remark(f"takes candidate {candidate_name(candidate)} of `linesmith suggest`: {change(candidate)}")
