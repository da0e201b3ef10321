# SPDX-License-Identifier: GPL-2.0-or-later
"""The answers of a ladder as evidence for a model: what was measured, and what cheaper rungs guess."""

from __future__ import annotations

from linesmith.analyzer.model import FailureKind, Point, Told
from linesmith.plugins.optimizers.forecast import DEVIATIONS, Observation
from linesmith.plugins.optimizers.ladder import Ladder

# Failures that say nothing of the layout.
ACCIDENTS = frozenset(
    (FailureKind.WORKER, FailureKind.DISK_FULL, FailureKind.KILLED, FailureKind.RECORDING, FailureKind.OTHER)
)
# How sure it is that what failed once is as bad as the worst.
_FAILED = 0.1


def guesses(ladder: Ladder) -> dict[Point, float]:
    """What the uppermost cheap rung that judged a point said of it."""
    cheap = ladder.answers[: ladder.first_costly]
    return {point: one.cost for answers in cheap for point, one in answers.items() if one.cost is not None}


def answered(ladder: Ladder) -> list[Observation]:
    """The baseline and the answers of the first costly rung; a failure counts as the worst cost seen.

    A failure that was an accident counts as nothing.
    """
    answers = ladder.answers[ladder.first_costly].values()
    seen = [Observation(ladder.space.start, 1.0, 0.0)]
    seen += [Observation(one.point, one.cost, one.spread / DEVIATIONS) for one in answers if one.cost is not None]
    worst = max(one.cost for one in seen)
    return seen + [Observation(one.point, worst, _FAILED) for one in answers if _is_bad(one)]


def awaited(ladder: Ladder) -> list[Point]:
    """Points that the first costly rung is judging."""
    return [ask.point for ask in ladder.pending if ask.rung == ladder.first_costly]


def _is_bad(answer: Told) -> bool:
    return answer.cost is None and (answer.failure is None or answer.failure.kind not in ACCIDENTS)
