# SPDX-License-Identifier: GPL-2.0-or-later
"""A problem made ready for searching: placed, priced and judged the same way by every solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from linesmith.analyzer.geometry.placement import BYTE
from linesmith.tuner.packing.companies import Companies, most
from linesmith.tuner.packing.order import moved
from linesmith.tuner.packing.placer import Placer
from linesmith.tuner.packing.prices import FORBIDDEN, Prices
from linesmith.tuner.packing.problem import Packing, Problem


@dataclass(frozen=True, slots=True)
class Judged:
    """A legal order: ``units`` of cost, ``size`` in bytes, ``moved`` items, ``lines`` of hotspots; less is better."""

    units: int
    size: int
    moved: int
    lines: float
    order: tuple[int, ...]

    @property
    def merit(self) -> tuple[float, ...]:
        """What orders packings; equals keep the present order as far as they can."""
        return (self.units, self.size, self.moved, self.lines, *self.order)


class Scene:
    """One problem with its places and prices."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.placer = Placer(problem)
        company = problem.company
        self.prices = Prices(problem, most(problem, company) if company else 0.0)
        self.unit = self.prices.unit
        self.companies = Companies(problem, company, self.unit) if company else None
        count = len(problem.items)
        by_item: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]
        for number in sorted({*self.prices.partners, *range(company.count if company else 0)}):
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

    def begins(self, order: Sequence[int]) -> dict[int, int]:
        """First bit of each item in this order."""
        end = 0
        found = {}
        for item in order:
            step = self.placer.step(item, end)
            found[item] = end + step.starts[0]
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
        pairs = sum(price(one, places[one], other, places[other]) for one, other in self.prices.pairs)
        if self.companies and self.problem.company:
            mine = [(number, place) for number, place in places.items() if number < self.problem.company.count]
            return pairs + self.companies.alone + self.companies.added(mine, ())
        return pairs

    def judge(self, order: Sequence[int]) -> Judged | None:
        """The order judged, ``None`` if it is not legal; segments are the caller's to keep."""
        placed = self.places(order)
        if placed is None:
            return None
        places, end = placed
        units, size, leaving = self.units(places), self.placer.size(end), len(moved(order, self.fixed))
        kept = [item for item in order if item in self.fixed]
        if units >= FORBIDDEN or size < self.problem.size_floor or kept != sorted(kept):
            return None
        return Judged(units, size, leaving, self.lines(places), tuple(order))

    def lines(self, places: dict[int, int]) -> float:
        """Lines that hold hotspots, averaged over the phases of the first grid."""
        if not self.problem.grids:
            return 0.0
        grid = self.problem.grids[0]
        total = sum(share for _, share in grid.phases) or 1.0
        return sum(share * self._lines(places, phase, grid.line_bytes) for phase, share in grid.phases) / total

    def _lines(self, places: dict[int, int], phase: int, line_bytes: int) -> int:
        found: set[int] = set()
        for number, start in places.items():
            first = start + self.problem.base + phase
            last = first + self.problem.hotspots[number].size - 1
            found.update(range(first // line_bytes, last // line_bytes + 1))
        return len(found)

    def packing(self, judged: Judged, bound: int) -> Packing:
        """The order as an answer."""
        leaving = moved(judged.order, self.fixed)
        cost = judged.units * self.unit + self.prices.offset
        answer = Packing(judged.order, cost, 0.0, False, judged.size, leaving, judged.lines)
        return self.with_bound(answer, bound)

    def with_bound(self, packing: Packing, bound: int) -> Packing:
        """The answer with this bound, in units; one beyond its cost is its cost."""
        units = round((packing.cost - self.prices.offset) / self.unit)
        if bound >= units:
            return replace(packing, bound=packing.cost, proven=True)
        return replace(packing, bound=bound * self.unit + self.prices.offset, proven=False)
