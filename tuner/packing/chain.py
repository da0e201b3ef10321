# SPDX-License-Identifier: GPL-2.0-or-later
"""Few moves by small steps: the best next move again and again, and moves taken back that do nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.tuner.packing.order import moved
from linesmith.tuner.packing.scene import Judged, Scene

# Steps of a chain, and the share of the first cost that each has to save.
STEPS = 6
WORTHWHILE = 0.02


def chain(scene: Scene, start: Judged, present: int, work: int) -> tuple[Judged, ...]:
    """What the best next move of a hot item makes of ``start``, and so on; ``present`` units are the first cost.

    ``work`` limits the orders looked at.
    """
    found: list[Judged] = []
    here = start
    for _ in range(STEPS):
        tried = [order for item in scene.hot for order in _elsewhere(scene, here.order, item)]
        work -= len(tried)
        if work < 0:
            break
        judged = [one for order in tried if (one := scene.judge(order))]
        best = min(judged, key=lambda one: one.merit, default=here)
        if here.units - best.units < max(1, WORTHWHILE * present):
            break
        here = undone(scene, best)
        found.append(here)
    return tuple(found)


def undone(scene: Scene, judged: Judged) -> Judged:
    """The order with every move taken back that saves nothing, one after the other."""
    here = judged
    for item in moved(judged.order, scene.fixed):
        order = _taken_back(here.order, item, scene)
        segments = [scene.problem.items[one].segment for one in order]
        back = scene.judge(order) if segments == sorted(segments) else None
        if back and back.units <= here.units and back.moved < here.moved:
            here = back
    return here


def _elsewhere(scene: Scene, order: Sequence[int], item: int) -> Iterator[list[int]]:
    """The order with the item at each other place of its segment."""
    items = scene.problem.items
    if not items[item].movable:
        return
    rest = [one for one in order if one != item]
    for place in range(len(order)):
        near = rest[max(place - 1, 0) : place + 1]
        if order[place] != item and any(items[one].segment == items[item].segment for one in near):
            yield [*rest[:place], item, *rest[place:]]


def _taken_back(order: Sequence[int], item: int, scene: Scene) -> list[int]:
    """The item behind the last of its predecessors that stays, as in the present order."""
    leaving = set(moved(order, scene.fixed))
    rest = [one for one in order if one != item]
    before = [one for one in rest if one < item and one not in leaving]
    place = rest.index(max(before)) + 1 if before else 0
    return [*rest[:place], item, *rest[place:]]
