# SPDX-License-Identifier: GPL-2.0-or-later
"""Places for the hot items alone, then an order that puts them there: branch and bound over all orders at once.

Left out is whether cold items can fill the gaps. Every legal order puts the hot items somewhere without overlap, so the
cheapest places cost no more than the cheapest order: that is the bound. Places are given to one hot item after the
other. What the rest must cost is at least the sum of what each of them costs, alone, with those that have a place.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from linesmith.tuner.packing.fill import Filling, fill_roughly
from linesmith.tuner.packing.neighbours import Neighbours
from linesmith.tuner.packing.prices import FORBIDDEN
from linesmith.tuner.packing.rooms import rooms
from linesmith.tuner.packing.scene import Judged, Scene

# Items tried when the gaps between hot items are filled for one set of places, and what part of a place one counts.
FILL_WORK = 2_000
FILL_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Settled:
    """The cheapest order found, if any is cheaper than what was known, and a bound for all orders."""

    best: Judged | None
    bound: int
    steps: int


class Positions:
    """The search over one scene for orders that cost less than ``known`` units."""

    def __init__(self, scene: Scene, work: int, known: int) -> None:
        self._scene = scene
        self._left = float(work)
        self._work = work
        self._known = known
        self._open = known
        self._best: Judged | None = None
        self._hot = scene.hot
        self._step = gcd(*(_grid_step(scene, item) for item in self._hot)) if self._hot else 1
        self._near = Neighbours(scene, self._hot, self._step)
        self._far = [self._near.far(number) for number in range(len(self._hot))]
        self._price = self._first_prices()
        present = scene.begins(range(len(scene.problem.items)))
        self._home = np.array([present[item] // self._step for item in self._hot])
        self._at = np.full(len(self._hot), -1)

    def run(self) -> Settled:
        """Search until all places are tried or the work is done."""
        self._search(0)
        return Settled(self._best, min(self._open, self._known), int(self._work - self._left))

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
        for place in self._ranked(number, int(allowed[pick])):
            price = int(self._price[number, place])
            if spent + price + others >= self._known:
                return
            if self._left <= 0:
                self._open = min(self._open, spent + price + others)
                return
            self._place(number, int(place), spent + price)

    def _ranked(self, number: int, allowed: int) -> NDArray[np.intp]:
        """Places that cost less than ``allowed``, cheapest first, then those nearest to the present one."""
        prices = self._price[number]
        places = np.flatnonzero(prices < allowed)
        return places[np.lexsort((places, np.abs(places - self._home[number]), prices[places]))]

    def _place(self, number: int, place: int, spent: int) -> None:
        """Search on with the item at this place."""
        self._left -= 1
        self._at[number] = place
        begin, block = self._near.block(number, place)
        first, last = max(begin, 0), min(begin + block.shape[1], self._price.shape[1])
        part = block[:, first - begin : last - begin]
        far = self._far[number][:, None]
        self._price[:, first:last] += part
        self._price += far
        self._search(spent)
        self._price -= far
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


def _grid_step(scene: Scene, item: int) -> int:
    """Bits between places at which the item can begin."""
    shape = scene.problem.items[item].shapes[0]
    return shape.alignment if shape.width is None else shape.forced
