# SPDX-License-Identifier: GPL-2.0-or-later
"""Read-mostly copies: what many CPUs read and few write is read from a copy that the writer keeps up to date."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import CACHE_LINE_BYTES, StructuralAdvice, StructureKind, TriageKind
from linesmith.tuner.structure.case import Case, accessors, main_member

# Reads for each store from which on a store that visits every copy is cheaper than everybody's miss.
READS_PER_WRITE = 20


def reading_copies(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for a member truly shared that is read far more often than written, as a recording counts."""
    name = main_member(case)
    member = case.member(name)
    seen = case.seen(name)
    reads, writes = sum(one.reads for one in seen), sum(one.writes for one in seen)
    counted = case.finding.cost.exact and TriageKind.TRUE_SHARING in case.kinds
    if not counted or member is None or member.size > CACHE_LINE_BYTES or any(one.lock for one in seen):
        return
    if not writes or reads < READS_PER_WRITE * writes:
        return
    yield StructuralAdvice(
        StructureKind.READ_COPY,
        case.finding.objects[0].type,
        (name,),
        f"let each node read a copy of {name}, which the writer keeps up to date",
        reasons=(
            f"{case.share(name):.0%} of the line's contended accesses waited on {name} for stores to it",
            f"{reads:,} reads for {writes:,} stores: {reads // writes:,} to one",
        ),
        accessors=accessors(case, (name,)),
        before=(case.layout,),
        notes=("A reader may see the old value for a moment after the writer has changed it.",),
    )
