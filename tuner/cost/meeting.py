# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hot members share a line when an object starts in a given phase."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from linesmith.analyzer.geometry import lines_touched
from linesmith.tuner.cost.heat import Heat, Spot

Names = frozenset[str]


def met_pairs(heat: Heat, starts: Sequence[int], phase: int, line_bytes: int) -> frozenset[Names]:
    """Every two hot members with bytes on one line; members begin at bytes ``starts`` of the object."""
    touched = [(spot.name, _lines(spot, starts, phase, line_bytes)) for spot in heat.spots]
    return frozenset(
        frozenset((one, other))
        for (one, here), (other, there) in combinations(touched, 2)
        if max(here.start, there.start) < min(here.stop, there.stop)
    )


def straddles(spot: Spot, starts: Sequence[int], phase: int, line_bytes: int) -> bool:
    """Whether the spot lies on two lines."""
    return len(_lines(spot, starts, phase, line_bytes)) > 1


def _lines(spot: Spot, starts: Sequence[int], phase: int, line_bytes: int) -> range:
    return lines_touched(starts[spot.member] + spot.start + phase, spot.size, line_bytes)
