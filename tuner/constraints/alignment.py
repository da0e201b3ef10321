# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignments that the source asks for."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.record import Record, Remark


def explicit_alignments(record: Record) -> Iterator[Remark]:
    """A member that is more aligned than its type asks for stays so, wherever it goes."""
    for member in record.layout.members:
        if (member.alignment or 1) > max(member.natural_alignment, 8):
            reason = f"the source asks for {member.alignment} bytes"
            yield Remark(Constraint(ConstraintKind.ALIGNED, member.name, reason, "DW_AT_alignment"))
