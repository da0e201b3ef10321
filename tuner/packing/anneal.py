# SPDX-License-Identifier: GPL-2.0-or-later
"""A better order where nothing can be proven: random moves that are kept if they help, and at first also if not.

Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) over moves and swaps, with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from random import Random

from linesmith.tuner.packing.prices import FORBIDDEN
from linesmith.tuner.packing.scene import Judged, Scene

# The temperature falls from this share of the first cost to the other.
HOT, COLD = 0.1, 0.0005
# How often a hot item is picked rather than any.
PICK_HOT = 0.7
SEED = 1


def anneal(scene: Scene, start: Judged, work: int, enough: int = 0) -> Judged:
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
        now = _units(scene, tried)
        if now is None or (now > units and random.random() >= exp((units - now) / temperature)):
            continue
        order, units = tried, now
        if units < best.units and (judged := scene.judge(order)):
            best = judged
    return best


def _changed(scene: Scene, order: Sequence[int], item: int, random: Random) -> list[int]:
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


def _units(scene: Scene, order: Sequence[int]) -> int | None:
    placed = scene.places(order)
    units = None if placed is None else scene.units(placed[0])
    return None if units is None or units >= FORBIDDEN else units
