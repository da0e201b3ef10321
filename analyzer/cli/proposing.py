# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from findings to what ``suggest`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.report.suggested import Proposed, Suggested
from linesmith.tuner.steps.step_table import step_tables
from linesmith.tuner.suggestions import first_candidates, suggestions

if TYPE_CHECKING:
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.layouts import Layouts
    from linesmith.analyzer.model import Sharded, Simulation
    from linesmith.tuner.premises import Premises
    from linesmith.tuner.suggestions import Suggestion


def suggested(
    found: Analysis, premises: Premises, limit: int | None, trace: Path | None, sharded: Sharded | None
) -> Suggested:
    """What can be done about each line; raises ``NothingToSuggest`` where that is nothing, and what a replay raises."""
    layouts = found.reading.layouts
    answers = suggestions(found.findings, layouts, premises=premises)
    answers = first_candidates(answers, limit) if limit else answers
    return Suggested(
        found.reading.identity,
        found.profile.source,
        layouts,
        tuple(_proposed(one, layouts) for one in answers),
        found.findings,
        premises.kernel.machine if premises.kernel else None,
        _simulations(answers, found, trace) if trace else {},
        sharded,
    )


def _proposed(one: Suggestion, layouts: Layouts) -> Proposed:
    steps = tuple(step_tables(one.finding, candidate, layouts) for candidate in one.candidates)
    return Proposed(one.finding, one.candidates, steps, one.refusal, one.declined)


def _simulations(answers: Sequence[Suggestion], found: Analysis, trace: Path) -> dict[int, Simulation]:
    """Each candidate replayed on ``trace``; the replayer is loaded by those who ask for it only."""
    from linesmith.tuner.simulated import simulate

    return simulate(answers, found.profile.areas, found.reading.layouts, trace)


def check_number(number: int, offered: int) -> None:
    """Raise ``NothingToSuggest`` where there are not so many candidates."""
    if number > offered:
        message = f"there are only {offered} candidates, so there is no --candidate {number}; see `linesmith suggest`"
        raise NothingToSuggest(message)
