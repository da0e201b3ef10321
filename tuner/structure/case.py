# SPDX-License-Identifier: GPL-2.0-or-later
"""A finding as structural advice asks it: its record, the members seen, and what the code does to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from linesmith.analyzer.access import AccessMap, accesses_of
from linesmith.analyzer.attribution.lock import takes_lock
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import (
    Accessor,
    Finding,
    Layout,
    LineMember,
    Member,
    MemberAccesses,
    MemberFunction,
    Outcome,
    TriageKind,
    TypeAccesses,
)
from linesmith.tuner.atoms import Place, visible_places
from linesmith.tuner.cost.heat import own_members
from linesmith.tuner.premises import Premises
from linesmith.tuner.structure.memory import Allocation


@dataclass(frozen=True, slots=True)
class Case:
    """``layout`` is the record of the finding's first object; ``touched`` is who touches it, where code tells.

    ``others`` are the profile's other findings; ``home`` is where the record's objects come from.
    """

    finding: Finding
    layout: Layout
    layouts: Layouts
    others: tuple[Finding, ...]
    premises: Premises
    accesses: AccessMap | None
    touched: TypeAccesses | None
    home: Allocation

    @property
    def kinds(self) -> tuple[TriageKind, ...]:
        """The diagnosis."""
        return self.finding.triage.kinds

    @property
    def places(self) -> dict[str, Place]:
        """Every member by the name that code says, those of anonymous records included."""
        return visible_places(self.layout, self.layouts)

    def member(self, name: str) -> Member | None:
        """The member that holds what code calls ``name``: itself, or an anonymous record around it."""
        place = self.places.get(name)
        return None if place is None else self.layout.members[place.member]

    def seen(self, name: str) -> tuple[LineMember, ...]:
        """What was sampled of the member called ``name`` on this line."""
        return tuple(one for one in own_members(self.finding) if one.top == name)

    def code(self, name: str) -> tuple[MemberAccesses, ...]:
        """Who touches the parts of the member called ``name``; empty where the code was not followed."""
        members = self.touched.members if self.touched else ()
        return tuple(one for one in members if top(one.path) == name)

    def share(self, name: str) -> float:
        """Share of the line's contended accesses in which the member waited for stores to itself, at most."""
        total = self.finding.cost.contended or self.finding.contended
        own = [one for one in self.finding.cost.sharings if one.victim.member == one.writer.member == name]
        return min(1.0, sum(one.contended.most for one in own) / total) if total else 0.0


def case_of(
    finding: Finding,
    layouts: Layouts,
    others: Sequence[Finding],
    premises: Premises,
    accesses: AccessMap | None,
    containment: Containment,
) -> Case | None:
    """The case of a finding whose first object is known; ``None`` for any other."""
    target = finding.objects[0] if finding.objects else None
    if target is None or target.layout is None or target.outcome is not Outcome.RESOLVED:
        return None
    layout = layouts.by_id(target.layout)
    touched = accesses_of(layout, layouts, accesses) if accesses is not None else None
    home = Allocation(premises.kernel, containment, cache=target.origin.removeprefix("slab "))
    return Case(finding, layout, layouts, tuple(others), premises, accesses, touched, home)


def top(path: str) -> str:
    """The member of the outermost record that a path begins with."""
    return path.partition(".")[0].partition("[")[0]


def main_member(case: Case) -> str:
    """The member that most of the line's contention with itself falls on; empty where none is known."""
    own = {one.victim.member: case.share(one.victim.member) for one in case.finding.cost.sharings}
    return max((name for name in own if own[name] > 0), key=lambda name: own[name], default="")


@dataclass(slots=True)
class _Tally:
    """What one function does: samples, accesses in its code, and the members it was seen or is known to touch."""

    samples: int = 0
    accesses: int = 0
    reads: dict[str, None] = field(default_factory=dict)
    writes: dict[str, None] = field(default_factory=dict)


def sampled(case: Case, names: Sequence[str]) -> dict[str, int]:
    """Samples by function on the members called ``names``, on all lines of objects of the type."""
    return {name: one.samples for name, one in _tallied(case, names).items() if one.samples}


def accessors(case: Case, names: Sequence[str], holders: Sequence[str] = ()) -> tuple[Accessor, ...]:
    """Who reaches the members called ``names``, without the functions that lock.

    The most sampled come first, then those whose code names them most often. ``holders`` are known to take the lock.
    """
    found = {name: one for name, one in _tallied(case, names).items() if not takes_lock(name)}
    ranked = sorted(found.items(), key=lambda pair: (-pair[1].samples, -pair[1].accesses, pair[0]))
    return tuple(
        Accessor(name, one.samples, tuple(one.reads), tuple(one.writes), True if name in holders else None)
        for name, one in ranked
    )


def _tallied(case: Case, names: Sequence[str]) -> dict[str, _Tally]:
    same = [one for one in case.others if one.objects and one.objects[0].layout == case.layout.id]
    found: dict[str, _Tally] = {}
    for member in (member for finding in (case.finding, *same) for member in own_members(finding)):
        for function in member.functions if member.top in names else ():
            _add(found.setdefault(function.name, _Tally()), member.top, function)
    for name in names:
        for one in (one for part in case.code(name) for one in part.functions):
            tally = found.setdefault(one.function, _Tally())
            tally.accesses += one.counts.total
            tally.reads |= {name: None} if one.counts.reading else {}
            tally.writes |= {name: None} if one.counts.writing else {}
    return found


def _add(tally: _Tally, name: str, function: MemberFunction) -> None:
    seen = function.records if function.records is not None else function.contended + function.stores
    tally.samples += seen
    tally.reads |= {name: None} if function.contended or seen > function.stores else {}
    tally.writes |= {name: None} if function.stores or function.writes_inferred else {}
