# SPDX-License-Identifier: GPL-2.0-or-later
"""Fits a draw: how often each touch is made, so that a simulated report of the run has the samples of the profile.

The report is simulated as ``perf c2c record`` takes samples: loads where they are slow, and stores wherever they go. A
touch that shows too seldom is made more often, and the other way round, until the counts agree (iterative proportional
fitting; Deming and Stephan, Annals of Mathematical Statistics 11, 1940).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.tuner.reconstruction.draw import Draw, DrawnTask
from linesmith.tuner.reconstruction.sampled import Evidence, SampledTouch, TouchKind
from linesmith.tuner.replay.replayer import MadeRun, RunStep, RunTask, SiteCounts

ROUNDS = 12
TRIAL_ACCESSES = 6_000
ACCESSES = 20_000
# How far one round goes towards the rate that would give the counts if nothing else changed.
STEP = 0.7
MOST_OFTEN = 8.0
LEAST_OFTEN = 1e-4
LEAST_HANDOVER = 0.003


@dataclass(frozen=True, slots=True)
class FittedRun:
    """A run, and how far its report is from the profile: a mean of squares, 1 where chance alone is between them."""

    run: MadeRun
    misfit: float


def fitted(draw: Draw, evidence: Evidence) -> FittedRun:
    """The run of a draw."""
    rates = [_first_rate(one, target) for one, target in zip(evidence.touches, draw.targets, strict=True)]
    handover = draw.handover
    for number in range(ROUNDS):
        run = _run(draw, evidence, rates, handover, TRIAL_ACCESSES, number)
        counts = run.counts(len(evidence.touches))
        shown = _shown(counts, evidence, draw)
        rates = [_next_rate(*row) for row in zip(rates, evidence.touches, draw.targets, shown, strict=True)]
        handover = _next_handover(handover, counts, evidence)
    run = _run(draw, evidence, rates, handover, ACCESSES, ROUNDS)
    return FittedRun(run, _misfit(draw, evidence, _shown(run.counts(len(evidence.touches)), evidence, draw)))


def _first_rate(touch: SampledTouch, target: tuple[float, float]) -> float:
    if touch.done and touch.sampled:
        return touch.done
    return max(target[0] * (1.0 if touch.kind is TouchKind.LOAD else 0.0), target[1], 0.3)


def _run(
    draw: Draw, evidence: Evidence, rates: Sequence[float], handover: float, accesses: int, number: int
) -> MadeRun:
    tasks = [_task(task, evidence, rates) for task in draw.tasks]
    ending = max(draw.ending, handover)
    return MadeRun(evidence.nodes, tasks, handover, ending, accesses, draw.seed * (ROUNDS + 1) + number)


def _task(task: DrawnTask, evidence: Evidence, rates: Sequence[float]) -> RunTask:
    most = max(rates[one] for one in task.touches)
    each = most / task.often

    def steps(touches: Sequence[int]) -> tuple[RunStep, ...]:
        found = []
        for number in touches:
            one = evidence.touches[number]
            often = min(max(rates[number] / each, LEAST_OFTEN), MOST_OFTEN)
            found.append(RunStep(one.address, one.width, int(one.kind), number, often))
        return tuple(found)

    return RunTask(task.cpus, each / len(task.cpus), task.lock, steps(task.touches), steps(task.waits))


# Expected samples of a touch: loads of modified lines, stores.
_Shown = tuple[float, float]


def _shown(counted: Sequence[SiteCounts], evidence: Evidence, draw: Draw) -> list[_Shown]:
    """The samples that a report would have of each touch, as many in all as the profile has."""
    found: list[_Shown] = []
    for one, counts in zip(evidence.touches, counted, strict=True):
        stores = counts.total if one.kind is not TouchKind.LOAD else 0
        modified = counts.modified if one.kind is not TouchKind.STORE else 0
        if evidence.exact:
            modified = counts.total - stores
        found.append((float(modified), stores * draw.per_store))
    targets = [_target(one, target) for one, target in zip(evidence.touches, draw.targets, strict=True)]
    samples = sum(loads + stores for loads, stores in targets)
    together = sum(loads + stores for loads, stores in found)
    scale = samples / together if together else 1.0
    return [(loads * scale, stores * scale) for loads, stores in found]


def _target(touch: SampledTouch, target: tuple[float, float]) -> tuple[float, float]:
    """What the report is to show: of a recording all loads, of samples those of modified lines."""
    if touch.done is not None and touch.sampled and touch.stores is not None and False:
        return touch.done - touch.stores, touch.stores
    return target


def _next_rate(rate: float, touch: SampledTouch, target: tuple[float, float], shown: _Shown) -> float:
    if not touch.sampled:
        # Nothing was seen of it: it may be made as often as leaves it unseen.
        expected = 0.0 if touch.quiet else shown[0] + shown[1]
        return rate if expected <= 1 else rate / expected**STEP
    if touch.kind is not TouchKind.LOAD and touch.stores is not None:
        ratio = (target[1] + 0.5) / (shown[1] + 0.5)
    else:
        ratio = (target[0] + 0.5) / (shown[0] + 0.5)
    return float(rate * min(max(ratio, 0.1), 10.0) ** STEP)


def _next_handover(handover: float, counts: Sequence[SiteCounts], evidence: Evidence) -> float:
    """Less often where more accesses missed than did in the profile."""
    if evidence.missing is None:
        return handover
    known = [
        count
        for one, count in zip(evidence.touches, counts, strict=True)
        if one.sampled and (evidence.exact or (one.missed is not None and one.kind is not TouchKind.LOAD))
    ]
    total = sum(one.total for one in known)
    missed = sum(one.missed + (one.upgrades if evidence.exact else 0) for one in known)
    ratio = (evidence.missing + 0.005) / (missed / max(total, 1) + 0.005)
    return float(min(max(handover * ratio, LEAST_HANDOVER), 1.0))


def _misfit(draw: Draw, evidence: Evidence, shown: Sequence[_Shown]) -> float:
    rows = [
        (found - target) ** 2 / (target + 1 + (0.1 * target) ** 2)
        for touch, targets, founds in zip(evidence.touches, draw.targets, shown, strict=True)
        for target, found in zip(targets, founds, strict=True)
        if touch.sampled
    ]
    return sum(rows) / max(len(rows), 1)
