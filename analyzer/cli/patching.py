# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a numbered candidate to a patch, and what is told on the way."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from linesmith.analyzer.cli.analysis import analyse, with_offsets
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import Candidate, Finding, Patch
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.patches.patch import Draft, Tree, draft, write
from linesmith.tuner.suggestions import suggestions

# As many for each line as `linesmith suggest` shows, so that the numbers agree.
CANDIDATES_OF_A_LINE = 5


@dataclass(frozen=True, slots=True)
class Chosen:
    """A candidate, its number in the list of ``linesmith suggest``, and the finding it answers."""

    number: int
    candidate: Candidate
    finding: Finding


def choose(elf: Path, profile: Path, section: int, type_: str | None, number: int) -> Chosen:
    """The candidate with that number; raises ``NothingToSuggest`` when there are not so many."""
    found = with_offsets(analyse(elf, profile, section, type_))
    answers = suggestions(found.findings, found.reading.layouts, CANDIDATES_OF_A_LINE)
    offered = [(one.finding, candidate) for one in answers for candidate in one.candidates]
    if number > len(offered):
        message = (
            f"there are only {len(offered)} candidates, so there is no --candidate {number}; see `linesmith suggest`"
        )
        raise NothingToSuggest(message)
    finding, candidate = offered[number - 1]
    return Chosen(number, candidate, finding)


def drafted(chosen: Chosen, tree: Tree) -> Draft:
    """The candidate as an edit that nothing has confirmed."""
    return draft(chosen.candidate, tree)


def written(chosen: Chosen, tree: Tree) -> Patch:
    """The candidate as a confirmed patch; what is not as expected is told on standard error."""
    patch = write(chosen.candidate, chosen.finding, tree, chosen.number, excerpt, _tell)
    for note in patch.notes:
        click.echo(f"linesmith: {note}", err=True)
    return patch


def _tell(progress: str) -> None:
    """What takes time is told to a person who waits, not to a log."""
    if sys.stderr.isatty():
        click.echo(progress, err=True)
