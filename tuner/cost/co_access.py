# SPDX-License-Identifier: GPL-2.0-or-later
"""How many lines of an object each hot function touches: members used together want to be fetched together."""

from __future__ import annotations

from collections import defaultdict

from linesmith.analyzer.geometry import lines_touched
from linesmith.analyzer.model import CoAccess
from linesmith.tuner.cost.placed import Placed

# Functions that are told, those sampled most.
MOST_FUNCTIONS = 8


def co_access(placed: Placed) -> tuple[CoAccess, ...]:
    """The functions sampled most on two or more members, with the lines they touch on average over all phases."""
    samples: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for line in placed.heat.lines:
        for function, member, count in line.functions:
            samples[function][member] += count
    found = [(function, counts) for function, counts in samples.items() if len(counts) > 1]
    found.sort(key=lambda one: (-sum(one[1].values()), one[0]))
    return tuple(
        CoAccess(function, tuple(counts), float(sum(counts.values())), _lines(placed, frozenset(counts)))
        for function, counts in found[:MOST_FUNCTIONS]
    )


def _lines(placed: Placed, members: frozenset[str]) -> float:
    spots = [spot for spot in placed.heat.spots if spot.name in members]
    size = placed.heat.line_bytes
    return sum(
        share
        * len(
            {
                n
                for spot in spots
                for n in lines_touched(placed.starts[spot.member] + spot.start + phase, spot.size, size)
            }
        )
        for phase, share in placed.everywhere
    )
