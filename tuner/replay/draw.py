# SPDX-License-Identifier: GPL-2.0-or-later
"""A draw: one way in which the sampled functions may work together, of the many that a profile leaves open.

Functions are shared out among tasks. A CPU does a task a turn at a time, and touches in a turn what the task's
functions touch, as often and in the order that the fit finds out.

A recording says on which CPUs an access was made; of samples it is drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf, sqrt
from operator import or_
from random import Random

from linesmith.tuner.replay.sampled import PERHAPS, USUAL_CPUS, SampledTouch, SampledTouches, TouchKind

# Of 103 members that functions of three recordings may load by their code 45 were loaded, 34 of these as often as what
# the function did most. So likely is code run that no sample shows, and so likely each time if it is run at all.
REACHED, ALWAYS = 0.44, 0.75
# Numbers of CPUs that differ by more are of different tasks, where both are known well.
ALIKE = 1.2
WELL_KNOWN = 3
# Shares of changes that make turns longer or shorter, that put them under a lock or take them out, and that let CPUs
# give way more or less often or at other places; the others move a function.
TURNS, LOCKS, HANDOVERS, ENDINGS = 0.2, 0.15, 0.2, 0.1
# A lock that lies elsewhere, and how likely turns are under it that store.
ELSEWHERE = 1
LOCKED = 0.4
# How likely a function is under a lock of the object, if nothing tells who calls it: where it stores, and else.
UNDER, READ_UNDER = 0.6, 0.2
JOINS = 0.7
LEAST_HANDOVER = 0.02
# How likely an object is that of a CPU, as a run queue or the socket of a thread is: what few CPUs do there is done by
# those that do most of the rest, too.
NESTED = 0.7
# Bounds of how often a turn makes its most frequent touch.
LEAST_OFTEN, MOST_OFTEN = 0.125, 8.0
# A bit for each CPU, by the number of the touch.
Seats = Mapping[int, int]
# By object its CPUs, those first that do what few do.
Orders = Mapping[int, tuple[int, ...]]
# By how many standard deviations stores that are made as often may differ.
ALIKE_STORES = 2
# By how much the last of a function's touches comes later than its first.
IN_ORDER = 0.8


@dataclass(frozen=True, slots=True)
class DrawnTask:
    """What ``cpus`` do together in a turn: ``touches`` by number.

    ``often`` is how often in a turn the most frequent touch is made. Turns under the same ``lock`` exclude each other:
    one of the record by its address, ``ELSEWHERE``, or none (0).
    """

    cpus: tuple[int, ...]
    touches: tuple[int, ...]
    often: float = 1.0
    lock: int = 0


@dataclass(frozen=True, slots=True)
class Draw:
    """The tasks, and what else is not known: ``per_store`` stores are sampled for each load that could be.

    The fit begins with ``handover``, which stays if it is ``fixed``, with ``hold`` under locks, and with touches in the
    order of ``late``. Another CPU goes on at the end of a turn with the probability ``ending`` at least. ``targets``
    are samples of each touch as another run might have them, loads and stores. ``unseen`` is how often a touch
    that was not sampled is made, or a load at first, for each of the function's most frequent one. Without ``orders``
    any CPUs may do what few do.
    """

    tasks: tuple[DrawnTask, ...]
    handover: float
    fixed: bool
    ending: float
    hold: float
    per_store: float
    late: tuple[float, ...]
    targets: tuple[tuple[float, float], ...]
    unseen: tuple[float, ...]
    orders: Orders
    seed: int


def drawn(evidence: SampledTouches, seed: int) -> Draw:
    """The draw with this seed."""
    draw = Random(seed)  # noqa: S311 - repeatable draws, no secret
    touches = evidence.touches
    # Where functions store by the profile: if their code has loads of it as well, these are mostly made.
    stored = {(one.function, one.address) for one in touches if one.sampled and one.kind is TouchKind.STORE}
    used = [
        number
        for number, one in enumerate(touches)
        if one.sampled or one.like >= 0 or (one.function, one.address) in stored or draw.random() < REACHED
    ]
    stores = _stores(touches, draw, evidence.exact)
    seen = [one.loads for one in touches]
    # Loads as another run might have had them.
    loads = [count if evidence.exact or not count else draw.gammavariate(count + 0.5, 1.0) for count in seen]
    targets = tuple(zip(loads, stores, strict=True))
    # What shows too little: loads of a line without stores hit, however often they are.
    hidden = [not one.sampled or one.kind is TouchKind.LOAD for one in touches]
    # As many CPUs as a function ran on, or more, when each part of them does something else.
    cpus = len(evidence.nodes)
    nodes = evidence.nodes[: cpus if evidence.exact else max(round(cpus / 2 * draw.choice((1.0, 1.0, 1.5, 2.0))), 2)]
    seats, tasks = _seats(touches), list[DrawnTask]()
    nested = not seats and draw.random() < NESTED
    bases = dict.fromkeys(one.base for one in touches) if nested else ()
    orders = {base: tuple(draw.sample(range(len(nodes)), len(nodes))) for base in bases}
    for one in _shared_out(touches, used, draw, seats):
        tasks.append(_task(touches, *one, nodes, draw, seats, orders))
    return Draw(
        tuple(tasks),
        draw.uniform(0.1, 0.6),
        not evidence.exact,
        draw.choice((0.0, 0.3, 1.0)),
        draw.uniform(0.1, 0.9),
        1.0 if evidence.exact else draw.lognormvariate(0.0, 0.2),
        tuple(late + draw.gauss(0.0, 0.3) for late in _lateness(touches)),
        targets,
        tuple((1.0 if draw.random() < ALWAYS else draw.random()) if one else 0.0 for one in hidden),
        orders,
        seed,
    )


def changed(now: Draw, evidence: SampledTouches, draw: Random) -> Draw:
    """The same draw with one thing different: where a function is, how much a turn does, when CPUs give way."""
    what = draw.random()
    if what < HANDOVERS:
        return replace(now, handover=min(max(now.handover * draw.choice((0.6, 1.6)), LEAST_HANDOVER), 1.0))
    if what < HANDOVERS + ENDINGS:
        return replace(now, ending=draw.choice((0.0, 0.1, 0.3, 1.0)))
    touches, tasks = evidence.touches, list(now.tasks)
    bodies = [at for at, task in enumerate(tasks) if not touches[task.touches[0]].word]
    if not bodies:
        return now
    at = draw.choice(bodies)
    if what < HANDOVERS + ENDINGS + TURNS:
        often = min(max(tasks[at].often * draw.choice((0.5, 2.0)), LEAST_OFTEN), MOST_OFTEN)
        tasks[at] = replace(tasks[at], often=often)
    elif what < HANDOVERS + ENDINGS + TURNS + LOCKS:
        tasks[at] = replace(tasks[at], lock=draw.choice(_possible(touches, tasks[at].touches)))
    else:
        _move(tasks, at, evidence, draw, now.orders)
    return replace(now, tasks=tuple(task for task in tasks if task.touches))


def _move(tasks: list[DrawnTask], at: int, evidence: SampledTouches, draw: Random, orders: Orders) -> None:
    """One function of a task goes to another under the same lock, or to one of its own."""
    touches, task = evidence.touches, tasks[at]
    function = touches[draw.choice(task.touches)].function
    moved = [number for number in task.touches if touches[number].function == function]
    stay = tuple(number for number in task.touches if touches[number].function != function)
    fitting = [
        number
        for number, other in enumerate(tasks)
        if number != at
        and other.lock == task.lock
        and _fits(touches[other.touches[0]], touches[moved[0]])
        and (not evidence.exact or not set(task.cpus).isdisjoint(other.cpus))
    ]
    fitting = [number for number in fitting if not touches[tasks[number].touches[0]].word]
    if fitting and (not stay or draw.random() < JOINS):
        other = draw.choice(fitting)
        tasks[other] = replace(tasks[other], touches=(*tasks[other].touches, *moved))
    else:
        there = evidence.nodes[: max(max(one.cpus) for one in tasks) + 1]
        tasks.append(_task(touches, task.lock, moved, there, draw, _seats(touches), orders))
    tasks[at] = replace(task, touches=stay)


def _possible(touches: Sequence[SampledTouch], numbers: Sequence[int]) -> list[int]:
    """The locks under which a task may be, 0 is none: such as were seen on as many CPUs as the task was."""
    known = {touches[number].lock for number in numbers}
    if known != {PERHAPS}:
        return sorted(known - {PERHAPS})[-1:] if known != {0} else [0, ELSEWHERE]
    takers: dict[int, float] = {}
    for one in touches:
        if one.word and one.base == touches[numbers[0]].base:
            takers[one.lock] = max(takers.get(one.lock, 0.0), one.cpus or inf)
    seen = [(touches[number].weight, touches[number].cpus or 1) for number in numbers]
    least = max((cpus for weight, cpus in seen if weight >= WELL_KNOWN * cpus), default=1)
    return [0, *sorted(lock for lock, cpus in takers.items() if least <= ALIKE * cpus)]


def _stores(touches: Sequence[SampledTouch], draw: Random, exact: bool) -> list[float]:
    """Sampled stores of each touch as another run might have them; of a function about as many are as many."""
    found = [one.stores or 0.0 for one in touches]
    if exact:
        return found
    together: dict[tuple[str, int], list[list[int]]] = defaultdict(list)
    for at in sorted((at for at, count in enumerate(found) if count), key=lambda at: -found[at]):
        groups = together[touches[at].function, touches[at].base]
        if groups:
            mean = sum(found[other] for other in groups[-1]) / len(groups[-1])
        if groups and mean - found[at] <= ALIKE_STORES * sqrt(mean):
            groups[-1].append(at)
        else:
            groups.append([at])
    for alike in (alike for groups in together.values() for alike in groups):
        mean = draw.gammavariate(sum(found[at] for at in alike) + 0.5, 1.0) / len(alike)
        for at in alike:
            found[at] = mean
    return found


def _shared_out(
    touches: Sequence[SampledTouch], used: Sequence[int], draw: Random, seats: Seats
) -> list[tuple[int, list[int]]]:
    """The lock and the touches of each task: those of a function on one object go together, and words of a lock."""
    groups: dict[tuple[str, int, int], list[list[int]]] = defaultdict(list)
    words: dict[int, list[int]] = defaultdict(list)
    for number in used:
        one = touches[number]
        if one.word:
            words[one.lock].append(number)
            continue
        sides = groups[one.function, one.base, one.lock]
        side = next((side for side in sides if any(_meet(seats, number, other) for other in side)), None)
        if side is None:
            sides.append(side := [])
        side.append(number)
    joins = draw.random() ** (1 / 3)
    tasks = list(words.items())
    for known, group in ((lock, side) for (_, _, lock), sides in groups.items() for side in sides):
        stores = any(touches[number].kind is not TouchKind.LOAD for number in group)
        lock = known
        if known == PERHAPS:
            under = draw.random() < (UNDER if stores else READ_UNDER)
            lock = draw.choice(_possible(touches, group)[1:] or [0]) if under else 0
        if lock == 0 and stores and draw.random() < LOCKED:
            lock = ELSEWHERE
        fitting = [
            task
            for other, task in tasks
            if other == lock
            and not touches[task[0]].word
            and _fits(touches[task[0]], touches[group[0]])
            and _meet(seats, task[0], group[0])
        ]
        if fitting and draw.random() < joins:
            draw.choice(fitting).extend(group)
        else:
            tasks.append((lock, group))
    return tasks


def _seats(touches: Sequence[SampledTouch]) -> Seats:
    """The CPUs of each touch, of a profile that says which they are."""
    return {number: sum(1 << cpu for cpu in one.on) for number, one in enumerate(touches) if one.on}


def _meet(seats: Seats, one: int, other: int) -> bool:
    """Whether two touches may be made on one CPU."""
    return one not in seats or other not in seats or bool(seats[one] & seats[other])


def _fits(one: SampledTouch, other: SampledTouch) -> bool:
    """Whether two functions touch the same object, and ran on about as many CPUs of the same nodes."""
    first, second = one.cpus or USUAL_CPUS, other.cpus or USUAL_CPUS
    known = min(one.weight / first, other.weight / second) >= WELL_KNOWN
    if one.base != other.base or (one.nodes != other.nodes and (known or one.nodes.isdisjoint(other.nodes))):
        return False
    return max(first, second) <= (ALIKE if known else 2) * min(first, second)


def _task(
    touches: Sequence[SampledTouch],
    lock: int,
    numbers: Sequence[int],
    nodes: Sequence[int],
    draw: Random,
    seats: Seats,
    orders: Orders,
) -> DrawnTask:
    """What is done with the touches of these ``numbers``."""
    if known := reduce(or_, (seats.get(number, 0) for number in numbers)):
        chosen = [cpu for cpu in range(len(nodes)) if known >> cpu & 1]
        return DrawnTask(tuple(chosen), tuple(numbers), draw.choice((0.5, 1.0, 1.0, 2.0)), lock)
    count = max((touches[number].cpus or USUAL_CPUS for number in numbers), default=USUAL_CPUS)
    seen = frozenset[int]().union(*(touches[number].nodes for number in numbers))
    cpus = [cpu for cpu, node in enumerate(nodes) if not seen or node in seen] or [*range(len(nodes))]
    order = orders.get(touches[numbers[0]].base) or draw.sample(cpus, len(cpus))
    chosen = sorted([cpu for cpu in order if cpu in cpus][:count])
    return DrawnTask(tuple(chosen), tuple(numbers), draw.choice((0.5, 1.0, 1.0, 2.0)), lock)


def _lateness(touches: Sequence[SampledTouch]) -> list[float]:
    """From 0 to 1: how much each looks like one that comes late in its turn, when others have fetched the line."""
    most: dict[tuple[str, int], float] = defaultdict(float)
    for one in touches:
        most[one.function, one.base] = max(most[one.function, one.base], one.weight)
    found = []
    for one in touches:
        if one.missed is not None:
            found.append(1 - one.missed)
        elif one.sampled and one.kind is TouchKind.LOAD:
            found.append(1 - one.loads / max(most[one.function, one.base], 1.0))
        else:
            found.append(0.5 if one.sampled else 1.0)
    # Of one function what comes earlier in the code, or in the object, mostly comes earlier in the turn.
    places: dict[tuple[str, int], list[tuple[int, int, int]]] = defaultdict(list)
    for number, one in enumerate(touches):
        if one.sampled:
            places[one.function, one.base].append((one.code, one.address, number))
    for ones in places.values():
        for rank, (_, _, number) in enumerate(sorted(ones)):
            found[number] += IN_ORDER * rank / len(ones)
    return found
