# SPDX-License-Identifier: GPL-2.0-or-later
"""A record packed anew: its cheapest orders by number of moves, of a small record also the cheapest of all.

Orders are built from front to back, all at once: those that the rest cannot tell apart are one, the cheaper one. What
an order still can cost depends on which atoms are placed, where they end, and which spots may share a line with what
follows. Of two beginnings that agree in these the dearer one is dropped (Bellman 1957; Held and Karp 1962). Nothing
else is, unless the work would exceed its limit; then the cheapest stay.
Prices are those of ``tuner.propose.meetings`` in whole units, so that sums are exact and ties are ties.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest
from math import lcm
from typing import NamedTuple

from linesmith.analyzer.layouts.placement import BYTE, bit_field_start, place_shapes, round_up
from linesmith.analyzer.model import Strategy
from linesmith.tuner.propose.arrangement import Arrangement, move_in, staying_atoms
from linesmith.tuner.propose.subject import ContendedRecord

# The heaviest possible cost is this many units; one unit is the smallest difference that is distinguished.
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
        placed = place_shapes((shape for item in order for shape in target.shapes[item]), target.layout.alignment)
        fixed = [item for item in order if item in self.fixed]
        if placed.size != target.layout.size or fixed != sorted(fixed):
            return None
        positions = (position for item in order for position in target.positions[item])
        starts = [bit // BYTE for _, bit in sorted(zip(positions, placed.starts, strict=True))]
        if target.freedom.refuses(order, tuple(target.base + start for start in starts), placed.size) is not None:
            return None
        begins = [starts[position] + start for position, start, _ in self._places]
        units = sum(self.price(one, begins[one], other, begins[other]) for one, other in self._pairs)
        staying = staying_atoms(order, [1] * len(order), self.fixed)
        return JudgedOrder(units, len(order) - len(staying), order)

    def few(self, moves: int) -> Few:
        """So many moves; in a long record several at once are those of hot atoms."""
        movable = [item for item in range(len(self.spots)) if item not in self.fixed]
        if moves > 1 and len(movable) > FEW_ITEMS:
            movable = [item for item in movable if self.spots[item]]
        return Few(moves, sum(1 << item for item in movable))

    def undone(self, judged: JudgedOrder) -> JudgedOrder:
        """The order with every move taken back that saves nothing, one after the other."""
        here = judged
        for item in self._moved(judged.order):
            # The item behind the last of its predecessors that stays, as in the present order.
            leaving = self._moved(here.order)
            rest = [one for one in here.order if one != item]
            before = [one for one in rest if one < item and one not in leaving]
            place = rest.index(max(before)) + 1 if before else 0
            back = self.judge((*rest[:place], item, *rest[place:]))
            if back and back.units <= here.units and back.moves < here.moves:
                here = back
        return here

    def _moved(self, order: tuple[int, ...]) -> tuple[int, ...]:
        staying = staying_atoms(order, [1] * len(order), self.fixed)
        return tuple(item for item in order if item not in staying)

    def arrangement(self, order: tuple[int, ...]) -> Arrangement:
        """The order with the moves that make it."""
        moved = self._moved(order)
        moves = tuple(move_in(self.target, item, order) for item in moved)
        return Arrangement(order, {}, moves, moved, Strategy.PACKED if len(moves) > 1 else None)


# Beginnings of orders looked at for each number of moves: about a second for all of them.
WORK = 20_000
# Of so few moves the best are sought among all orders that so many moves make.
FEW_MOVES = 3
# Up to so many atoms each may be one of several that move; of more, the hot ones.
FEW_ITEMS = 12
# Up to so many atoms all orders are looked at, with so many times the work.
SMALL, SMALL_WORK = 14, 4
# More units than any legal order has.
NOTHING_KNOWN = 2 * UNITS

Link = tuple[int, "Link"] | None
# Spots by number, with the first byte and the last.
Window = tuple[tuple[int, int, int], ...]


class Beginning(NamedTuple):
    """Atoms placed (a bit each), the next one of those that stay, how many moved, the end in bits, spots in reach.

    Where moves are not limited, ``next`` and ``moved`` are 0.
    """

    placed: int
    next: int
    moved: int
    end: int
    window: Window


class Way(NamedTuple):
    """How a beginning came about: its units, atoms that do not follow their predecessor, bits of the atoms left."""

    units: int
    breaks: int
    rest: int
    link: Link


Layer = dict[Beginning, Way]


@dataclass(frozen=True, slots=True)
class Few:
    """At most ``moves`` atoms leave their place, and only those of ``movable``, a bit each."""

    moves: int
    movable: int


def packed(target: ContendedRecord, work: int = WORK) -> tuple[Arrangement, ...]:
    """The cheapest orders by number of moved atoms, fewest first; none where the present one is best or none is legal.

    The same record and ``work`` give the same answer.
    """
    problem = PackingProblem(target)
    best = problem.judge(tuple(range(len(target.parts))))
    found: list[JudgedOrder] = []
    for moves in range(1, FEW_MOVES + 1):
        if better := Sequences(problem, work, best, problem.few(moves)).run():
            best = better
            found.append(better)
    if len(target.parts) <= SMALL and (better := Sequences(problem, work * SMALL_WORK, best).run()):
        found.append(problem.undone(better))
    return tuple(problem.arrangement(one.order) for one in found)


class Sequences:
    """The search for orders that cost less than ``known``; ``work`` limits the beginnings looked at."""

    def __init__(self, problem: PackingProblem, work: int, known: JudgedOrder | None, few: Few | None = None) -> None:
        self._problem = problem
        self._work = work
        self._known = known.units if known else NOTHING_KNOWN
        self._few = few
        self._steps = 0
        segments = problem.target.freedom.segments
        # The atoms of each segment, a bit each, in the order of the segments.
        self._segments = [
            sum(1 << item for item, one in enumerate(segments) if one == segment) for segment in sorted(set(segments))
        ]
        # For each atom the first one that could stand in its place unnoticed: cold, of the same shapes and segment.
        first: dict[object, int] = {}
        self._twins = []
        for item, (shapes, segment) in enumerate(zip(problem.target.shapes, segments, strict=True)):
            alone = problem.spots[item] or item in problem.target.freedom.pinned
            self._twins.append(first.setdefault((item,) if alone else (shapes, segment), item))

    def run(self) -> JudgedOrder | None:
        """The cheapest of all orders, as far as the work allows; ``None`` where none is cheaper than what is known."""
        problem = self._problem
        layer: Layer = {Beginning(0, 0, 0, 0, ()): Way(0, 0, sum(problem.least), None)}
        for rest in range(len(problem.least), 0, -1):
            before, count = self._steps, len(layer)
            layer = self._longer(layer)
            each = max(1, (self._steps - before) // max(1, count))
            width = max(1, (self._work - self._steps) // (rest * each))
            if len(layer) > width:
                layer = dict(nsmallest(width, layer.items(), key=lambda pair: pair[1][:2]))
        best: JudgedOrder | None = None
        for way in sorted(layer.values(), key=lambda one: one[:2]):
            if best and way.units > best.units:
                break
            judged = problem.judge(_order(way.link))
            best = min(filter(None, (best, judged)), default=None)
        return best

    def _longer(self, layer: Layer) -> Layer:
        """The beginnings with one atom more."""
        least, steps, limit = self._problem.least, self._problem.step, self._problem.limit
        grown: Layer = {}
        for state, way in layer.items():
            last = way.link[0] if way.link else -1
            for item, upcoming, moved in self._choices(state):
                self._steps += 1
                step, rest = steps(item, state.end), way.rest - least[item]
                end = state.end + step.end
                if end + rest > limit:
                    continue
                if not self._problem.may_begin(item, state.end + step.starts[0]):
                    continue
                mine = self._spots(item, state.end, step.starts)
                units = way.units + (self._units(state, mine) if mine else 0)
                if units >= self._known:
                    continue
                placed = state.placed | 1 << item
                after = Beginning(placed, upcoming, moved, end, self._window(state.window, mine, placed, end))
                breaks = way.breaks + (item != last + 1)
                if after not in grown or (units, breaks) < grown[after][:2]:
                    grown[after] = Way(units, breaks, rest, (item, way.link))
        return grown

    def _spots(self, item: int, end: int, starts: tuple[int, ...]) -> Window:
        """The atom's spots when its members begin at bits ``starts`` from ``end`` on."""
        found = []
        for number, member, start, size in self._problem.spots[item]:
            first = (end + starts[member]) // BYTE + start
            found.append((number, first, first + size - 1))
        return tuple(found)

    def _units(self, state: Beginning, mine: Window) -> int:
        """What the new spots cost with those before them."""
        price = self._problem.price
        return sum(
            price(number, here, other, there)
            for place, (number, here, _) in enumerate(mine)
            for other, there, _ in (*state.window, *mine[:place])
        )

    def _window(self, window: Window, mine: Window, placed: int, end: int) -> Window:
        """Of all these spots, those that something still to come may meet."""
        near = end // BYTE - self._problem.reach
        if mine:
            every = sorted((*window, *mine))
            return tuple(spot for spot in every if spot[2] > near and self._problem.enemies[spot[0]] & ~placed)
        return tuple(spot for spot in window if spot[2] > near) if window else window

    def _choices(self, state: Beginning) -> Iterator[tuple[int, int, int]]:
        """Atoms that may come next, each with the next one of those that stay and the number of moves."""
        rest = next(free for mask in self._segments if (free := mask & ~state.placed))
        if self._few is not None:
            yield from self._limited(state, rest, self._few)
            return
        # The first of each kind: of those that could change places unnoticed, and of those that do not move.
        tried: set[int] = set()
        for item in _bits(rest):
            kind = -1 if item in self._problem.fixed else self._twins[item]
            if kind not in tried:
                tried.add(kind)
                yield item, 0, 0

    def _limited(self, state: Beginning, rest: int, few: Few) -> Iterator[tuple[int, int, int]]:
        """Choices where at most so many atoms move: a step of one that stays passes over others, which then move."""
        _, upcoming, moved, _, _ = state
        passed = rest & (1 << upcoming) - 1
        left = few.moves - moved - passed.bit_count()
        ahead = rest ^ passed
        for item in _bits(passed):
            yield item, upcoming, moved + 1
        if left > 0:
            for item in _bits(ahead & few.movable):
                yield item, upcoming, moved + 1
        for item in _bits(ahead):
            yield item, item + 1, moved
            left -= 1
            if left < 0 or not few.movable >> item & 1:
                return


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _order(link: Link) -> tuple[int, ...]:
    """The atoms of a beginning, from its last one."""
    order = []
    while link:
        order.append(link[0])
        link = link[1]
    return tuple(reversed(order))
