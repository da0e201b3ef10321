# SPDX-License-Identifier: GPL-2.0-or-later
"""Bit-fields of different runs stay apart: next to each other they would be one memory location."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.freedom import Run
from linesmith.tuner.constraints.record import Record

_REASON = "beside other bit-fields it would share memory with them, which is read and written as one"


def separate_runs(record: Record) -> Iterator[Run]:
    """A run of bit-fields may have its own lock, which does not protect what a neighbouring run shares with it."""
    for atom, part in enumerate(record.parts):
        first, last = part.members[0].is_bit_field, part.members[-1].is_bit_field
        if first or last:
            why = Constraint(ConstraintKind.BIT_FIELDS_APART, part.name, _REASON, "C11 3.14p3")
            yield Run(atom, first, last, why)
