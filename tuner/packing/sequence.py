# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders built from front to back, all at once: those that the rest cannot tell apart are one, the cheaper one.

What an order still can cost depends on which items are placed, where they end, and which hotspots are near enough to
share a line with what follows. Two beginnings that agree in these have the same best continuation, so the dearer one is
dropped (Bellman 1957; Held and Karp 1962). Nothing else is, unless the work would exceed its limit; then the cheapest
stay, and the cheapest of the others limits what may have been missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nsmallest

from linesmith.tuner.packing.scene import Judged, Scene
from linesmith.tuner.placement import BYTE

Link = tuple[int, "Link"] | None
Window = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Beginning:
    """Items placed (a bit each), the next one of those that stay, how many moved, the end in bits, hotspots in reach.

    Where moves are not limited, ``next`` and ``moved`` are 0.
    """

    placed: int
    next: int
    moved: int
    end: int
    window: Window


@dataclass(frozen=True, slots=True)
class Few:
    """At most ``moves`` items leave their place, and only items of ``movable``."""

    moves: int
    movable: frozenset[int]


@dataclass(frozen=True, slots=True)
class Found:
    """The best legal order, ``None`` if no better one is known; no order costs less than ``bound`` units."""

    best: Judged | None
    bound: int
    steps: int


class Sequences:
    """The search over one scene."""

    def __init__(self, scene: Scene, work: int, known: int, few: Few | None = None) -> None:
        """``work`` limits the beginnings looked at; those that cost ``known`` units or more are dropped."""
        self._scene = scene
        self._work = work
        self._known = known
        self._items = scene.problem.items
        self._few = few
        self._steps = 0
        self._dropped = known
        partners = scene.prices.partners
        self._ends = {number: scene.problem.hotspots[number].size - 1 for number in partners}
        self._owner = {number: scene.problem.hotspots[number].item for number in partners}
        self._enemies = {
            number: sum(1 << item for item in {self._owner[other] for other in clashes})
            for number, clashes in partners.items()
        }

    def run(self) -> Found:
        """Every order, as far as the work allows."""
        layer: dict[Beginning, tuple[int, int, Link]] = {Beginning(0, 0, 0, 0, ()): (0, 0, None)}
        for rest in range(len(self._items), 0, -1):
            before, count = self._steps, len(layer)
            layer = self._longer(layer)
            each = max(1, (self._steps - before) // max(1, count))
            layer = self._narrowed(layer, max(1, (self._work - self._steps) // (rest * each)))
        judged = [one for _, _, link in layer.values() if (one := self._scene.judge(_unrolled(link)))]
        cheapest = min([self._dropped, *(units for units, _, _ in layer.values())])
        return Found(min(judged, key=lambda one: one.merit, default=None), cheapest, self._steps)

    def _longer(self, layer: dict[Beginning, tuple[int, int, Link]]) -> dict[Beginning, tuple[int, int, Link]]:
        grown: dict[Beginning, tuple[int, int, Link]] = {}
        for state, (units, breaks, link) in layer.items():
            rest = sum(self._scene.placer.least[item] for item in self._unplaced(state.placed))
            last = link[0] if link else -1
            for item, upcoming, moved in self._choices(state):
                self._steps += 1
                following = self._placed(state, item, upcoming, moved, rest)
                if following is None:
                    continue
                after, price = following
                value = (units + price, breaks + (item != last + 1))
                if value[0] < self._known and (after not in grown or value < grown[after][:2]):
                    grown[after] = (*value, (item, link))
        return grown

    def _placed(
        self, state: Beginning, item: int, upcoming: int, moved: int, rest: int
    ) -> tuple[Beginning, int] | None:
        """The beginning with ``item`` behind it, and what that costs; ``None`` where it does not fit."""
        placer = self._scene.placer
        step = placer.step(item, state.end)
        end = state.end + step.end
        if end + rest - placer.least[item] > placer.limit:
            return None
        if not self._scene.at_pin(item, state.end + step.starts[0]):
            return None
        placed = state.placed | 1 << item
        mine = [
            (number, (state.end + step.starts[member]) // BYTE + start)
            for number, member, start in self._scene.by_item[item]
        ]
        units = self._units(state.window, mine) if mine else 0
        window = self._window((*state.window, *mine), placed, end) if state.window or mine else ()
        return Beginning(placed, upcoming, moved, end, window), units

    def _units(self, window: Window, mine: list[tuple[int, int]]) -> int:
        price, partners = self._scene.prices.price, self._scene.prices.partners
        total = 0
        for place, (number, here) in enumerate(mine):
            known = partners[number]
            for other, there in (*window, *mine[:place]):
                if other in known:
                    total += price(number, here, other, there)
        return total

    def _window(self, spots: Window, placed: int, end: int) -> Window:
        """Of ``spots``, those that something still to come may meet."""
        near = end // BYTE - self._scene.prices.reach
        return tuple(
            sorted(
                (number, start)
                for number, start in spots
                if start + self._ends[number] > near and self._enemies[number] & ~placed
            )
        )

    def _unplaced(self, placed: int) -> Iterator[int]:
        return (item for item in range(len(self._items)) if not placed >> item & 1)

    def _choices(self, state: Beginning) -> Iterator[tuple[int, int, int]]:
        """Items that may come next, each with the next one of those that stay and the number of moves."""
        free = list(self._unplaced(state.placed))
        segment = self._items[free[0]].segment
        free = [item for item in free if self._items[item].segment == segment]
        if self._few is None:
            yield from ((item, 0, 0) for item in self._distinct(free))
        else:
            yield from self._limited(state, free, self._few)

    def _distinct(self, free: list[int]) -> Iterator[int]:
        """The first of each kind of items: those that could change places unnoticed, and those that do not move."""
        tried: set[int] = set()
        for item in free:
            kind = self._scene.twins[item] if self._items[item].movable else -1
            if kind not in tried:
                tried.add(kind)
                yield item

    def _limited(self, state: Beginning, free: list[int], few: Few) -> Iterator[tuple[int, int, int]]:
        """Choices where at most so many items move: a step of one that stays passes over others, which then move."""
        waiting = sum(item < state.next for item in free)
        passed = waiting
        blocked = False
        for item in free:
            movable = item in few.movable
            if item >= state.next and not blocked and state.moved + passed <= few.moves:
                yield item, item + 1, state.moved
            if movable and state.moved + waiting + (item >= state.next) <= few.moves:
                yield item, state.next, state.moved + 1
            passed += item >= state.next
            blocked = blocked or (item >= state.next and not movable)

    def _narrowed(
        self, layer: dict[Beginning, tuple[int, int, Link]], width: int
    ) -> dict[Beginning, tuple[int, int, Link]]:
        """The cheapest beginnings, at most ``width``."""
        if len(layer) <= width:
            return layer
        kept = nsmallest(width + 1, layer.items(), key=lambda pair: pair[1][:2])
        self._dropped = min(self._dropped, kept.pop()[1][0])
        return dict(kept)


def _unrolled(link: Link) -> tuple[int, ...]:
    order = []
    while link:
        order.append(link[0])
        link = link[1]
    return tuple(reversed(order))
