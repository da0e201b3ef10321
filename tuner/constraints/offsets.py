# SPDX-License-Identifier: GPL-2.0-or-later
"""Members whose place the source relies on: asserted offsets, initialisers by position, first members."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.geometry.placement import BYTE, first_bit
from linesmith.analyzer.model import FactKind
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.freedom import Pin
from linesmith.tuner.constraints.record import Fixed, Record, source_of


def relied_offsets(record: Record) -> Iterator[Pin]:
    """Members whose offsets are asserted or exported keep them."""
    for fact in record.of(FactKind.OFFSET):
        for atom in record.atoms_of(fact):
            name = record.parts[atom].name
            yield pin(record, atom, Constraint(ConstraintKind.OFFSET, name, fact.reason, source_of(fact)))


def relied_first(record: Record) -> Iterator[Pin]:
    """A member that code casts the record to keeps its offset, which is that of the record."""
    for fact in record.of(FactKind.FIRST):
        for atom in record.atoms_of(fact):
            name = record.parts[atom].name
            yield pin(record, atom, Constraint(ConstraintKind.FIRST, name, fact.reason, source_of(fact)))


def relied_walls(record: Record) -> Iterator[Fixed]:
    """Members that end the record, and those at which code splits it."""
    kinds = {FactKind.LAST: ConstraintKind.LAST, FactKind.WALL: ConstraintKind.MARKER}
    for fact in record.of(*kinds):
        for atom in record.atoms_of(fact):
            name = record.parts[atom].name
            yield Fixed(atom, Constraint(kinds[fact.kind], name, fact.reason, source_of(fact), everywhere=True))


def relied_order(record: Record) -> Iterator[Fixed]:
    """All members up to the last that an initialiser gives by position keep their turn."""
    for fact in record.of(FactKind.POSITIONAL):
        for atom in range(max(record.atoms_of(fact), default=-1) + 1):
            name = record.parts[atom].name or "an anonymous member"
            why = Constraint(ConstraintKind.POSITION, name, fact.reason, source_of(fact))
            yield Fixed(atom, why)


def pin(record: Record, atom: int, why: Constraint) -> Pin:
    """The atom at the offset that it has now."""
    position = record.owners.index(atom)
    return Pin(atom, position, first_bit(record.layout.members[position]) // BYTE, why)
