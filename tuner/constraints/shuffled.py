# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that a compiler plugin may shuffle."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import FactKind
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.record import Record, Remark, source_of


def randomized(record: Record) -> Iterator[Remark]:
    """An order of members is legal but holds only where the compiler does not shuffle them."""
    for fact in record.of(FactKind.RANDOMIZED):
        reason = f"{fact.reason}; an order counts only in builds without CONFIG_RANDSTRUCT"
        title = record.layout.title
        yield Remark(Constraint(ConstraintKind.RANDOMIZED, title, reason, source_of(fact), everywhere=True))
