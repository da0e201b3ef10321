# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a layout costs under a profile, over the places and phases of its objects."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import ADJACENT_LINE_BYTES, Bounds, LayoutCost
from linesmith.tuner.cost.co_access import co_access
from linesmith.tuner.cost.conflict import cost, mean_hot_lines, share_together
from linesmith.tuner.cost.meeting import straddles
from linesmith.tuner.cost.memory import memory
from linesmith.tuner.cost.noise import as_counted
from linesmith.tuner.cost.waiting import Placed, waiting
from linesmith.tuner.subject import Subject


def layout_cost(target: Subject, starts: Sequence[int], size: int, granule: int) -> LayoutCost:
    """The cost of ``target`` with its members at bytes ``starts`` of the object, by position.

    ``size`` is that of the record whose members move, ``granule`` the alignment of the objects, both in bytes.
    """
    heat, growth = target.heat, size - target.layout.size
    placed = Placed(heat, starts, granule, growth)
    everywhere = waiting(placed, [placed.everywhere for _ in heat.lines])
    here = as_counted(waiting(placed, [placed.here(line) for line in heat.lines]).contended)
    contended = as_counted(everywhere.contended)
    likely = cost(heat, starts, granule, growth).anywhere
    return LayoutCost(
        contended=contended,
        likely=min(max(likely, contended.least), contended.most),
        here=here,
        cycles=as_counted(everywhere.cycles),
        adjacent=_adjacent(placed),
        straddling=_straddling(placed),
        hot_lines=mean_hot_lines(heat, starts, placed.mix),
        co_access=co_access(placed),
        size=size,
        memory=memory(heat.mixes, granule, growth),
    )


def _adjacent(placed: Placed) -> Bounds:
    """Accesses of members that meet on a pair of lines only: nobody knows whether they cost anything."""
    heat, starts, mix = placed.heat, placed.starts, placed.mix
    if heat.line_bytes >= ADJACENT_LINE_BYTES:
        return Bounds()
    most = sum(
        one.most
        * (share_together(one, starts, mix, ADJACENT_LINE_BYTES) - share_together(one, starts, mix, heat.line_bytes))
        for one in heat.contacts
    )
    return Bounds(0.0, max(most, 0.0))


def _straddling(placed: Placed) -> float:
    size = placed.heat.line_bytes
    return sum(
        spot.samples * share
        for spot in placed.heat.spots
        for phase, share in placed.everywhere
        if spot.size <= size and straddles(spot, placed.starts, phase, size)
    )
