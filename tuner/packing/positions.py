# SPDX-License-Identifier: GPL-2.0-or-later
"""Places for the hot items alone, then an order that puts them there: branch and bound over all orders at once.

Left out is whether cold items can fill the gaps. Every legal order puts the hot items somewhere without overlap, so the
cheapest places cost no more than the cheapest order: that is the bound. Places are given to one hot item after the
other. What the rest must cost is at least the sum of what each of them costs, alone, with those that have a place.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.layouts.placement import BYTE
from linesmith.tuner.packing.prices import FORBIDDEN
from linesmith.tuner.packing.scene import Filling, JudgedOrder, PricedProblem, SearchedOrder, fill_roughly, rooms

# Items tried when the gaps between hot items are filled for one set of places, and what part of a place one counts.
FILL_WORK = 2_000
FILL_SHARE = 0.1

Places = NDArray[np.int64]


class PlacePrices:
    """What one hot item at its place costs all others at theirs, as arrays; places are multiples of ``step`` bits.

    Prices depend on a place modulo the longest line and the largest alignment only, so each array is made once.
    """

    def __init__(self, scene: PricedProblem, hot: tuple[int, ...], step: int) -> None:
        self._scene = scene
        self._hot = hot
        self._step = step
        self._period = lcm(scene.placer.modulus, scene.prices.period * BYTE, step)
        self._tables = {
            (one, other): np.array(table)
            for one, others in scene.prices.partners.items()
            for other, table in others.items()
        }
        self._ends = [np.array([scene.placer.step(item, at).end for at in self._residues]) for item in hot]
        sizes = [int(ends.max()) for ends in self._ends]
        spots = [scene.problem.hotspots[number].size * BYTE for number in scene.prices.partners]
        self._reach = scene.prices.reach * BYTE + max([0, *sizes]) + max([0, *spots])
        self._blocks: dict[tuple[int, int], NDArray[np.int64]] = {}
        self._starts = lru_cache(maxsize=None)(self._starts_of)

    @property
    def _residues(self) -> range:
        return range(0, self._period, self._step)

    def lengths(self, number: int, places: Places) -> Places:
        """Bits from each place to the end of hot item ``number`` there."""
        found: Places = self._ends[number][places % self._period // self._step]
        return found

    def alone(self, number: int, places: Places) -> Places:
        """What the item costs at each place by itself; forbidden where it cannot begin."""
        inside = self._scene.by_item[self._hot[number]]
        first = self._starts(number, 0)[places % self._period // self._step]
        total = np.where(first == 0, 0, FORBIDDEN)
        for at, (one, member, start) in enumerate(inside):
            for other, second, begin in inside[:at]:
                if (one, other) in self._tables:
                    here = self._bytes(number, member, places) + start
                    there = self._bytes(number, second, places) + begin
                    total = total + self._priced(one, here, other, there)
        return total

    def block(self, number: int, place: int) -> tuple[int, NDArray[np.int64]]:
        """The first column's place, and units by hot item (row) and place (column); item ``number`` is at ``place``."""
        reach = -(-self._reach // self._step)
        residue = place * self._step % self._period
        if (number, residue) not in self._blocks:
            # Moved up by whole periods, so that no place is negative.
            here = residue + -(-reach * self._step // self._period) * self._period
            places = here + np.arange(-reach, reach + 1, dtype=np.int64) * self._step
            rows = [
                np.zeros(len(places), dtype=np.int64) if other == number else self._row(number, here, other, places)
                for other in range(len(self._hot))
            ]
            self._blocks[number, residue] = np.array(rows)
        return place - reach, self._blocks[number, residue]

    def _row(self, number: int, here: int, other: int, places: Places) -> Places:
        """Units of hot item ``other`` at each of ``places`` with item ``number`` at bit ``here``."""
        end = here + int(self.lengths(number, np.array([here]))[0])
        overlap = (places < end) & (places + self.lengths(other, places) > here)
        total = np.where(overlap, FORBIDDEN, 0)
        at = np.array([here])
        for one, member, start in self._scene.by_item[self._hot[number]]:
            for two, second, begin in self._scene.by_item[self._hot[other]]:
                if (one, two) in self._tables:
                    mine = int(self._bytes(number, member, at)[0]) + start
                    there = self._bytes(other, second, places) + begin
                    total = total + self._priced(one, np.array([mine]), two, there)
        return total

    def _priced(self, one: int, here: Places, other: int, there: Places) -> Places:
        """Units of two hotspots at these bytes of the record."""
        table = self._tables[one, other]
        distance = there - here + self._scene.prices.reach + self._scene.problem.hotspots[other].size
        inside = (distance >= 0) & (distance < table.shape[1])
        row = (here + self._scene.problem.base) % self._scene.prices.period
        found: Places = np.where(inside, table[row, np.clip(distance, 0, table.shape[1] - 1)], 0)
        return found

    def _bytes(self, number: int, member: int, places: Places) -> Places:
        """First byte of the item's member where the item is placed behind each of ``places``."""
        begin: Places = (places + self._starts(number, member)[places % self._period // self._step]) // BYTE
        return begin

    def _starts_of(self, number: int, member: int) -> Places:
        item = self._hot[number]
        return np.array([self._scene.placer.step(item, at).starts[member] for at in self._residues])


class Positions:
    """The search over one scene for orders that cost less than ``known`` units."""

    def __init__(self, scene: PricedProblem, work: int, known: int) -> None:
        self._scene = scene
        self._left = float(work)
        self._known = known
        self._open = known
        self._best: JudgedOrder | None = None
        self._hot = scene.hot
        # Bits between places at which hot items can begin.
        shapes = [scene.problem.items[item].shapes[0] for item in self._hot]
        self._step = gcd(*(one.alignment if one.width is None else one.forced for one in shapes)) or 1
        self._near = PlacePrices(scene, self._hot, self._step)
        self._price = self._first_prices()
        present = scene.begins()
        self._home = np.array([present[item] // self._step for item in self._hot])
        self._at = np.full(len(self._hot), -1)

    def run(self) -> SearchedOrder:
        """Search until all places are tried or the work is done."""
        self._search(0)
        return SearchedOrder(self._best, min(self._open, self._known))

    def _first_prices(self) -> NDArray[np.int64]:
        """For each hot item and place what it costs there by itself; forbidden where it cannot be."""
        places = np.arange(self._scene.placer.limit // self._step + 1) * self._step
        limits = rooms(self._scene)
        rows = []
        for number, item in enumerate(self._hot):
            begin, end = limits[item]
            alone = self._near.alone(number, places)
            fits = (places >= begin) & (places + self._near.lengths(number, places) <= end)
            fits &= [self._scene.may_begin(item, int(place)) for place in places]
            rows.append(np.where(fits, alone, FORBIDDEN))
        return np.array(rows, dtype=np.int64).reshape(len(self._hot), len(places))

    def _search(self, spent: int) -> None:
        """Give a place to one more item; ``spent`` units are those between items that have one."""
        free = np.flatnonzero(self._at < 0)
        if not len(free):
            self._finish(spent)
            return
        cheapest = self._price[free].min(axis=1)
        bound = spent + int(cheapest.sum())
        if bound >= self._known:
            return
        allowed = self._known - bound + cheapest
        pick = int(np.argmin((self._price[free] < allowed[:, None]).sum(axis=1)))
        number = int(free[pick])
        others = bound - int(cheapest[pick]) - spent
        # Places that cost less than allowed, cheapest first, then those nearest to the present one.
        prices = self._price[number]
        places = np.flatnonzero(prices < allowed[pick])
        for place in places[np.lexsort((places, np.abs(places - self._home[number]), prices[places]))]:
            price = int(self._price[number, place])
            if spent + price + others >= self._known:
                return
            if self._left <= 0:
                self._open = min(self._open, spent + price + others)
                return
            self._place(number, int(place), spent + price)

    def _place(self, number: int, place: int, spent: int) -> None:
        """Search on with the item at this place."""
        self._left -= 1
        self._at[number] = place
        begin, block = self._near.block(number, place)
        first, last = max(begin, 0), min(begin + block.shape[1], self._price.shape[1])
        part = block[:, first - begin : last - begin]
        self._price[:, first:last] += part
        self._search(spent)
        self._price[:, first:last] -= part
        self._at[number] = -1

    def _finish(self, spent: int) -> None:
        """All hot items have a place: find an order for it."""
        wanted = {item: int(self._at[number]) * self._step for number, item in enumerate(self._hot)}
        filled = Filling(self._scene, wanted, FILL_WORK).run()
        self._left -= filled.steps * FILL_SHARE
        if filled.order or not filled.all_tried:
            self._open = min(self._open, spent)
        judged = self._scene.judge(filled.order or fill_roughly(self._scene, wanted))
        if judged and judged.units < self._known:
            self._best, self._known = judged, judged.units
