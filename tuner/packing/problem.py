# SPDX-License-Identifier: GPL-2.0-or-later
"""A record made ready for packing: its atoms placed one behind the other, with a price for hot bytes that share a line.

The prices are those of ``tuner.cost.meetings`` in whole units, so that sums are exact and ties are ties.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from math import lcm
from typing import NamedTuple

from linesmith.analyzer.layouts.placement import BYTE, bit_field_start, round_up
from linesmith.tuner.propose.arrangement import Arrangement, price, staying_atoms
from linesmith.tuner.propose.subject import ContendedRecord

# The heaviest possible cost is this many units; one unit is the smallest difference that is told apart.
UNITS = 10**11
# What no legal order costs: the price of members that must be apart and are not.
FORBIDDEN = 10**14
MOST_PRICES = 1 << 16


class PlacedItem(NamedTuple):
    """What placing an atom adds, in bits from the end before it: the new ``end``, and where its members begin."""

    end: int
    starts: tuple[int, ...]


class ItemSpot(NamedTuple):
    """``size`` bytes from byte ``start`` of member number ``member`` of an atom; ``number`` is among all spots."""

    number: int
    member: int
    start: int
    size: int


class JudgedOrder(NamedTuple):
    """A legal order with its cost and how many atoms move; less is better, and equals keep to the present order."""

    units: int
    moves: int
    order: tuple[int, ...]


class PackingProblem:
    """The orders of the atoms of ``target`` in which the record has its present size.

    ``limit`` is that size in bits, ``least`` the bits of each atom without holes, ``spots`` its hot bytes and those
    that must be apart from others, ``enemies`` the atoms, a bit each, that each spot has a price with.
    """

    def __init__(self, target: ContendedRecord) -> None:
        freedom, heat = target.freedom, target.heat
        self.target = target
        shapes = [shape for atom in target.shapes for shape in atom]
        steps = [step for shape in shapes for step in (shape.alignment, shape.forced)]
        # All alignments are powers of two, so what an atom adds depends on the end before it modulo the largest one.
        self._modulus = lcm((target.layout.alignment or 1) * BYTE, *steps)
        size = target.layout.size if freedom.ceiling is None else min(target.layout.size, freedom.ceiling)
        self.limit = size * BYTE // self._modulus * self._modulus
        self.least = tuple(
            sum(shape.size if shape.width is None else shape.width for shape in atom) for atom in target.shapes
        )
        self._pinned = freedom.pinned
        self.fixed = tuple(atom for atom, part in enumerate(target.parts) if not part.name)
        self._placed = lru_cache(maxsize=None)(self._placed_at)
        self.price = lru_cache(maxsize=MOST_PRICES)(self._price)

        ends = [end for pair in freedom.apart for end in (pair.first, pair.second)]
        places = [
            *((spot.member, spot.start, spot.size) for spot in heat.spots),
            *((end.position, end.start, max(end.size, 1)) for end in ends),
        ]
        first, numbers = len(heat.spots), {spot: number for number, spot in enumerate(heat.spots)}
        self._lines = {(first + 2 * at, first + 2 * at + 1): one.line_bytes for at, one in enumerate(freedom.apart)}
        self._weights = {
            (min(pair), max(pair)): one.weight
            for one in heat.contacts
            if (pair := (numbers[one.first], numbers[one.second])) and one.weight
        }
        self._pairs = (*self._weights, *self._lines)
        self._unit = 2 * sum(self._weights.values()) / UNITS or 1.0
        self.reach = max([heat.line_bytes, *self._lines.values()])
        clashing = {number for pair in self._pairs for number in pair}
        self.spots: list[list[ItemSpot]] = [[] for _ in target.parts]
        for number, (position, start, length) in enumerate(places):
            if number in clashing:
                atom = target.owners[position]
                member = target.positions[atom].index(position)
                self.spots[atom].append(ItemSpot(number, member, start, length))
        self._places = places
        self.enemies = defaultdict[int, int](int)
        for one, other in self._pairs:
            self.enemies[one] |= 1 << target.owners[places[other][0]]
            self.enemies[other] |= 1 << target.owners[places[one][0]]

    def step(self, item: int, end: int) -> PlacedItem:
        """Atom ``item`` placed behind ``end`` bits."""
        return self._placed(item, end % self._modulus)

    def _placed_at(self, item: int, residue: int) -> PlacedItem:
        end = residue
        starts: list[int] = []
        for shape in self.target.shapes[item]:
            start = round_up(end, shape.alignment) if shape.width is None else bit_field_start(shape, end)
            end = start + (shape.size if shape.width is None else shape.width)
            starts.append(start - residue)
        return PlacedItem(end - residue, tuple(starts))

    def may_begin(self, item: int, bit: int) -> bool:
        """Whether the atom may begin at this bit of the record: one that keeps its offset only there."""
        pinned = self._pinned.get(item)
        return pinned is None or bit // BYTE == pinned

    def _price(self, one: int, here: int, other: int, there: int) -> int:
        """Units that two spots cost that begin at these bytes of the record."""
        pair = (one, other) if one < other else (other, one)
        weight, line_bytes = self._weights.get(pair, 0.0), self._lines.get(pair)
        if not weight and line_bytes is None:
            return 0
        (begin, nearer), (first, _) = sorted(((here, one), (there, other)))
        last = begin + self._places[nearer][2] - 1
        if line_bytes is not None:
            return FORBIDDEN if first <= last or first // line_bytes == last // line_bytes else 0
        heat, base = self.target.heat, self.target.base
        mixes = heat.mix(heat.granule), heat.here(heat.granule)
        share = sum(mix.share(base + last, base + first, heat.line_bytes) for mix in mixes)
        return round(weight * share / self._unit)

    def judge(self, order: tuple[int, ...]) -> JudgedOrder | None:
        """The order judged, ``None`` if it is not legal or another size follows: such objects begin elsewhere."""
        target = self.target
        option = price(target, Arrangement(order))
        fixed = [item for item in order if item in self.fixed]
        if option.size != target.layout.size or fixed != sorted(fixed):
            return None
        if target.freedom.refuses(order, option.starts, option.size) is not None:
            return None
        begins = [option.starts[position] + start - target.base for position, start, _ in self._places]
        units = sum(self.price(one, begins[one], other, begins[other]) for one, other in self._pairs)
        staying = staying_atoms(order, [1] * len(order), self.fixed)
        return JudgedOrder(units, len(order) - len(staying), order)
