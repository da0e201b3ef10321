# SPDX-License-Identifier: GPL-2.0-or-later
"""How large the record may become."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import FactKind
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.freedom import Limit
from linesmith.tuner.constraints.record import Record, source_of


def ceilings(record: Record) -> Iterator[Limit]:
    """Sizes that the source, or somebody who knows, does not let the record exceed."""
    for fact in record.of(FactKind.SIZE):
        most = max(fact.bytes if fact.bytes is not None else record.layout.size, record.layout.size)
        why = Constraint(ConstraintKind.SIZE, record.layout.title, fact.reason, source_of(fact))
        yield Limit(0, most, why)


def kept_size(record: Record) -> Iterator[Limit]:
    """A struct inside another record keeps its size, so that what follows it stays; unless nothing does."""
    if record.base == 0 and record.outer.size == record.layout.size:
        return
    name = record.parts[0].name if record.parts else "an anonymous struct"
    reason = "another size would move what follows it"
    why = Constraint(ConstraintKind.SIZE, name, reason, "DW_TAG_member without a name")
    yield Limit(record.layout.size, record.layout.size, why)
