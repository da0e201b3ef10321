# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that are one atom, and why: groups, runs of bit-fields, ranges and blocks of the source."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import FactKind
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.record import Record, Remark, source_of


def groups(record: Record) -> Iterator[Remark]:
    """A cacheline group moves as one."""
    for atom in record.parts:
        if atom.is_group:
            reason = "the range between its group markers is asserted at compile time"
            yield Remark(Constraint(ConstraintKind.GROUP, atom.name, reason, "include/linux/cache.h"))


def bit_field_runs(record: Record) -> Iterator[Remark]:
    """Bit-fields next to each other share storage units."""
    for atom in record.parts:
        if len(atom.members) > 1 and all(member.is_bit_field for member in atom.members):
            reason = f"{len(atom.members)} bit-fields share storage units"
            yield Remark(Constraint(ConstraintKind.BIT_FIELDS, atom.name, reason, "C11 6.7.2.1p11"))


def ranges_and_blocks(record: Record) -> Iterator[Remark]:
    """Ranges that code treats as one, and blocks that the source keeps together."""
    for fact in record.of(FactKind.RANGE, FactKind.TOGETHER):
        for atom in record.atoms_of(fact):
            if len(record.parts[atom].members) > 1:
                kind = ConstraintKind.RANGE if fact.kind is FactKind.RANGE else ConstraintKind.BLOCK
                yield Remark(Constraint(kind, record.parts[atom].name, fact.reason, source_of(fact)))
