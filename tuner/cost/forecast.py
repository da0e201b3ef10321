# SPDX-License-Identifier: GPL-2.0-or-later
"""The contended samples that a layout is expected to have: by the turns of functions, else by pairs of members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linesmith.analyzer.model import Finding, TypeAccesses
from linesmith.tuner.cost.conflict import Cost, cost, share_together
from linesmith.tuner.cost.heat import Heat
from linesmith.tuner.cost.phase_mix import PhaseMix
from linesmith.tuner.cost.turns import Turns
from linesmith.tuner.cost.uses import Scope, agents

# Functions that a profile must name to tell those who write from those who read.
LEAST_AGENTS = 2


def turns_of(lines: Sequence[Finding], scope: Scope, heat: Heat, code: TypeAccesses | None) -> Turns | None:
    """The turns on all ``lines`` of a record, on the scale of their contended samples as the record is now.

    ``None`` where the profile does not tell who writes and who reads: one function may be both on different CPUs.
    """
    uses, found = agents(lines, scope, code)
    if len(found) < LEAST_AGENTS:
        return None
    raw = Turns(uses, found)
    now = _mean(raw, scope.starts, heat, heat.here(heat.granule))[0]
    contended = sum(line.cost.contended or line.contended for line in lines)
    if now <= 0 or not contended:
        return None
    turns = Turns(uses, found, contended / now)
    return replace(turns, counted=_now(heat, turns, scope.starts)) if heat.exact else turns


def _now(heat: Heat, turns: Turns, starts: Sequence[int]) -> tuple[Cost, Cost]:
    return _counted(heat, starts, heat.granule, 0), _told(heat, turns, starts, heat.granule, 0)


def forecast(heat: Heat, turns: Turns | None, starts: Sequence[int], granule: int, growth: int = 0) -> Cost:
    """The cost of members that begin at bytes ``starts`` of the object (by position in the layout).

    Objects are aligned to ``granule`` and ``growth`` bytes larger than they are now.
    """
    if turns is None:
        return _counted(heat, starts, granule, growth)
    told = _told(heat, turns, starts, granule, growth)
    if turns.counted is None:
        return told
    (pairs, now), then = turns.counted, _counted(heat, starts, granule, growth)
    return Cost(
        now.here - _saved(pairs.here - then.here, now.here - told.here),
        now.anywhere - _saved(pairs.anywhere - then.anywhere, now.anywhere - told.anywhere),
    )


def _counted(heat: Heat, starts: Sequence[int], granule: int, growth: int) -> Cost:
    """By pairs of members, with what those who stay would take over from those who leave."""
    told = cost(heat, starts, granule, growth)
    if not heat.exact:
        return told
    here, anywhere = heat.here(granule, growth), heat.mix(granule, growth)
    return Cost(told.here + heat.takeover.of(starts, here), told.anywhere + heat.takeover.of(starts, anywhere))


def _saved(counted: float, told: float) -> float:
    """Of a recording the misses between members are counted: that is what goes, if turns say that something does.

    Else the worse of the two.
    """
    return counted if min(counted, told) > 0 else min(counted, told)


def _told(heat: Heat, turns: Turns, starts: Sequence[int], granule: int, growth: int) -> Cost:
    mixes = heat.here(granule, growth), heat.mix(granule, growth)
    here, anywhere = _mean(turns, starts, heat, *mixes)
    return Cost(here + _held(heat, starts, mixes[0]), anywhere + _held(heat, starts, mixes[1]))


def _held(heat: Heat, starts: Sequence[int], mix: PhaseMix) -> float:
    """What is waited because a lock's holder waits for its neighbours: no turn tells, the contacts with it do."""
    if not heat.waited_for:
        return 0.0
    return sum(
        one.weight * share_together(one, starts, mix, heat.line_bytes)
        for one in heat.sampled
        if not heat.waited_for.isdisjoint(one.names)
    )


def _mean(turns: Turns, starts: Sequence[int], heat: Heat, *mixes: PhaseMix) -> list[float]:
    """What is waited in the phases of each mix, by their shares."""
    phases = [mix.phases(heat.line_bytes) for mix in mixes]
    waits = turns.waits(starts, {phase for mix in phases for phase, _ in mix}, heat.line_bytes)
    return [sum(share * waits[phase] for phase, share in mix) for mix in phases]
