# SPDX-License-Identifier: GPL-2.0-or-later
"""Misses of a recording that stay when the store they are blamed on is elsewhere: another would have taken the line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from linesmith.analyzer.geometry import lines_touched
from linesmith.tuner.cost.phase_mix import PhaseMix
from linesmith.tuner.cost.victims import Victim

if TYPE_CHECKING:
    from linesmith.tuner.cost.heat import Spot


class Takeover:
    """Who waits for stores that others would take over, on lines of ``line_bytes``.

    Many lines of a recording have the same members on them, and layouts the same members together: what those who are
    together take over is worked out once.
    """

    def __init__(self, victims: Iterable[Victim], spots: Iterable[Spot], line_bytes: int) -> None:
        self._waiting: dict[str, list[Victim]] = defaultdict(list)
        for one in victims:
            if one.takers:
                self._waiting[one.name].append(one)
        concerned = {*self._waiting}.union(*(one.others for some in self._waiting.values() for one in some))
        self._spots = [spot for spot in spots if spot.name in concerned]
        self._line_bytes = line_bytes
        self._taken = lru_cache(maxsize=None)(self._taken_by)

    def of(self, starts: Sequence[int], mix: PhaseMix) -> float:
        """Misses of members at bytes ``starts`` of the object (by position), on average over the phases of ``mix``."""
        if not self._waiting:
            return 0.0
        return sum(share * self._in_phase(starts, phase) for phase, share in mix.phases(self._line_bytes))

    def _in_phase(self, starts: Sequence[int], phase: int) -> float:
        places = [
            (spot.name, lines_touched(starts[spot.member] + spot.start + phase, spot.size, self._line_bytes))
            for spot in self._spots
        ]
        names: dict[int, set[str]] = defaultdict(set)
        for name, lines in places:
            for line in lines:
                names[line].add(name)
        met = {line: frozenset(some) for line, some in names.items()}
        return sum(self._taken(name, tuple(met[line] for line in lines)) for name, lines in places)

    def _taken_by(self, name: str, on_lines: Sequence[frozenset[str]]) -> float:
        """What the victims called so lose to all members on their lines."""
        met = frozenset[str]().union(*on_lines)
        return sum(one.taken_over(met) for one in self._waiting.get(name, ()))
