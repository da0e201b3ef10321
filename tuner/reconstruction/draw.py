# SPDX-License-Identifier: GPL-2.0-or-later
"""A draw: one way in which the sampled functions may work together, of the many that a profile leaves open.

Functions are shared out among tasks. A CPU does a task a turn at a time, and touches in a turn what the task's
functions touch, in one order. How often, and in which order, the fit finds out as far as the profile tells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from linesmith.analyzer.attribution.lock import takes_lock
from linesmith.tuner.reconstruction.sampled import USUAL_CPUS, Evidence, SampledTouch

# How likely code that no sample shows is reached, by each instruction that may do it.
REACHED = 0.5
# Numbers of CPUs that differ by more are of different tasks, where both are known well.
ALIKE = 1.2
WELL_KNOWN = 3


@dataclass(frozen=True, slots=True)
class DrawnTask:
    """What ``cpus`` do together in a turn: ``touches`` by number.

    ``often`` is how often in a turn the most frequent touch is made.
    """

    cpus: tuple[int, ...]
    touches: tuple[int, ...]
    often: float = 1.0


@dataclass(frozen=True, slots=True)
class Draw:
    """The tasks, and what else is not known: ``per_store`` stores are sampled for each load that could be.

    The fit begins with ``handover``, and with touches in the order of ``late``. Another CPU goes on at the end of a
    turn with the probability ``ending`` at least. ``targets`` are samples of each touch as another run might have them,
    loads and stores.
    """

    tasks: tuple[DrawnTask, ...]
    handover: float
    ending: float
    per_store: float
    late: tuple[float, ...]
    targets: tuple[tuple[float, float], ...]
    seed: int


def drawn(evidence: Evidence, seed: int) -> Draw:
    """The draw with this seed."""
    draw = Random(seed)  # noqa: S311 - repeatable draws, no secret
    touches = evidence.touches
    used = [
        number
        for number, one in enumerate(touches)
        if one.sampled or draw.random() < 1 - (1 - REACHED) ** min(one.ways, 4)
    ]
    targets = tuple(
        (_another(one.loads, draw, evidence.exact), _another(one.stores or 0.0, draw, evidence.exact))
        for one in touches
    )
    there = _machine(evidence, draw)
    return Draw(
        tuple(_task(touches, numbers, there, draw) for numbers in _shared_out(touches, used, draw)),
        draw.uniform(0.1, 0.6),
        draw.choice((0.0, 0.3, 1.0)),
        1.0 if evidence.exact else draw.lognormvariate(0.0, 0.2),
        tuple(_lateness(one) + draw.gauss(0.0, 0.3) for one in touches),
        targets,
        seed,
    )


def _another(count: float, draw: Random, exact: bool) -> float:
    """The count that another run might have had."""
    return count if exact else draw.gammavariate(count + 0.5, 1.0) if count else 0.0


def _shared_out(touches: Sequence[SampledTouch], used: Sequence[int], draw: Random) -> list[list[int]]:
    """The touches of each task: those of a function on one object go together."""
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number in used:
        groups[touches[number].function, touches[number].base].append(number)
    joins = draw.random()
    tasks: list[list[int]] = []
    for group in groups.values():
        fitting = [task for task in tasks if _fits(touches[task[0]], touches[group[0]])]
        if fitting and draw.random() < joins:
            draw.choice(fitting).extend(group)
        else:
            tasks.append(group)
    return tasks


def _fits(one: SampledTouch, other: SampledTouch) -> bool:
    """Whether two functions touch the same object, and ran on about as many CPUs."""
    first, second = one.cpus or USUAL_CPUS, other.cpus or USUAL_CPUS
    known = min(one.weight / first, other.weight / second) >= WELL_KNOWN
    return one.base == other.base and max(first, second) <= (ALIKE if known else 2) * min(first, second)


def _machine(evidence: Evidence, draw: Random) -> int:
    """How many CPUs there are: as many as a function ran on, or more, when each part of them does something else."""
    if evidence.exact:
        return len(evidence.nodes)
    return max(round(len(evidence.nodes) / 2 * draw.choice((1.0, 1.0, 1.5, 2.0))), 2)


def _task(touches: Sequence[SampledTouch], numbers: Sequence[int], there: int, draw: Random) -> DrawnTask:
    cpus = max((touches[number].cpus or USUAL_CPUS for number in numbers), default=USUAL_CPUS)
    return DrawnTask(
        tuple(sorted(draw.sample(range(there), min(cpus, there)))), tuple(numbers), draw.choice((0.5, 1.0, 1.0, 2.0))
    )


def _lateness(one: SampledTouch) -> float:
    """From 0 to 1: how much it looks like a touch that comes late in its turn, when others have fetched the line."""
    if not one.sampled:
        return 1.0
    if one.missed is not None and one.weight:
        return 1 - min(one.missed / one.weight, 1.0)
    return 0.0 if takes_lock(one.function) else 0.5
