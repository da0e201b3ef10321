# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that a profile cannot speak for: those that would newly share a line with a written one.

A line without contention is not in a profile, however often it is read. A reader moved there finds no writer; but a
writer moved there disturbs readers that nobody saw.
"""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.tuner.cost.conflict import share_together
from linesmith.tuner.cost.heat import Contact, Spot
from linesmith.tuner.subject import Subject


def exposure(target: Subject, starts: Sequence[int], granule: int) -> float:
    """How many members without samples newly meet a written one, each as much as it is probably used (0 to 1).

    Each counts once, for the mean of the profile's phases and all phases, as far as ``starts`` (bytes in the object by
    member position; objects start every ``granule`` bytes) make it more than it is now.
    """
    sampled = {spot.member for spot in target.heat.spots}
    return sum(
        target.interest[position] * _more(target, position, starts, granule)
        for position in range(len(starts))
        if position not in sampled
    )


def _more(target: Subject, position: int, starts: Sequence[int], granule: int) -> float:
    then = _exposed(target, position, starts, granule)
    return max(0.0, then - _exposed(target, position, target.starts, target.heat.granule)) if then else 0.0


def _exposed(target: Subject, position: int, starts: Sequence[int], granule: int) -> float:
    """The same with the members at ``starts``: that of the written one it meets most."""
    return max(
        (
            _together(target, Contact(spot, _whole(target, position), "", 1, False), starts, granule)
            for spot in target.heat.spots
            if spot.written and _near(target, spot, position, starts)
        ),
        default=0.0,
    )


def _near(target: Subject, spot: Spot, position: int, starts: Sequence[int]) -> bool:
    """Whether the member at ``position`` could share a line with ``spot`` at all."""
    first = starts[spot.member] + spot.start
    size = target.layout.members[position].size
    reach = target.heat.line_bytes
    return first - reach - size < starts[position] < first + spot.size + reach


def _whole(target: Subject, position: int) -> Spot:
    member = target.layout.members[position]
    return Spot(member.name, position, 0, member.size, 0, False)


def _together(target: Subject, contact: Contact, starts: Sequence[int], granule: int) -> float:
    """How much of the time the two share a line."""
    heat = target.heat
    mixes = (heat.here(granule), heat.mix(granule))
    return sum(share_together(contact, starts, mix, heat.line_bytes) for mix in mixes) / 2
