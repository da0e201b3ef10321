# SPDX-License-Identifier: GPL-2.0-or-later
"""Packing problems made of real layouts with random heat, and the cheapest of all orders, found by trying each.

The judge lays out every order with numpy, all orders at once. It shares no code with the solver.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, permutations
from random import Random

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.layouts.alignment import with_inferred_alignment
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.placement import atoms, refusal, shape_of
from linesmith.analyzer.model import Layout
from linesmith.tuner.constraints.rules import freedom
from linesmith.tuner.packing.problem import Clash, Grid, Hotspot, Item, PackingProblem

Numbers = NDArray[np.int64]


def heated(layout: Layout, layouts: Layouts, random: Random, most_hot: int) -> PackingProblem | None:
    """The layout with 2 to ``most_hot`` hot members that clash at random; ``None`` where nothing could be packed."""
    layout = with_inferred_alignment(layout)
    if refusal(layout):
        return None
    parts = atoms(layout, layouts)
    limits = freedom(layout, parts, layouts)
    items = tuple(
        Item(tuple(map(shape_of, part.members)), segment, limits.pinned.get(number), bool(part.name))
        for number, (part, segment) in enumerate(zip(parts, limits.segments, strict=True))
    )
    sized = [number for number, part in enumerate(parts) if part.members[0].size]
    hot = random.sample(sized, min(len(sized), random.randint(2, most_hot)))
    if len(hot) < 2:
        return None
    spots = tuple(Hotspot(number, 0, 0, min(parts[number].members[0].size, 64)) for number in hot)
    pairs = [pair for pair in combinations(range(len(hot)), 2) if random.random() < 0.7]
    clashes = tuple(Clash(one, other, float(random.randint(1, 1000))) for one, other in pairs)
    alignment = max(layout.natural_alignment, layout.alignment or 1)
    return PackingProblem(items, spots, clashes, _grids(alignment, random), layout.size, layout.alignment or 1)


def _grids(alignment: int, random: Random) -> tuple[Grid, Grid]:
    """All starts alike, and one of them as the profile's."""
    starts = range(0, 64, min(alignment, 64))
    return Grid(64, tuple((start, 1 / len(starts)) for start in starts)), Grid(64, ((random.choice(starts), 1.0),))


def cheapest(problem: PackingProblem) -> float:
    """The cost of the cheapest legal order; every item of the problem has its members in one order."""
    orders = _orders(tuple(item.segment for item in problem.items))
    starts, legal = _laid_out(problem, orders)
    total = np.zeros(len(orders))
    for clash in problem.clashes:
        spots = [problem.hotspots[number] for number in (clash.first, clash.second)]
        pairs, which = np.unique(starts[:, spots[0].item] << 32 | starts[:, spots[1].item], return_inverse=True)
        first, second = (pairs >> 32) + spots[0].start, (pairs & 0xFFFFFFFF) + spots[1].start
        share_met = np.zeros(len(pairs))
        for grid in problem.grids:
            for phase, share in grid.phases:
                one = _lines(first, spots[0].size, phase + problem.base, grid.line_bytes)
                other = _lines(second, spots[1].size, phase + problem.base, grid.line_bytes)
                share_met += share * ((one[0] <= other[1]) & (other[0] <= one[1]))
        total += clash.weight * share_met[which]
    return float(total[legal].min())


def _lines(first: Numbers, size: int, phase: int, line_bytes: int) -> tuple[Numbers, Numbers]:
    return (first + phase) // line_bytes, (first + size - 1 + phase) // line_bytes


@lru_cache(maxsize=4)
def _orders(segments: tuple[int, ...]) -> NDArray[np.int8]:
    found: list[tuple[int, ...]] = [()]
    for segment in sorted(set(segments)):
        members = [number for number, one in enumerate(segments) if one == segment]
        found = [(*head, *tail) for head in found for tail in permutations(members)]
    return np.array(found, dtype=np.int8)


def _laid_out(problem: PackingProblem, orders: NDArray[np.int8]) -> tuple[Numbers, NDArray[np.bool_]]:
    """First byte of each item in each order, and which orders are legal."""
    count = len(problem.items)
    end = np.zeros(len(orders), dtype=np.int64)
    starts = np.zeros(orders.shape, dtype=np.int64)
    legal = np.ones(len(orders), dtype=bool)
    for place in range(count):
        for number in range(count):
            here = np.flatnonzero(orders[:, place] == number)
            first, end[here] = _placed(problem.items[number], end[here])
            starts[here, number] = first // 8
            pinned = problem.items[number].pinned
            legal[here] &= pinned is None or first // 8 == pinned
    alignment = max([problem.alignment * 8, *(shape.alignment for item in problem.items for shape in item.shapes)])
    return starts, legal & (-(-end // alignment) * alignment <= problem.size_limit * 8)


def _placed(item: Item, end: Numbers) -> tuple[Numbers, Numbers]:
    """First bit and end of the item behind ``end`` bits; a bit-field does not cross a unit of its type."""
    begin: Numbers | None = None
    for shape in item.shapes:
        if shape.width is None:
            first = -(-end // shape.alignment) * shape.alignment
            end = first + shape.size
        else:
            end = -(-end // shape.forced) * shape.forced
            crosses = -(-(end % shape.alignment + shape.width) // shape.alignment) * shape.alignment > shape.size
            first = np.where(crosses, -(-end // shape.alignment) * shape.alignment, end)
            end = first + shape.width
        begin = first if begin is None else begin
    return (end if begin is None else begin), end
