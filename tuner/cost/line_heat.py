# SPDX-License-Identifier: GPL-2.0-or-later
"""What one line of the profile tells of a record: who waits for whom there, in which phase, and what is not told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from linesmith.analyzer.attribution.lock import waits_for_lock
from linesmith.analyzer.model import Finding, LineMember
from linesmith.analyzer.sharing.conflict_cost import NEIGHBOURS_SHARE
from linesmith.tuner.cost.victims import MISS_CYCLES, Victim, victims

Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class LineHeat:
    """A line with ``contended`` accesses that took ``cycles``, a ``share`` of all that the record has.

    Its object has ``phase`` (``None``: not known). ``untold`` are accesses that parting members may save though no pair
    explains them: those behind a lock that is held for longer, or of rows that were left out. ``together`` are the
    members that were hot here, in pairs. ``functions`` were sampled on each member, with their samples. ``exact`` tells
    that every miss names its writer. ``waited_for`` are locks that are held for longer because of their
    neighbours.
    """

    phase: int | None
    contended: float
    cycles: float
    share: float
    victims: tuple[Victim, ...]
    untold: float
    together: frozenset[Names]
    functions: tuple[tuple[str, str, int], ...]
    exact: bool = False
    waited_for: Names = frozenset()

    @property
    def pairs(self) -> frozenset[Names]:
        """Members of which one waits for the other here."""
        return frozenset(frozenset((one.name, name)) for one in self.victims for name, _ in one.disturbers)


def contended_on(finding: Finding) -> int:
    """Contended accesses of a line; of a recording also the stores that took it."""
    return finding.cost.contended or finding.contended


def line_heat(finding: Finding, phase: int | None, share: float, names: Mapping[str, object]) -> LineHeat:
    """What ``finding`` tells of the members that are keys of ``names``."""
    found = victims(finding, names)
    told = sum(one.whole.most for one in found)
    untold = max(finding.cost.removable.most - told, 0.0) if found and not finding.cost.exact else 0.0
    start = finding.objects[0].start
    own = [one for one in finding.members if one.object_offset is not None and one.offset - one.object_offset == start]
    hot = dict.fromkeys(one.top for one in own if one.top in names)
    sampled = tuple(
        (function.name, one.top, function.records or function.contended + function.stores)
        for one in own
        if one.top in names
        for function in one.functions
    )
    together = frozenset(frozenset(pair) for pair in combinations(hot, 2))
    contended = contended_on(finding)
    cycles = finding.cost.cycles or MISS_CYCLES * contended
    return LineHeat(
        phase, contended, cycles, share, found, untold, together, sampled, finding.cost.exact, _waited_for(own)
    )


def _waited_for(members: Sequence[LineMember]) -> Names:
    """Locks that are held for longer by who waits for their neighbours (docs/conflict-cost.md)."""
    contended: dict[str, int] = defaultdict(int)
    for one in members:
        contended[one.top] += sum(function.contended for function in one.functions)
    total = sum(contended.values())
    waited = {one.top for one in members if one.lock and any(waits_for_lock(it.name) for it in one.functions)}
    return frozenset(one for one in waited if total - contended[one] >= NEIGHBOURS_SHARE * total > 0)
