# SPDX-License-Identifier: GPL-2.0-or-later
"""What a trial shows, in one word."""

from __future__ import annotations

from enum import StrEnum

from fixes.judgement import Cost, change
from fixes.scenario import Answer
from fixes.trial import Trial, Tried

# The human's change must save so much of the misses for a scenario to show that it does.
LEAST_SAVED = 0.02


class Verdict(StrEnum):
    """How far the tool got; the first four are what is asked of it."""

    RECOMMENDED = "recommended"
    IN_SET = "in the set"
    LEFT_ALONE = "left alone, as it should be"
    ADVISED = "the structure, as it should be"
    MISSED = "missed"
    NO_CANDIDATE = "no candidate"
    MEDDLED = "recommends a change where none helps"
    NOT_ADVISED = "does not advise to change the structure"
    UNSHOWN = "not shown by the scenario"

    @property
    def found(self) -> bool:
        """Whether the tool gave the answer."""
        return self in (Verdict.RECOMMENDED, Verdict.IN_SET, Verdict.LEFT_ALONE, Verdict.ADVISED)


def verdict(trial: Trial) -> Verdict:
    """The verdict of one trial."""
    if trial.scenario.answer is Answer.STRUCTURE:
        if trial.recommended is not None and change(trial.now, trial.recommended.cost) >= LEAST_SAVED:
            return Verdict.MEDDLED
        return Verdict.ADVISED if trial.scenario.advice in trial.advice else Verdict.NOT_ADVISED
    if trial.scenario.answer is Answer.NONE:
        return Verdict.MEDDLED if trial.recommended else Verdict.LEFT_ALONE
    if trial.human is None or -change(trial.now, trial.human) < LEAST_SAVED:
        return Verdict.UNSHOWN
    if trial.recommended is not None and trial.recommended.good:
        return Verdict.RECOMMENDED
    if any(one.good for one in trial.tried):
        return Verdict.IN_SET
    return Verdict.MISSED if trial.tried else Verdict.NO_CANDIDATE


def best(trial: Trial) -> Tried | None:
    """The candidate with the fewest misses, the recommended one among equals."""
    return min(trial.tried, key=lambda one: (one.cost.misses, not one.recommended), default=None)


def told(cost: Cost | None, now: Cost) -> str:
    """The change of misses, and memory where it changes."""
    if cost is None:
        return "-"
    memory = "" if cost.size == now.size else f", {now.size} -> {cost.size} bytes"
    pages = "" if cost.pages == now.pages else f", {now.pages} -> {cost.pages} pages"
    return f"{100 * change(now, cost):+.1f} %{memory}{pages}"
