# SPDX-License-Identifier: GPL-2.0-or-later
"""A layout of a record under its heat: which hot members meet in which phase, and how often there is which."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Members at bytes ``starts`` of objects aligned to ``granule`` and ``growth`` bytes larger than now."""

    def __init__(self, heat: Heat, starts: Sequence[int], granule: int, growth: int = 0) -> None:
        self.heat = heat
        self.starts = starts
        self.granule = granule
        self.growth = growth
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


def partners(name: str, met: frozenset[Names]) -> Names:
    """The members that the one called ``name`` meets."""
    return frozenset(other for pair in met if name in pair for other in pair - {name})
