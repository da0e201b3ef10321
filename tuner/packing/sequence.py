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
from typing import NamedTuple

from linesmith.analyzer.layouts.placement import BYTE
from linesmith.tuner.packing.scene import PricedProblem, SearchedOrder

Link = tuple[int, "Link"] | None
# Hotspots by number, with the first byte and the last.
Window = tuple[tuple[int, int, int], ...]


class Beginning(NamedTuple):
    """Items placed (a bit each), the next one of those that stay, how many moved, the end in bits, hotspots in reach.

    Where moves are not limited, ``next`` and ``moved`` are 0.
    """

    placed: int
    next: int
    moved: int
    end: int
    window: Window


class Way(NamedTuple):
    """How a beginning came about: its units, items that do not follow their predecessor, bits of the items left."""

    units: int
    breaks: int
    rest: int
    link: Link


Layer = dict[Beginning, Way]


@dataclass(frozen=True, slots=True)
class Few:
    """At most ``moves`` items leave their place, and only items of ``movable``."""

    moves: int
    movable: frozenset[int]


class Sequences:
    """The search over one scene."""

    def __init__(self, scene: PricedProblem, work: int, known: int, few: Few | None = None) -> None:
        """``work`` limits the beginnings looked at; those that cost ``known`` units or more are dropped."""
        self._scene = scene
        self._work = work
        self._known = known
        self._items = scene.problem.items
        self._few = few
        self._movable = sum(1 << item for item in few.movable) if few else 0
        self._steps = 0
        self._dropped = known
        segments = [item.segment for item in self._items]
        # The items of each segment, a bit each, in the order of the segments.
        self._segments = [
            sum(1 << item for item, one in enumerate(segments) if one == segment) for segment in sorted(set(segments))
        ]
        self._pinned = [item.pinned is not None or item.latest is not None for item in self._items]
        partners, spots = scene.prices.partners, scene.problem.hotspots
        numbers = [number for found in scene.by_item for number, _, _ in found]
        self._lasts = {number: spots[number].size - 1 for number in numbers}
        self._enemies = {
            number: sum(1 << item for item in {spots[other].item for other in partners.get(number, ())})
            for number in numbers
        }

    def run(self) -> SearchedOrder:
        """Every order, as far as the work allows."""
        layer: Layer = {Beginning(0, 0, 0, 0, ()): Way(0, 0, sum(self._scene.placer.least), None)}
        for rest in range(len(self._items), 0, -1):
            before, count = self._steps, len(layer)
            layer = self._longer(layer)
            each = max(1, (self._steps - before) // max(1, count))
            layer = self._narrowed(layer, max(1, (self._work - self._steps) // (rest * each)))
        judged = [one for way in layer.values() if (one := self._scene.judge(_order(way.link)))]
        cheapest = min([self._dropped, *(way.units for way in layer.values())])
        return SearchedOrder(min(judged, key=lambda one: one.rank, default=None), cheapest)

    def _longer(self, layer: Layer) -> Layer:
        """The beginnings with one item more."""
        least, steps, limit = self._scene.placer.least, self._scene.placer.step, self._scene.placer.limit
        grown: Layer = {}
        for state, way in layer.items():
            last = way.link[0] if way.link else -1
            for item, upcoming, moved in self._choices(state):
                self._steps += 1
                step, rest = steps(item, state.end), way.rest - least[item]
                end = state.end + step.end
                if end + rest > limit:
                    continue
                if self._pinned[item] and not self._scene.may_begin(item, state.end + step.starts[0]):
                    continue
                mine = self._hotspots(item, state.end, step.starts)
                units = way.units + (self._units(state, mine) if mine else 0)
                if units >= self._known:
                    continue
                placed = state.placed | 1 << item
                after = Beginning(placed, upcoming, moved, end, self._window(state.window, mine, placed, end))
                breaks = way.breaks + (item != last + 1)
                if after not in grown or (units, breaks) < grown[after][:2]:
                    grown[after] = Way(units, breaks, rest, (item, way.link))
        return grown

    def _hotspots(self, item: int, end: int, starts: tuple[int, ...]) -> Window:
        """The item's hotspots when its members begin at bits ``starts`` from ``end`` on."""
        found = []
        for number, member, start in self._scene.by_item[item]:
            first = (end + starts[member]) // BYTE + start
            found.append((number, first, first + self._lasts[number]))
        return tuple(found)

    def _units(self, state: Beginning, mine: Window) -> int:
        """What the new hotspots cost with those before them."""
        price, partners = self._scene.prices.price, self._scene.prices.partners
        total = 0
        for place, (number, here, _) in enumerate(mine):
            known = partners.get(number, {})
            for other, there, _ in (*state.window, *mine[:place]):
                if other in known:
                    total += price(number, here, other, there)
        return total

    def _window(self, window: Window, mine: Window, placed: int, end: int) -> Window:
        """Of all these hotspots, those that something still to come may meet."""
        near = end // BYTE - self._scene.prices.reach
        if mine:
            every = sorted((*window, *mine))
            return tuple(spot for spot in every if spot[2] > near and self._enemies[spot[0]] & ~placed)
        return tuple(spot for spot in window if spot[2] > near) if window else window

    def _choices(self, state: Beginning) -> Iterator[tuple[int, int, int]]:
        """Items that may come next, each with the next one of those that stay and the number of moves."""
        rest = next(free for mask in self._segments if (free := mask & ~state.placed))
        if self._few is not None:
            yield from self._limited(state, rest, self._few.moves)
            return
        # The first of each kind: of those that could change places unnoticed, and of those that do not move.
        tried: set[int] = set()
        for item in _bits(rest):
            kind = self._scene.twins[item] if self._items[item].movable else -1
            if kind not in tried:
                tried.add(kind)
                yield item, 0, 0

    def _limited(self, state: Beginning, rest: int, moves: int) -> Iterator[tuple[int, int, int]]:
        """Choices where at most so many items move: a step of one that stays passes over others, which then move."""
        _, upcoming, moved, _, _ = state
        passed = rest & (1 << upcoming) - 1
        left = moves - moved - passed.bit_count()
        ahead = rest ^ passed
        for item in _bits(passed):
            yield item, upcoming, moved + 1
        if left > 0:
            for item in _bits(ahead & self._movable):
                yield item, upcoming, moved + 1
        for item in _bits(ahead):
            yield item, item + 1, moved
            left -= 1
            if left < 0 or not self._movable >> item & 1:
                return

    def _narrowed(self, layer: Layer, width: int) -> Layer:
        """The cheapest beginnings, at most ``width``."""
        if len(layer) <= width:
            return layer
        cheapest = nsmallest(width + 1, layer.items(), key=lambda pair: pair[1][:2])
        self._dropped = min(self._dropped, cheapest.pop()[1].units)
        return dict(cheapest)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _order(link: Link) -> tuple[int, ...]:
    """The items of a beginning, from its last one."""
    order = []
    while link:
        order.append(link[0])
        link = link[1]
    return tuple(reversed(order))
