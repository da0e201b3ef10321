# SPDX-License-Identifier: GPL-2.0-or-later
"""A problem made ready for searching: placed, priced and judged the same way by every search.

``Filling`` looks for an order that puts hot items where they are wanted. C leaves no gap but padding, so the cold items
before a hot one must end less than its alignment before its place; they stay in their own order if they can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from linesmith.analyzer.layouts.placement import BYTE
from linesmith.analyzer.model import Optimality
from linesmith.tuner.packing.prices import FORBIDDEN, Prices
from linesmith.tuner.packing.problem import Packing, PackingProblem, Placer, moved


@dataclass(frozen=True, slots=True)
class JudgedOrder:
    """A legal order: ``units`` of cost, ``size`` in bytes, ``moved`` items, ``lines`` of hotspots; less is better."""

    units: int
    size: int
    moved: int
    lines: float
    order: tuple[int, ...]

    @property
    def rank(self) -> tuple[float, ...]:
        """What orders packings; equals keep the present order as far as they can."""
        return (self.units, self.size, self.moved, self.lines, *self.order)


@dataclass(frozen=True, slots=True)
class SearchedOrder:
    """The best legal order that a search found, ``None`` if no better one than known; no order is below ``bound``.

    The bound is in units.
    """

    best: JudgedOrder | None
    bound: int


class PricedProblem:
    """One problem with its places and prices."""

    def __init__(self, problem: PackingProblem) -> None:
        self.problem = problem
        self.placer = Placer(problem)
        self.prices = Prices(problem)
        self.unit = self.prices.unit
        count = len(problem.items)
        by_item: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]
        for number in sorted(self.prices.partners):
            spot = problem.hotspots[number]
            by_item[spot.item].append((number, spot.member, spot.start))
        self.by_item = tuple(tuple(spots) for spots in by_item)
        self.fixed = tuple(number for number, item in enumerate(problem.items) if not item.movable)

    @cached_property
    def hot(self) -> tuple[int, ...]:
        """Items with a hotspot that clashes with another."""
        return tuple(item for item, spots in enumerate(self.by_item) if spots)

    @cached_property
    def twins(self) -> tuple[int, ...]:
        """For each item the first one that could stand in its place unnoticed: cold, of the same shapes and segment."""
        first: dict[object, int] = {}
        found = []
        for number, item in enumerate(self.problem.items):
            alone = bool(self.by_item[number]) or item.pinned is not None or item.latest is not None
            key = (number,) if alone else (item.shapes, item.segment)
            found.append(first.setdefault(key, number))
        return tuple(found)

    def places(self, order: Sequence[int]) -> tuple[dict[int, int], int] | None:
        """First byte of each clashing hotspot, and the end in bits; ``None`` if a pin or the size limit is broken."""
        end = 0
        found: dict[int, int] = {}
        for item in order:
            step = self.placer.step(item, end)
            if not self.may_begin(item, end + step.starts[0]):
                return None
            for number, member, start in self.by_item[item]:
                found[number] = (end + step.starts[member]) // BYTE + start
            end += step.end
        return (found, end) if end <= self.placer.limit else None

    def begins(self) -> list[int]:
        """First bit of each item in the present order."""
        end = 0
        found = []
        for item in range(len(self.problem.items)):
            step = self.placer.step(item, end)
            found.append(end + step.starts[0])
            end += step.end
        return found

    def may_begin(self, item: int, bit: int) -> bool:
        """Whether the item may begin at this bit of the record."""
        one = self.problem.items[item]
        if one.pinned is not None and bit // BYTE != one.pinned:
            return False
        return one.latest is None or bit // BYTE <= one.latest

    def units(self, places: dict[int, int]) -> int:
        """What hotspots at these places cost."""
        price = self.prices.price
        return sum(price(one, places[one], other, places[other]) for one, other in self.prices.pairs)

    def judge(self, order: Sequence[int]) -> JudgedOrder | None:
        """The order judged, ``None`` if it is not legal; segments are the caller's to keep."""
        placed = self.places(order)
        if placed is None:
            return None
        places, end = placed
        units, size, leaving = self.units(places), self.placer.size(end), len(moved(order, self.fixed))
        fixed = [item for item in order if item in self.fixed]
        if units >= FORBIDDEN or size < self.problem.size_floor or fixed != sorted(fixed):
            return None
        return JudgedOrder(units, size, leaving, self.lines(places), tuple(order))

    def lines(self, places: dict[int, int]) -> float:
        """Lines that hold hotspots, averaged over the phases of the first grid."""
        grid = self.problem.grids[0]
        total = sum(share for _, share in grid.phases) or 1.0
        found = 0.0
        for phase, share in grid.phases:
            lines: set[int] = set()
            for number, start in places.items():
                first = start + self.problem.base + phase
                last = first + self.problem.hotspots[number].size - 1
                lines.update(range(first // grid.line_bytes, last // grid.line_bytes + 1))
            found += share * len(lines)
        return found / total

    def packing(self, judged: JudgedOrder, bound: int) -> Packing:
        """The order as an answer with this bound, in units; one beyond its cost is its cost."""
        proven = bound >= judged.units
        optimality = Optimality(judged.units * self.unit, min(bound, judged.units) * self.unit, proven)
        return Packing(judged.order, moved(judged.order, self.fixed), optimality)


@dataclass(frozen=True, slots=True)
class Filled:
    """The order found; ``None`` is a proof that there is none if ``all_tried``."""

    order: tuple[int, ...] | None
    all_tried: bool
    steps: int


def fill_roughly(scene: PricedProblem, wanted: Mapping[int, int]) -> tuple[int, ...]:
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

    def __init__(self, scene: PricedProblem, wanted: Mapping[int, int], work: int) -> None:
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


def rooms(scene: PricedProblem) -> tuple[tuple[int, int], ...]:
    """For each item the first bit at which it may begin, and the bit at which it must have ended."""
    items, least = scene.problem.items, scene.placer.least
    segments: dict[int, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        segments[item.segment].append(number)
    # The earliest bit of each segment: those before it are at best without a hole, and one alone is placed exactly.
    begin: dict[int, int] = {}
    at = 0
    for segment, numbers in sorted(segments.items()):
        begin[segment] = at
        if len(numbers) > 1:
            at += sum(least[number] for number in numbers)
            continue
        pinned = items[numbers[0]].pinned
        at = max(at, 0 if pinned is None else pinned * BYTE)
        at += scene.placer.step(numbers[0], at).end
    end: dict[int, int] = {}
    room = scene.placer.limit
    for segment in sorted(segments, reverse=True):
        end[segment] = room
        room -= sum(least[number] for number in segments[segment])
        pins = [items[number].pinned for number in segments[segment]]
        if len(pins) == 1 and pins[0] is not None:
            room = min(room, (pins[0] + 1) * BYTE - 1)
    return tuple((begin[item.segment], end[item.segment]) for item in items)
