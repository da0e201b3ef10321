# SPDX-License-Identifier: GPL-2.0-or-later
"""The answers of a ladder as evidence for a model: what was measured, and what cheaper rungs guess."""

from __future__ import annotations

from linesmith.analyzer.model import FailureKind, Point, Told
from linesmith.plugins.optimizers.effects import DEVIATIONS, Effects, Observation
from linesmith.plugins.optimizers.ladder import Ladder

# Failures that say nothing of the layout.
ACCIDENTS = frozenset((FailureKind.WORKER, FailureKind.DISK_FULL, FailureKind.KILLED))
# How sure it is that what failed once is as bad as the worst.
_FAILED = 0.1


def guesses(ladder: Ladder) -> dict[Point, float]:
    """What the uppermost cheap rung that judged a point said of it."""
    cheap = ladder.answers[: ladder.first_costly]
    return {point: one.cost for answers in cheap for point, one in answers.items() if one.cost is not None}


def observations(ladder: Ladder, hints: dict[Point, float]) -> list[Observation]:
    """The baseline and the answers of the first costly rung; what is under way counts as it is expected to end.

    A failure counts as the worst cost seen, unless it was an accident.
    """
    answers = ladder.answers[ladder.first_costly].values()
    seen = [Observation(ladder.space.start, 1.0, 0.0)]
    seen += [Observation(one.point, one.cost, one.spread / DEVIATIONS) for one in answers if one.cost is not None]
    worst = max(one.cost for one in seen)
    seen += [Observation(one.point, worst, _FAILED) for one in answers if _is_bad(one)]
    coming = [ask.point for ask in ladder.pending if ask.rung == ladder.first_costly]
    if not coming:
        return seen
    found = Effects(seen, hints).forecast(coming)
    return seen + [Observation(*one) for one in zip(coming, found.cost, found.deviation, strict=True)]


def _is_bad(answer: Told) -> bool:
    return answer.cost is None and (answer.failure is None or answer.failure.kind not in ACCIDENTS)
