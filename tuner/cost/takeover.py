# SPDX-License-Identifier: GPL-2.0-or-later
"""Misses of a recording that stay when the store they are blamed on is elsewhere: another would have taken the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linesmith.analyzer.geometry import lines_touched
from linesmith.tuner.cost.heat import Heat
from linesmith.tuner.cost.phase_mix import PhaseMix
from linesmith.tuner.cost.victims import Victim


def taken_over(heat: Heat, starts: Sequence[int], mix: PhaseMix) -> float:
    """Those of members at bytes ``starts`` of the object (by position), on average over the phases of ``mix``."""
    waiting = [victim for line in heat.lines for victim in line.victims if victim.takers]
    if not waiting:
        return 0.0
    phases = mix.phases(heat.line_bytes)
    return sum(share * _in_phase(heat, starts, phase, waiting) for phase, share in phases)


def _in_phase(heat: Heat, starts: Sequence[int], phase: int, waiting: Sequence[Victim]) -> float:
    touched = {
        spot.name: lines_touched(starts[spot.member] + spot.start + phase, spot.size, heat.line_bytes)
        for spot in heat.spots
    }
    return sum(one.taken_over(_met(one, touched)) for one in waiting if one.name in touched)


def _met(one: Victim, touched: Mapping[str, range]) -> frozenset[str]:
    """The takers that share a line with the victim."""
    here = touched[one.name]
    return frozenset(
        name
        for name, _ in one.takers
        if name in touched and max(here.start, touched[name].start) < min(here.stop, touched[name].stop)
    )
