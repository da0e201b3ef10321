# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a numbered candidate to a patch, and what is told on the way."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from linesmith.analyzer.cli.analysis import Analysis
from linesmith.analyzer.cli.proposing import check_number, offered
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import Candidate, Finding, Patch, StepTable
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.patches.patch import Draft, Tree, draft, write
from linesmith.tuner.premises import Premises
from linesmith.tuner.steps.step_table import step_tables
from linesmith.tuner.suggestions import Suggestion, reasons


@dataclass(frozen=True, slots=True)
class Chosen:
    """A candidate, its number in the list of ``linesmith suggest``, the finding it answers, and why it helps."""

    number: int
    candidate: Candidate
    finding: Finding
    steps: tuple[StepTable, ...] = ()


def choose(found: Analysis, premises: Premises, trace: Path | None, number: int | None) -> Chosen:
    """The candidate with that number, or the first that is recommended.

    Raises ``NothingToSuggest`` when there are not so many, when none is recommended, and what a replay raises.
    """
    answers = offered(found, premises, trace).answers
    known = [(one, candidate) for one in answers for candidate in one.candidates]
    if not known:
        raise NothingToSuggest(reasons(answers))
    place = _recommended(known) if number is None else number - 1
    check_number(place + 1, len(known))
    answer, candidate = known[place]
    steps = step_tables(answer.finding, candidate, found.reading.layouts)
    return Chosen(place + 1, candidate, answer.finding, steps)


def _recommended(known: Sequence[tuple[Suggestion, Candidate]]) -> int:
    """The place of the first recommended candidate."""
    for place, (_, candidate) in enumerate(known):
        if candidate.recommended:
            return place
    raise NothingToSuggest(f"{known[0][0].declined} `linesmith patch --candidate 1` takes the first all the same")


def drafted(chosen: Chosen, tree: Tree) -> Draft:
    """The candidate as an edit that nothing has confirmed."""
    return draft(chosen.candidate, tree)


def written(chosen: Chosen, tree: Tree) -> Patch:
    """The candidate as a confirmed patch; what is not as expected is told on standard error."""
    patch = write(chosen.candidate, chosen.finding, tree, chosen.number, excerpt, _tell, chosen.steps)
    for note in patch.notes:
        click.echo(f"linesmith: {note}", err=True)
    return patch


def _tell(progress: str) -> None:
    """What takes time is told to a person who waits, not to a log."""
    if sys.stderr.isatty():
        click.echo(progress, err=True)
