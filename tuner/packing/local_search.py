# SPDX-License-Identifier: GPL-2.0-or-later
"""Better orders where nothing can be proven: by random moves, and by the best next move again and again.

Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) over moves and swaps, with a fixed seed: a move stays if it
helps, and at first also if not. A chain makes few moves; moves that do nothing are taken back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp
from random import Random

from linesmith.tuner.packing.prices import FORBIDDEN
from linesmith.tuner.packing.problem import moved
from linesmith.tuner.packing.scene import JudgedOrder, PricedProblem

# The temperature falls from this share of the first cost to the other.
HOT, COLD = 0.1, 0.0005
# How often a hot item is picked rather than any.
PICK_HOT = 0.7
SEED = 1
# Steps of a chain, and the share of the first cost that each has to save.
STEPS = 6
WORTHWHILE = 0.02


def anneal(scene: PricedProblem, start: JudgedOrder, work: int, enough: int = 0) -> JudgedOrder:
    """The cheapest of ``work`` orders that are tried one after the other, from ``start`` on.

    One of ``enough`` units ends the search.
    """
    random = Random(SEED)  # noqa: S311  chance, not secrecy
    movable = [item for item, one in enumerate(scene.problem.items) if one.movable]
    hot = [item for item in movable if item in scene.hot]
    best = start
    order, units = list(start.order), start.units
    for step in range(work if hot else 0):
        if best.units <= enough:
            break
        temperature = start.units * HOT * (COLD / HOT) ** (step / work)
        item = random.choice(hot if random.random() < PICK_HOT else movable)
        tried = _changed(scene, order, item, random)
        placed = scene.places(tried)
        now = FORBIDDEN if placed is None else scene.units(placed[0])
        if now >= FORBIDDEN or (now > units and random.random() >= exp((units - now) / temperature)):
            continue
        order, units = tried, now
        if units < best.units and (judged := scene.judge(order)):
            best = judged
    return best


def _changed(scene: PricedProblem, order: Sequence[int], item: int, random: Random) -> list[int]:
    """The item at another place of its segment, or changing places with another."""
    items = scene.problem.items
    first = next(place for place, one in enumerate(order) if items[one].segment == items[item].segment)
    count = sum(one.segment == items[item].segment for one in items)
    place = first + random.randrange(count)
    changed = list(order)
    if random.random() < 0.5 and items[order[place]].movable:
        here = changed.index(item)
        changed[here], changed[place] = changed[place], item
    else:
        changed.remove(item)
        changed.insert(place, item)
    return changed


def chain(scene: PricedProblem, start: JudgedOrder, present: int, work: int) -> tuple[JudgedOrder, ...]:
    """What the best next move of a hot item makes of ``start``, and so on; ``present`` units are the first cost.

    ``work`` limits the orders looked at.
    """
    found: list[JudgedOrder] = []
    here = start
    for _ in range(STEPS):
        tried = [order for item in scene.hot for order in _elsewhere(scene, here.order, item)]
        work -= len(tried)
        if work < 0:
            break
        judged = [one for order in tried if (one := scene.judge(order))]
        best = min(judged, key=lambda one: one.rank, default=here)
        if here.units - best.units < max(1, WORTHWHILE * present):
            break
        here = undone(scene, best)
        found.append(here)
    return tuple(found)


def undone(scene: PricedProblem, judged: JudgedOrder) -> JudgedOrder:
    """The order with every move taken back that saves nothing, one after the other."""
    here = judged
    for item in moved(judged.order, scene.fixed):
        # The item behind the last of its predecessors that stays, as in the present order.
        leaving = set(moved(here.order, scene.fixed))
        rest = [one for one in here.order if one != item]
        before = [one for one in rest if one < item and one not in leaving]
        place = rest.index(max(before)) + 1 if before else 0
        order = [*rest[:place], item, *rest[place:]]
        segments = [scene.problem.items[one].segment for one in order]
        back = scene.judge(order) if segments == sorted(segments) else None
        if back and back.units <= here.units and back.moved < here.moved:
            here = back
    return here


def _elsewhere(scene: PricedProblem, order: Sequence[int], item: int) -> Iterator[list[int]]:
    """The order with the item at each other place of its segment."""
    items = scene.problem.items
    if not items[item].movable:
        return
    rest = [one for one in order if one != item]
    for place in range(len(order)):
        near = rest[max(place - 1, 0) : place + 1]
        if order[place] != item and any(items[one].segment == items[item].segment for one in near):
            yield [*rest[:place], item, *rest[place:]]
