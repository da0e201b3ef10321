# SPDX-License-Identifier: GPL-2.0-or-later
"""The ladder of fidelities: each rung judges a point, the cheap ones here and at once, the upper ones by workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from linesmith.analyzer.errors import LinesmithError, NotSimulated, VerificationFailed
from linesmith.analyzer.model import Comparison, Failure, FailureKind, Fidelity, Point, Trial, Variant, VerdictKind
from linesmith.tuner.tuning.assessment import Course, assessed
from linesmith.tuner.tuning.failures import failure_of
from linesmith.tuner.tuning.laboratory import Laboratory
from linesmith.tuner.tuning.points import Points
from linesmith.tuner.tuning.trace_rung import TraceRung
from linesmith.tuner.tuning.trials import trial_of


class Rung(Protocol):
    """One fidelity."""

    @property
    def fidelity(self) -> Fidelity:
        """Which one it is."""

    async def judge(self, point: Point) -> Trial | None:
        """A trial without its number; ``None`` when the time was over before there was an answer.

        Raises ``BaselineFailed``, ``DiskFull``, and what says nothing about the point.
        """


@dataclass(frozen=True, slots=True)
class EstimateRung:
    """What the layout is predicted to cost; it alone says of a point that it is not legal."""

    points: Points
    fidelity: Fidelity = Fidelity.ESTIMATE

    async def judge(self, point: Point) -> Trial:
        """Look the point up."""
        return _told(self.fidelity, point, self.points, lambda: (self.points.proposals.estimate(point), 0.0))


@dataclass(frozen=True, slots=True)
class ReplayRung:
    """What the recorded trace costs under the layout."""

    points: Points
    trace: TraceRung
    fidelity: Fidelity = Fidelity.REPLAY

    async def judge(self, point: Point) -> Trial:
        """Replay the trace; where it cannot tell, it says so: no difference, and a spread as large as all cost."""
        return _told(self.fidelity, point, self.points, lambda: self._cost(point))

    def _cost(self, point: Point) -> tuple[float, float]:
        try:
            (candidate,) = self.points.proposals.candidates(point)
            return self.trace.cost(candidate)
        except (NotSimulated, ValueError):
            return 1.0, 1.0


class BlockRung:
    """What the rebuilt variant costs, simulated or on a machine."""

    def __init__(self, points: Points, lab: Laboratory, course: Course) -> None:
        self.fidelity = course.rig.fidelity
        self._points = points
        self._lab = lab
        self._course = course
        self._measuring: dict[str, asyncio.Task[tuple[Comparison, ...] | Failure]] = {}

    async def judge(self, point: Point) -> Trial | None:
        """Patch, build, look at the layout, and measure until the judge has seen enough."""
        trial = Trial(0, "", self._points.moves(point), self.fidelity, point)
        try:
            variant = self._points.variant(point)
        except LinesmithError as error:
            return _failed(trial, error)
        if variant.name not in self._measuring:
            self._measuring[variant.name] = asyncio.create_task(self._measured(point, variant))
        outcome = _guarded(await self._measuring[variant.name])
        return trial_of(replace(trial, variant=variant.name), outcome) if outcome else None

    async def _measured(self, point: Point, variant: Variant) -> tuple[Comparison, ...] | Failure:
        built = await self._lab.built(variant)
        if isinstance(built, Failure):
            return built
        try:
            self._points.confirm(point, variant, built)
        except VerificationFailed as error:
            return Failure(FailureKind.ILLEGAL, str(error))
        return await assessed(self._lab, self._course, variant)


def _guarded(outcome: tuple[Comparison, ...] | Failure) -> tuple[Comparison, ...] | Failure:
    """The outcome, unless a guard became worse: then nothing that the variant gains counts."""
    if isinstance(outcome, Failure):
        return outcome
    worse = next((one for one in outcome if one.guard and one.verdict is VerdictKind.WORSE), None)
    return outcome if worse is None else Failure(FailureKind.GUARD, f"{worse.benchmark} became worse: {worse.reason}")


def _told(fidelity: Fidelity, point: Point, points: Points, cost: Callable[[], tuple[float, float]]) -> Trial:
    trial = Trial(0, "", points.moves(point), fidelity, point)
    try:
        found, spread = cost()
    except LinesmithError as error:
        return _failed(trial, error)
    return replace(trial, cost=found, spread=spread)


def _failed(trial: Trial, error: LinesmithError) -> Trial:
    failure = failure_of(error)
    if failure is None:
        raise error
    return replace(trial, failure=failure)
