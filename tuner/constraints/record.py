# SPDX-License-Identifier: GPL-2.0-or-later
"""What every rule looks at, and the effects that rules have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.geometry.atoms import Atom, Place, visible_places
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import FactKind, Layout, SourceFact
from linesmith.tuner.constraints.constraint import Constraint
from linesmith.tuner.constraints.freedom import Apart, Below, Limit, Pin, Run


@dataclass(frozen=True, slots=True)
class Fixed:
    """The atom stays where it is among the others, and none crosses it."""

    atom: int
    why: Constraint


@dataclass(frozen=True, slots=True)
class Remark:
    """A rule that no order breaks, or that the atoms keep already; a reader should know it."""

    why: Constraint


Effect = Fixed | Pin | Apart | Below | Limit | Run | Remark


@dataclass(frozen=True, slots=True)
class Record:
    """The record to rearrange, at byte ``base`` of its object, cut into ``parts``; ``facts`` are of its source.

    ``outer`` is the object's record: itself, or that in which it is an anonymous struct. ``owners`` are the atoms by
    member position.
    """

    layout: Layout
    parts: tuple[Atom, ...]
    layouts: Layouts
    facts: tuple[SourceFact, ...]
    base: int
    outer: Layout
    owners: tuple[int, ...]
    places: dict[str, Place]

    def of(self, *kinds: FactKind) -> Iterator[SourceFact]:
        """The facts of these kinds."""
        return (fact for fact in self.facts if fact.kind in kinds)

    def known(self, fact: SourceFact) -> list[Place]:
        """The places of the fact's members that this build has."""
        return [self.places[name] for name in fact.members if name in self.places]

    def atoms_of(self, fact: SourceFact) -> list[int]:
        """The atoms of the fact's members, each once, ascending."""
        return sorted({self.owners[place.member] for place in self.known(fact)})


def record_of(
    layout: Layout, parts: tuple[Atom, ...], layouts: Layouts, facts: tuple[SourceFact, ...], base: int, outer: Layout
) -> Record:
    """The record as rules see it."""
    owners = tuple(atom for atom, part in enumerate(parts) for _ in part.members)
    return Record(layout, parts, layouts, facts, base, outer, owners, visible_places(layout, layouts))


def source_of(fact: SourceFact) -> str:
    """Where the fact is from."""
    return fact.place or "the source"
