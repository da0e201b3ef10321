# SPDX-License-Identifier: GPL-2.0-or-later
"""Who waits for whom on a line of the profile, with limits, for any part of those who write there.

In a recording, misses stay when the store that they are blamed on is elsewhere, if another one would have taken the
line: ``Takeover``. Counting leaves a rest to chance: by how much two runs of one layout differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING

from linesmith.analyzer.layouts.gaps import lines_touched
from linesmith.analyzer.model import Bounds, Finding, Latencies, MemberFunction, SharingCost
from linesmith.analyzer.sharing.parts import own_members
from linesmith.tuner.cost.phases import PhaseMix
from linesmith.tuner.cost.uses import USUAL_CPUS

if TYPE_CHECKING:
    from linesmith.tuner.cost.heat import MemberSpot


MISS_CYCLES = float(Latencies().hitm_local)


@dataclass(frozen=True, slots=True)
class Victim:
    """A member that waits for stores to the ``disturbers``: ``whole`` contended accesses when it meets all of them.

    Each disturber has the least number that it alone is to blame for. One of them takes ``cycles``. ``takers`` are
    all that may take the line of a recording, each with how often at most: a miss names the last store alone.
    """

    name: str
    disturbers: tuple[tuple[str, float], ...]
    whole: Bounds
    cycles: float
    takers: tuple[tuple[str, float], ...] = ()

    @property
    def blamed(self) -> frozenset[str]:
        """The disturbers' names."""
        return frozenset(name for name, _ in self.disturbers)

    @property
    def others(self) -> frozenset[str]:
        """All for whose stores it waits, or might wait were the disturbers elsewhere."""
        return self.blamed.union(name for name, _ in self.takers)

    def waits(self, met: frozenset[str]) -> Bounds:
        """Contended accesses when only the disturbers in ``met`` still share a line with it.

        Those that stay may take over all that those that left did, for a line is taken by whoever writes first.
        """
        here = [least for name, least in self.disturbers if name in met]
        if len(here) == len(self.disturbers):
            return self.whole
        least = min(sum(here), self.whole.most)
        if self.takers:
            return Bounds(least, max(least, self.taken(met)))
        return Bounds(least, self.whole.most) if here else Bounds()

    def taken(self, met: frozenset[str]) -> float:
        """How many of its contended accesses of a recording the takers in ``met`` would cause by themselves."""
        return min(sum(most for name, most in self.takers if name in met), self.whole.most)

    def taken_over(self, met: frozenset[str]) -> float:
        """Those of them that the recording gives to others."""
        blamed = sum(least for name, least in self.disturbers)
        here = sum(least for name, least in self.disturbers if name in met)
        return max(self.taken(met) - self.whole.most * here / blamed, 0.0) if blamed else 0.0


def victims(finding: Finding, names: Mapping[str, object]) -> tuple[Victim, ...]:
    """The victims of a line among members that are keys of ``names``; of the finding's pairs where it has no costs."""
    sharings = [one for one in finding.cost.sharings if one.span <= finding.bytes]
    grouped: dict[str, list[SharingCost]] = defaultdict(list)
    for one in sharings:
        if _top(one.victim.member) in names:
            grouped[_top(one.victim.member)].append(one)
    if not sharings:
        return _of_pairs(finding, names)
    found = (_victim(name, group, names, finding) for name, group in grouped.items())
    return tuple(one for one in found if one.disturbers)


def _top(member: str) -> str:
    """The member of the record that a part of the line belongs to; parts of other objects have blanks."""
    return member.partition("[")[0].partition(".")[0] if " " not in member else member


def _victim(name: str, group: Iterable[SharingCost], names: Mapping[str, object], finding: Finding) -> Victim:
    cost = finding.cost
    blamed: dict[str, Bounds] = defaultdict(Bounds)
    cycles = contended = 0.0
    for one in group:
        blamed[_top(one.writer.member)] += one.contended
        cycles, contended = cycles + one.cycles.most, contended + one.contended.most
    own = blamed.pop(name, Bounds())
    others = {writer: amount for writer, amount in blamed.items() if writer in names}
    mean = cycles / contended if contended else MISS_CYCLES
    if cost.exact:
        # Shares of a recording's misses between members that a layout removes: the rest brought what was needed anyway.
        between = sum(one.contended.most for one in cost.sharings if one.victim.member != one.writer.member)
        least, most = (cost.removable.least / between, cost.removable.most / between) if between else (0.0, 0.0)
        total = sum(amount.most for amount in others.values())
        whole = Bounds(total * least, total * most)
        stays = tuple((writer, amount.least * least) for writer, amount in others.items())
        return Victim(name, stays, whole, mean, _takers(name, others, whole.most, names, finding))
    sampled = sum(function.contended for one in finding.members if one.top == name for function in one.functions)
    count: float = sampled or sum(amount.most for amount in others.values())
    if own.most > 0:
        return Victim(name, tuple((one, 0.0) for one in others), Bounds(0.0, max(count - own.least, 0.0)), mean)
    whole = Bounds(count, count) if len(others) == len(blamed) else Bounds(0.0, count)
    return Victim(name, tuple((writer, amount.least) for writer, amount in others.items()), whole, mean)


def _takers(
    name: str, blamed: Mapping[str, Bounds], whole: float, names: Mapping[str, object], finding: Finding
) -> tuple[tuple[str, float], ...]:
    """Members whose stores may take the line of the one called ``name``: each store once from each CPU that reads it.

    A recording blames the last store before a miss. One to another member of the line, in the same stretch, would have
    taken the line as well.
    """
    functions: dict[str, list[MemberFunction]] = defaultdict(list)
    for one in own_members(finding):
        functions[one.top].extend(one.functions)
    readers = functions[name]
    cpus = max((one.cpus or USUAL_CPUS for one in readers), default=USUAL_CPUS)
    alone = {one.name for one in readers} if all(one.cpus == 1 for one in readers) else set()
    found = {writer: amount.most for writer, amount in blamed.items()}
    for other, seen in functions.items():
        stores = sum(one.stores for one in seen if alone != {one.name})
        if other != name and other in names and stores:
            found[other] = max(found.get(other, 0.0), min(whole, float(stores * cpus)))
    return tuple(found.items())


def _of_pairs(finding: Finding, names: Mapping[str, object]) -> tuple[Victim, ...]:
    """Each pair's reader as the victim of its writer."""
    blamed: dict[str, dict[str, float]] = defaultdict(dict)
    for pair in finding.triage.pairs:
        if pair.first in names and pair.second in names and pair.first != pair.second:
            blamed[pair.reader][pair.writer] = float(pair.weight)
    found = []
    for reader, writers in blamed.items():
        count = max(writers.values())
        each = tuple((writer, count if len(writers) == 1 else 0.0) for writer in writers)
        found.append(Victim(reader, each, Bounds(count, count), MISS_CYCLES))
    return tuple(found)


class Takeover:
    """Who waits for stores that others would take over, on lines of ``line_bytes``.

    Many lines of a recording have the same members on them, and layouts the same members together: what those who are
    together take over is worked out once.
    """

    def __init__(self, victims: Iterable[Victim], spots: Iterable[MemberSpot], line_bytes: int) -> None:
        self._waiting: dict[str, list[Victim]] = defaultdict(list)
        for one in victims:
            if one.takers:
                self._waiting[one.name].append(one)
        concerned = {*self._waiting}.union(*(one.others for some in self._waiting.values() for one in some))
        self._spots = [spot for spot in spots if spot.name in concerned]
        self._line_bytes = line_bytes
        self._loss = lru_cache(maxsize=None)(self._loss_of)

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
        return sum(self._loss(name, tuple(met[line] for line in lines)) for name, lines in places)

    def _loss_of(self, name: str, on_lines: Sequence[frozenset[str]]) -> float:
        """What the victims of this name lose to all members on their lines."""
        met = frozenset[str]().union(*on_lines)
        return sum(one.taken_over(met) for one in self._waiting.get(name, ()))


# Two-sided 95 % of the normal distribution.
_Z = 1.959964
# Relative deviation of the misses on one record between runs that differ in nothing but the seed (docs/cost.md).
RUN_SCATTER = 0.03


def deviation(count: float) -> float:
    """By how much a count of one run may be off: samples are counts, and runs differ besides."""
    return _Z * sqrt(count + (RUN_SCATTER * count) ** 2)


def difference(count: float) -> float:
    """By how much two runs with this count on average may differ."""
    return sqrt(2) * deviation(count)


def as_counted(amount: Bounds) -> Bounds:
    """Limits of a count in another run, where ``amount`` are those of its mean."""
    return Bounds(max(amount.least - deviation(max(amount.least, 0.0)), 0.0), amount.most + deviation(amount.most))
