# SPDX-License-Identifier: GPL-2.0-or-later
"""A draw: one way in which the sampled functions may work together, of the many that a profile leaves open.

Functions are shared out among tasks. A CPU does a task a turn at a time, and touches in a turn what the task's
functions touch, in one order. How often, the fit finds out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from linesmith.analyzer.attribution.lock import takes_lock, waits_for_lock
from linesmith.tuner.reconstruction.sampled import USUAL_CPUS, Evidence, SampledTouch, TouchKind

# How likely code that no sample shows is reached.
REACHED = 0.5
# How likely a function joins a task that is there.
JOINS = 0.7


@dataclass(frozen=True, slots=True)
class DrawnTask:
    """What ``cpus`` do together in a turn: ``touches`` in order; ``waits`` while another CPU has the lock.

    Both are numbers of touches. ``often`` is how often in a turn the most frequent touch is made. ``lock`` 0 is none.
    """

    cpus: tuple[int, ...]
    touches: tuple[int, ...]
    waits: tuple[int, ...] = ()
    lock: int = 0
    often: float = 1.0


@dataclass(frozen=True, slots=True)
class Draw:
    """The tasks, and what else is not known: ``per_store`` stores are sampled for each load that could be.

    ``handover`` and ``ending`` are where the fit begins. ``targets`` are samples of each touch as another run might
    have them, loads and stores.
    """

    tasks: tuple[DrawnTask, ...]
    handover: float
    ending: float
    per_store: float
    targets: tuple[tuple[float, float], ...]
    seed: int


def drawn(evidence: Evidence, seed: int) -> Draw:
    """The draw with this seed."""
    draw = Random(seed)  # noqa: S311 - repeatable draws, no secret
    used = [
        number
        for number, one in enumerate(evidence.touches)
        if one.sampled or draw.random() < 1 - (1 - REACHED) ** min(one.ways, 4)
    ]
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number in used:
        groups[evidence.touches[number].function, evidence.touches[number].base].append(number)
    tasks: list[list[int]] = []
    for group in groups.values():
        fitting = [task for task in tasks if _fits(evidence, task, group)]
        if fitting and draw.random() < JOINS:
            draw.choice(fitting).extend(group)
        else:
            tasks.append(group)
    targets = tuple(
        (_another(one.hitm, draw, evidence.exact), _another(one.stores or 0.0, draw, evidence.exact))
        for one in evidence.touches
    )
    return Draw(
        tuple(_task(evidence, task, draw) for task in tasks),
        draw.uniform(0.1, 0.6),
        draw.choice((0.0, 0.3, 1.0)),
        1.0 if evidence.exact else draw.lognormvariate(0.0, 0.2),
        targets,
        seed,
    )


def _another(count: float, draw: Random, exact: bool) -> float:
    """The count that another run might have had."""
    return count if exact else draw.gammavariate(count + 0.5, 1.0) if count else 0.0


def _fits(evidence: Evidence, task: Sequence[int], group: Sequence[int]) -> bool:
    """Whether a function touches the same object as the task, and ran on about as many CPUs."""
    one, other = evidence.touches[task[0]], evidence.touches[group[0]]
    first, second = one.cpus or USUAL_CPUS, other.cpus or USUAL_CPUS
    return one.base == other.base and max(first, second) <= 2 * min(first, second)


def _task(evidence: Evidence, numbers: Sequence[int], draw: Random) -> DrawnTask:
    order = {number: _lateness(evidence.touches[number]) + draw.gauss(0.0, 0.3) for number in numbers}
    waiting = {one for one in numbers if waits_for_lock(evidence.touches[one].function)}
    doing = sorted(set(numbers) - waiting or waiting, key=order.__getitem__)
    cpus = max((evidence.touches[number].cpus or USUAL_CPUS for number in numbers), default=USUAL_CPUS)
    return DrawnTask(
        _cpus(cpus, evidence.touches[doing[0]], len(evidence.nodes), draw),
        tuple(doing),
        often=draw.choice((0.5, 1.0, 1.0, 2.0)),
    )


def _lateness(one: SampledTouch) -> float:
    """From 0 to 1: how much it looks like a touch that comes late in its turn, when others have fetched the line."""
    if not one.sampled:
        return 1.0
    if takes_lock(one.function):
        return 0.0
    if one.missed is not None and one.stores:
        return 1 - min(one.missed / one.stores, 1.0)
    return 0.5 if one.kind is TouchKind.LOAD else 0.7


def _cpus(count: int, touch: SampledTouch, there: int, draw: Random) -> tuple[int, ...]:
    """The first ones for who writes; for others the same or those behind."""
    first = 0 if touch.kind or draw.random() < 0.5 else max(there - count, 0)
    return tuple(range(first, min(first + count, there)))
