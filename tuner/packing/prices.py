# SPDX-License-Identifier: GPL-2.0-or-later
"""What hotspots cost at their places, as whole numbers so that sums are exact and ties are ties.

No price is negative. The price of a pair depends on the first one's byte modulo the longest line and on the distance to
the other: it is looked up in a table made once for each pair of sizes.
"""

from __future__ import annotations

from collections import defaultdict
from math import lcm

import numpy as np
from numpy.typing import NDArray

from linesmith.tuner.packing.problem import Grid, PackingProblem

Numbers = NDArray[np.int64]
# The heaviest possible cost is this many units; one unit is the smallest difference that is told apart.
UNITS = 10**11
# What no order can cost: the price of what must be apart and is not.
FORBIDDEN = 10**14


class Prices:
    """Prices of the clashes of one problem.

    ``unit`` is how much cost one unit is, ``reach`` the distance in bytes from which on two hotspots cost nothing.
    """

    def __init__(self, problem: PackingProblem) -> None:
        self._problem = problem
        sizes = [*(grid.line_bytes for grid in problem.grids), *(one.line_bytes for one in problem.apart)]
        self.period = lcm(1, *sizes)
        self.reach = max(sizes, default=1)
        self._meetings: dict[tuple[int, int], Numbers] = {}
        whole = sum(share for grid in problem.grids for _, share in grid.phases)
        self.pairs = _pairs(problem)
        most = whole * sum(weight for weight, _ in self.pairs.values())
        self.unit = most / UNITS if most else 1.0
        self.partners: dict[int, dict[int, list[list[int]]]] = defaultdict(dict)
        for one, other in self.pairs:
            self.partners[one][other] = self._table(one, other)
            self.partners[other][one] = self._table(other, one)

    def _table(self, one: int, other: int) -> list[list[int]]:
        """Units by the byte of ``one`` modulo the period, and by the distance to ``other`` plus the reach of both."""
        sizes = self._problem.hotspots[one].size, self._problem.hotspots[other].size
        if sizes not in self._meetings:
            self._meetings[sizes] = _meetings(sizes, self._problem.grids, self.period, self.reach)
        weight, lines = self.pairs[min(one, other), max(one, other)]
        costs = [weight * share for grid in self._problem.grids for _, share in grid.phases]
        by_phase = np.rint(np.array(costs) / self.unit).astype(np.int64)
        units = np.tensordot(by_phase, self._meetings[sizes], axes=1)
        for line_bytes in lines:
            grid = Grid(line_bytes, ((-self._problem.base, 1.0),))
            units += FORBIDDEN * _meetings(sizes, (grid,), self.period, self.reach)[0]
        table: list[list[int]] = units.tolist()
        return table

    def price(self, one: int, here: int, other: int, there: int) -> int:
        """Units that two hotspots cost that begin at these bytes of the record."""
        distance = there - here + self.reach + self._problem.hotspots[other].size
        if distance >= 0:
            row = self.partners[one][other][(here + self._problem.base) % self.period]
            if distance < len(row):
                return row[distance]
        return 0


def _pairs(problem: PackingProblem) -> dict[tuple[int, int], tuple[float, list[int]]]:
    """The weight of each pair that clashes, and the sizes of lines on which it must not meet."""
    weights: dict[tuple[int, int], float] = defaultdict(float)
    lines: dict[tuple[int, int], list[int]] = defaultdict(list)
    for clash in problem.clashes:
        weights[min(clash.first, clash.second), max(clash.first, clash.second)] += clash.weight
    for one in problem.apart:
        lines[min(one.first, one.second), max(one.first, one.second)].append(one.line_bytes)
    known = {pair: (weights.get(pair, 0.0), lines.get(pair, [])) for pair in sorted({*weights, *lines})}
    return {pair: (weight, sizes) for pair, (weight, sizes) in known.items() if weight or sizes}


def _meetings(sizes: tuple[int, int], grids: tuple[Grid, ...], period: int, reach: int) -> Numbers:
    """Whether two spots of these sizes meet, 0 or 1, by phase, by place of the first and by distance."""
    here = np.arange(period)[:, None]
    there = here + np.arange(-reach - sizes[1], reach + sizes[0] + 1)[None, :]
    found = [np.zeros((0, *there.shape), dtype=np.int64)]
    for grid in grids:
        for phase, _ in grid.phases:
            first = np.maximum((here + phase) // grid.line_bytes, (there + phase) // grid.line_bytes)
            mine = (here + phase + sizes[0] - 1) // grid.line_bytes
            other = (there + phase + sizes[1] - 1) // grid.line_bytes
            found.append((first <= np.minimum(mine, other))[None].astype(np.int64))
    return np.concatenate(found)
