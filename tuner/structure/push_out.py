# SPDX-License-Identifier: GPL-2.0-or-later
"""Pushing out: a written member that cannot be parted from its readers moves to an object of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linesmith.analyzer.geometry.placement import refusal, round_up
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    ConflictPair,
    Layout,
    Member,
    StructuralAdvice,
    StructureKind,
    TriageKind,
)
from linesmith.tuner.structure.case import Case, accessors
from linesmith.tuner.structure.memory import Allocation
from linesmith.tuner.structure.reshape import WORD, at, explained, pointer_to, with_member

# A pair of less of the line's contended accesses is not what the line is about.
MAIN_SHARE = 0.5


def pushing_out(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for the written member of the heaviest pair, when C's rules let no order of the record part them."""
    pairs = case.finding.triage.pairs
    reason = refusal(case.layout)
    if TriageKind.FALSE_SHARING not in case.kinds or not pairs or reason is None or case.layout.name == "":
        return
    pair = pairs[0]
    member = next((one for one in case.layout.members if one.name == pair.writer), None)
    if member is None or member.is_bit_field or not member.offset:
        return
    if pair.weight < MAIN_SHARE * case.finding.contended:
        return
    yield StructuralAdvice(
        StructureKind.PUSH_OUT,
        case.layout.name,
        (pair.writer,),
        f"put {pair.writer} into an object of its own, aligned to a line, that {case.layout.title} points to",
        reasons=tuple(_reasons(pair, reason)),
        accessors=accessors(case, (pair.writer,)),
        before=(case.layout,),
        notes=tuple(_notes(case.layout, pair.writer)),
    )


def _reasons(pair: ConflictPair, reason: str) -> Iterator[str]:
    reader = pair.second if pair.writer == pair.first else pair.first
    yield f"{reader} waits for stores to {pair.writer}: {pair.weight:,} contended accesses"
    yield f"no order of the members parts them: {reason}"


def _notes(layout: Layout, name: str) -> Iterator[str]:
    yield f"Every access to {name} then reads the pointer first; the pointer itself is not written and stays shared."
    yield f"Each {layout.name} needs a second allocation, and both are freed together."


def put_apart(layout: Layout, home: Allocation, name: str) -> Iterator[StructuralAdvice]:
    """The member called ``name`` as an object of its own with a pointer in its place; raises ``StructureRefused``."""
    whole = explained(layout)
    position = at(layout, name)
    member = whole.members[position]
    after = with_member(whole, position, pointer_to(member))
    own = _alone(member, layout)
    yield StructuralAdvice(
        StructureKind.PUSH_OUT,
        layout.name,
        (name,),
        f"{name} of {layout.title} as an object of its own, aligned to a line: "
        f"{layout.size} -> {after.size} + {own.size} bytes",
        before=(layout,),
        after=(after,),
        memory_before=home.now(layout),
        memory_after=(*home.then(after), *home.of_another(own, CACHE_LINE_BYTES)),
        notes=tuple(_notes(layout, name)),
    )


def _alone(member: Member, layout: Layout) -> Layout:
    """A record with this member alone, aligned to a line."""
    size = round_up(max(member.size, WORD), CACHE_LINE_BYTES)
    alone = replace(member, offset=0)
    return replace(layout, name=member.name, size=size, members=(alone,), alignment=CACHE_LINE_BYTES)
