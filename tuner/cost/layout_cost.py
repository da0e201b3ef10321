# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a layout costs under a profile, over the places and phases of its objects."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import ADJACENT_LINE_BYTES, Bounds, LayoutCost
from linesmith.tuner.cost.meetings import Placed, hot_lines, share_together, straddles
from linesmith.tuner.cost.phases import memory
from linesmith.tuner.cost.saving import (
    before_and_after,
    exposure_cost,
    likely_savings,
    saved,
    widened,
)
from linesmith.tuner.cost.turns import co_access
from linesmith.tuner.cost.victims import as_counted
from linesmith.tuner.propose.subject import ContendedRecord


def layout_cost(target: ContendedRecord, starts: Sequence[int], size: int, granule: int) -> LayoutCost:
    """The cost of ``target`` with its members at bytes ``starts`` of the object, by position.

    ``size`` is that of the record whose members move, ``granule`` the alignment of the objects, both in bytes.
    """
    heat, growth = target.heat, size - target.layout.size
    before, after = before_and_after(target, starts, size, granule)
    likely, exposed = likely_savings(target, after), exposure_cost(target, after)
    total = heat.contended
    # How much more or less the record costs over all phases than in those of the profile's objects.
    anywhere = total * (target.now.anywhere / target.now.here if target.now.here else 1.0)
    # In the phases of the profile's objects, and over all phases that objects have.
    gone = saved(before, after, before.here).contended, saved(before, after, lambda _: before.everywhere).contended
    here = _left(total, widened(gone[0], exposed, likely.here))
    contended = _left(anywhere, widened(gone[1], exposed, likely.anywhere))
    return LayoutCost(
        contended=contended,
        likely=max(anywhere - likely.anywhere, 0.0),
        here=here,
        cycles=contended.times(heat.mean_cycles),
        adjacent=_adjacent(after),
        straddling=_straddling(after),
        hot_lines=hot_lines(heat, starts, after.mix),
        co_access=co_access(after),
        size=size,
        memory=memory(heat.mixes, granule, growth),
    )


def _left(total: float, gone: Bounds) -> Bounds:
    """What remains of ``total`` contended accesses, as another run would count it."""
    return as_counted(Bounds(max(total - gone.most, 0.0), max(total - gone.least, 0.0)))


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
