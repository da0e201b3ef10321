# SPDX-License-Identifier: GPL-2.0-or-later
"""Fits a draw: how often each touch is made, so that a simulated report of the run has the samples of the profile.

The report is simulated as ``perf c2c record`` takes samples: loads where they are slow, and stores wherever they go. A
touch that shows too seldom is made more often, and the other way round, until the counts agree (iterative proportional
fitting; Deming and Stephan, Annals of Mathematical Statistics 11, 1940). Where the profile says which touches missed,
those that miss too often in the run come later in their turn, and CPUs give way less often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.tuner.reconstruction.draw import Draw, DrawnTask
from linesmith.tuner.reconstruction.sampled import Evidence, SampledTouch, TouchKind
from linesmith.tuner.replay.replayer import MadeRun, RunStep, RunTask, SiteCounts

ROUNDS = 14
TRIAL_ACCESSES = 6_000
ACCESSES = 20_000
# How far one round goes towards the rate that would give the counts if nothing else changed.
STEP = 0.7
# The same of the place in a turn, for each touch that misses though it should not.
PLACE_STEP = 0.4
MOST_OFTEN = 8.0
LEAST_OFTEN = 1e-4
LEAST_HANDOVER = 0.003


@dataclass(slots=True)
class _Fit:
    """What the fit changes: rates and places in a turn by touch, and how likely another CPU goes on."""

    rates: list[float]
    late: list[float]
    handover: float


@dataclass(frozen=True, slots=True)
class FittedRun:
    """A run, and how far its report is from the profile: a mean of squares, 1 where chance alone is between them."""

    run: MadeRun
    misfit: float


def fitted(draw: Draw, evidence: Evidence) -> FittedRun:
    """The run of a draw."""
    fit = _Fit([max(*target, 0.3) for target in draw.targets], [*draw.late], draw.handover)
    for number in range(ROUNDS):
        counts = _run(draw, evidence, fit, TRIAL_ACCESSES, number).counts(len(evidence.touches))
        shown = _shown(counts, evidence, draw)
        for at, one in enumerate(evidence.touches):
            fit.rates[at] = _next_rate(fit.rates[at], one, draw.targets[at], shown[at])
            fit.late[at] += PLACE_STEP * _too_early(one, counts[at], evidence.exact)
        fit.handover = _next_handover(fit.handover, counts, evidence)
    run = _run(draw, evidence, fit, ACCESSES, ROUNDS)
    return FittedRun(run, _misfit(draw, evidence, _shown(run.counts(len(evidence.touches)), evidence, draw)))


def _run(draw: Draw, evidence: Evidence, fit: _Fit, accesses: int, number: int) -> MadeRun:
    tasks = [_task(task, evidence, fit) for task in draw.tasks]
    ending = max(draw.ending, fit.handover)
    return MadeRun(evidence.nodes, tasks, fit.handover, ending, accesses, draw.seed * (ROUNDS + 1) + number)


def _task(task: DrawnTask, evidence: Evidence, fit: _Fit) -> RunTask:
    each = max(fit.rates[one] for one in task.touches) / task.often
    steps = []
    for number in sorted(task.touches, key=fit.late.__getitem__):
        one = evidence.touches[number]
        often = min(max(fit.rates[number] / each, LEAST_OFTEN), MOST_OFTEN)
        steps.append(RunStep(one.address, one.width, int(one.kind), number, often))
    return RunTask(task.cpus, each / len(task.cpus), 0, tuple(steps))


# Expected samples of a touch: loads, stores.
_Shown = tuple[float, float]


def _shown(counted: Sequence[SiteCounts], evidence: Evidence, draw: Draw) -> list[_Shown]:
    """The samples that a report would have of each touch, as many in all as the profile has."""
    found: list[_Shown] = []
    for one, counts in zip(evidence.touches, counted, strict=True):
        slow = counts.missed + counts.shadowed if evidence.exact else counts.modified
        loads = slow if one.kind is TouchKind.LOAD or (one.kind is TouchKind.ATOMIC and not evidence.exact) else 0
        found.append((float(loads), counts.total * draw.per_store if one.kind is not TouchKind.LOAD else 0.0))
    samples = sum(loads + stores for loads, stores in draw.targets)
    together = sum(loads + stores for loads, stores in found)
    scale = samples / together if together else 1.0
    return [(loads * scale, stores * scale) for loads, stores in found]


def _next_rate(rate: float, touch: SampledTouch, target: tuple[float, float], shown: _Shown) -> float:
    if not touch.sampled:
        # Nothing was seen of it: it may be made as often as leaves it unseen.
        expected = 0.0 if touch.quiet else shown[0] + shown[1]
        return rate if expected <= 1 else rate / expected**STEP
    stored = touch.kind is not TouchKind.LOAD and touch.stores is not None
    ratio = (target[stored] + 0.5) / (shown[stored] + 0.5)
    return float(rate * min(max(ratio, 0.1), 10.0) ** STEP)


def _too_early(touch: SampledTouch, counts: SiteCounts, exact: bool) -> float:
    """By how much of its accesses a touch misses more than in the profile; below 0 where it misses less."""
    total = _could_miss(touch, counts, exact)
    if touch.missed is None or not total or not touch.weight:
        return 0.0
    return counts.missed / total - min(touch.missed / touch.weight, 1.0)


def _could_miss(touch: SampledTouch, counts: SiteCounts, exact: bool) -> int:
    """Accesses among which the profile counts those that missed."""
    return counts.missed + counts.shadowed if exact and touch.kind is TouchKind.LOAD else counts.total


def _next_handover(handover: float, counted: Sequence[SiteCounts], evidence: Evidence) -> float:
    """Less often where more accesses missed than did in the profile."""
    if evidence.missing is None:
        return handover
    known = [pair for pair in zip(evidence.touches, counted, strict=True) if pair[0].missed is not None]
    total = sum(_could_miss(one, counts, evidence.exact) for one, counts in known)
    missed = sum(counts.missed for _, counts in known)
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
