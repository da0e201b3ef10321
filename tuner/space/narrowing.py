# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps a space small: of too many choices, those go first that alone are predicted worst."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import Candidate
from linesmith.tuner.space.composition import Choice, composed
from linesmith.tuner.space.dimensions import Decision, assigned
from linesmith.tuner.space.estimate import estimate
from linesmith.tuner.space.hot_record import HotRecord

# Points of a space, the illegal ones included.
MOST_POINTS = 600
# What a choice counts for that is not legal alone: it may be in company.
_UNKNOWN = 1.0


def narrowed(
    record: HotRecord, made: Sequence[Decision], suggested: Sequence[Sequence[Candidate]], growth: int
) -> tuple[Decision, ...]:
    """The decisions with so few choices that there are at most ``MOST_POINTS`` points.

    Large decisions lose a choice first, those of colder members before; in each, what ``suggested`` chooses goes last.
    """
    kept = {item for group in suggested for one in group for item in assigned(record, one).items()}
    ranked = [_ranked(record, decision, growth, kept) for decision in made]
    while prod(len(choices) for choices in ranked) > MOST_POINTS:
        poorest = max(range(len(ranked)), key=lambda number: _burden(number, len(ranked[number])))
        ranked[poorest] = ranked[poorest][:-1]
    named = zip(made, ranked, strict=True)
    return tuple(_in_order(decision, choices) for decision, choices in named if len(choices) > 1)


def _burden(number: int, choices: int) -> tuple[float, int]:
    """What makes a decision lose a choice: to have many, and to be of a colder member than others."""
    return choices * (1 + number / 2) if choices > 1 else 0.0, number


def _in_order(decision: Decision, choices: Sequence[Choice]) -> Decision:
    return Decision(decision.name, tuple(choice for choice in decision.choices if choice in choices))


def _ranked(record: HotRecord, decision: Decision, growth: int, kept: set[tuple[str, Choice]]) -> list[Choice]:
    """The choices by worth: as it is, those suggested, then those predicted best alone."""
    now, *others = decision.choices
    return [now, *sorted(others, key=lambda one: ((decision.name, one) not in kept, _alone(record, one, growth)))]


def _alone(record: HotRecord, choice: Choice, growth: int) -> float:
    try:
        return estimate(record, composed(record.subject, [choice], growth))
    except NothingToSuggest:
        return _UNKNOWN
