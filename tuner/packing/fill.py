# SPDX-License-Identifier: GPL-2.0-or-later
"""An order that puts hot items where they are wanted: the cold ones fill the gaps, in their own order if they can.

C leaves no gap but padding, so the cold items before a hot one must end less than its alignment before its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from linesmith.tuner.packing.scene import Scene


@dataclass(frozen=True, slots=True)
class Filled:
    """The order found; ``None`` is a proof that there is none if ``all_tried``."""

    order: tuple[int, ...] | None
    all_tried: bool
    steps: int


def fill_roughly(scene: Scene, wanted: Mapping[int, int]) -> tuple[int, ...]:
    """The present order with each hot item put about where it is wanted: as soon as nothing more fits before it."""
    items, placer = scene.problem.items, scene.placer
    queue = sorted(wanted, key=lambda item: (items[item].segment, wanted[item]))
    cold = [item for item in range(len(items)) if item not in wanted]
    order: list[int] = []
    end = 0
    while queue or cold:
        segment = min(items[line[0]].segment for line in (queue, cold) if line)
        mine = [item for item in cold if items[item].segment == segment]
        near = bool(queue) and items[queue[0]].segment == segment
        room = wanted[queue[0]] if near else placer.limit
        fitting = [item for item in mine if end + placer.step(item, end).end <= room]
        item = fitting[0] if fitting else queue[0] if near else mine[0]
        (cold if item in mine else queue).remove(item)
        order.append(item)
        end += placer.step(item, end).end
    return tuple(order)


class Filling:
    """The search for one order, from front to back; what failed once is not tried again."""

    def __init__(self, scene: Scene, wanted: Mapping[int, int], work: int) -> None:
        """``wanted`` is the first bit of each hot item; ``work`` limits the items tried."""
        self._scene = scene
        self._items = scene.problem.items
        self._placer = scene.placer
        self._wanted = wanted
        self._work = work
        self._queue = sorted(wanted, key=lambda item: (self._items[item].segment, wanted[item]))
        self._failed: set[tuple[int, int]] = set()
        self._steps = 0

    def run(self) -> Filled:
        """The first order in which everything fits."""
        least = self._placer.least
        order: list[int] = []
        path = [(0, 0, sum(least), self._choices(0, 0))]
        while path and self._steps < self._work:
            placed, end, rest, choices = path[-1]
            item = next(choices, None)
            if item is None:
                self._failed.add((placed, end))
                path.pop()
                order[-1:] = []
                continue
            self._steps += 1
            after = placed | 1 << item, end + self._placer.step(item, end).end
            if after in self._failed or after[1] + rest - least[item] > self._placer.limit:
                continue
            order.append(item)
            if len(order) == len(self._items):
                return Filled(tuple(order), all_tried=True, steps=self._steps)
            path.append((*after, rest - least[item], self._choices(*after)))
        return Filled(None, all_tried=not path, steps=self._steps)

    def _choices(self, placed: int, end: int) -> Iterator[int]:
        """What may come behind ``end`` bits: the next hot item at its place, or cold ones that end before it."""
        upcoming = next((item for item in self._queue if not placed >> item & 1), None)
        segment = next(one.segment for item, one in enumerate(self._items) if not placed >> item & 1)
        room = self._placer.limit
        if upcoming is not None and self._items[upcoming].segment == segment:
            room = self._wanted[upcoming]
            if end + self._placer.step(upcoming, end).starts[0] == room:
                yield upcoming
        yield from self._cold(placed, end, segment, room)

    def _cold(self, placed: int, end: int, segment: int, room: int) -> Iterator[int]:
        tried: set[int] = set()
        for item, one in enumerate(self._items):
            if one.segment > segment:
                return
            kind = self._scene.twins[item] if one.movable else -1
            if item in self._wanted or placed >> item & 1 or one.segment < segment or kind in tried:
                continue
            tried.add(kind)
            step = self._placer.step(item, end)
            if end + step.end <= room and self._scene.may_begin(item, end + step.starts[0]):
                yield item
