# SPDX-License-Identifier: GPL-2.0-or-later
"""Finished trials in the journal: told to a new search in their order, they bring it to where the last one was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linesmith.analyzer.model import Comparison, Failure, Fidelity, Trial
from linesmith.tuner.judge.ranking import cost
from linesmith.tuner.tuning.encoding import decoded, encoded
from linesmith.tuner.tuning.journal import Journal, Row

_INSERT = (
    "INSERT INTO trials (number, subject, point, fidelity, variant, moves, cost, spread, failure, seconds) "
    "VALUES ((SELECT coalesce(max(number), 0) + 1 FROM trials), ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT = "SELECT number, point, fidelity, variant, moves, cost, spread, failure, seconds FROM trials ORDER BY number"


def keep_trial(journal: Journal, trial: Trial) -> None:
    """Within a transaction: number a trial and keep it; a second one of its point on its rung cannot be kept."""
    failure = None if trial.failure is None else encoded(trial.failure)
    point = encoded(trial.point)
    judged = (point if trial.point else trial.variant, point, trial.fidelity)
    what = (trial.variant or None, encoded(trial.moves))
    journal.write(_INSERT, (*judged, *what, trial.cost, trial.spread, failure, trial.seconds))


def trial_of(trial: Trial, outcome: Sequence[Comparison] | Failure) -> Trial:
    """The trial with what the judge says of its variant, as a ratio to the baseline, or with its failure."""
    if isinstance(outcome, Failure):
        return replace(trial, failure=outcome)
    found, spread = cost(outcome)
    return replace(trial, cost=found, spread=spread)


def trials(journal: Journal) -> tuple[Trial, ...]:
    """All finished trials in the order in which they were told."""
    return tuple(_trial(row) for row in journal.rows(_SELECT))


def _trial(row: Row) -> Trial:
    number, point, fidelity, variant, moves, cost, spread, failure, seconds = row
    return Trial(
        number=int(number or 0),
        variant=str(variant or ""),
        moves=decoded(moves, tuple[str, ...]),
        fidelity=Fidelity(str(fidelity)),
        point=decoded(point, tuple[int, ...]),
        cost=None if cost is None else float(cost),
        spread=float(spread or 0.0),
        failure=None if failure is None else decoded(failure, Failure),
        seconds=float(seconds or 0.0),
    )
