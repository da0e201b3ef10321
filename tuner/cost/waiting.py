# SPDX-License-Identifier: GPL-2.0-or-later
"""Contended accesses of a layout with their limits: line by line of the profile, phase by phase of its objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from linesmith.analyzer.model import Bounds
from linesmith.tuner.cost.heat import Heat
from linesmith.tuner.cost.line_heat import LineHeat, Names
from linesmith.tuner.cost.meeting import met_pairs

_NOTHING = Bounds()


@dataclass(frozen=True, slots=True)
class Waiting:
    """Contended accesses and the cycles they take."""

    contended: Bounds = _NOTHING
    cycles: Bounds = _NOTHING

    def __add__(self, other: Waiting) -> Waiting:
        return Waiting(self.contended + other.contended, self.cycles + other.cycles)

    def times(self, factor: float) -> Waiting:
        """Both multiplied by a factor that is not negative."""
        return Waiting(self.contended.times(factor), self.cycles.times(factor))


class Placed:
    """A layout of a record under its heat: members at bytes ``starts`` of objects with the phases of ``mix``."""

    def __init__(self, heat: Heat, starts: Sequence[int], granule: int, growth: int = 0) -> None:
        self.heat = heat
        self.starts = starts
        self.mix = heat.mix(granule, growth)
        self.stays = granule == heat.granule and not growth
        self._met: dict[int, frozenset[Names]] = {}

    def met(self, phase: int) -> frozenset[Names]:
        """Hot members that share a line of the profile's size in this phase."""
        if phase not in self._met:
            self._met[phase] = met_pairs(self.heat, self.starts, phase, self.heat.line_bytes)
        return self._met[phase]

    @cached_property
    def everywhere(self) -> tuple[tuple[int, float], ...]:
        """All phases with their shares of the objects."""
        return self.mix.phases(self.heat.line_bytes)

    def here(self, line: LineHeat) -> tuple[tuple[int, float], ...]:
        """The phase of a line of the profile; all, where it is not known or objects begin elsewhere now."""
        return self.everywhere if line.phase is None or not self.stays else ((line.phase, 1.0),)


def waiting(placed: Placed, phases: Sequence[tuple[tuple[int, float], ...]]) -> Waiting:
    """What members cost each other; ``phases`` are those of the objects of each line of the profile."""
    found = Waiting()
    for line, objects in zip(placed.heat.lines, phases, strict=True):
        for phase, share in objects:
            found += waiting_on(placed.heat, line, placed.met(phase)).times(share)
    return found


def waiting_on(heat: Heat, line: LineHeat, met: frozenset[Names]) -> Waiting:
    """What a line of the profile costs when the members in ``met`` share one."""
    found = _sum((victim.waits(partners(victim.name, met)), victim.cycles) for victim in line.victims)
    pairs = line.pairs
    left = pairs & met
    if left:
        least = line.untold.least if left == pairs else 0.0
        found += _sum([(Bounds(least, line.untold.most), line.cycles)])
    return found + _new(heat, line, met)


def partners(name: str, met: frozenset[Names]) -> Names:
    """The members that the one called ``name`` meets."""
    return frozenset(other for pair in met if name in pair for other in pair - {name})


def _new(heat: Heat, line: LineHeat, met: frozenset[Names]) -> Waiting:
    """What members may cost that did not meet on this line of the profile: between nothing and all they wait for."""
    most = sum(one.most * line.share for one in heat.contacts if one.names in met and one.names not in line.together)
    return Waiting(Bounds(0.0, most), Bounds(0.0, most * line.cycles))


def _sum(amounts: Iterable[tuple[Bounds, float]]) -> Waiting:
    contended = cycles = _NOTHING
    for amount, each in amounts:
        contended, cycles = contended + amount, cycles + amount.times(each)
    return Waiting(contended, cycles)
