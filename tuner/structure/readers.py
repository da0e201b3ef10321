# SPDX-License-Identifier: GPL-2.0-or-later
"""Advice for members that many read: reading before writing, an object of its own.

A store of what is there already takes the line from everybody for nothing. A written member that cannot be parted from
its readers is pushed out to an object of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linesmith.analyzer.attribution.lock import takes_lock
from linesmith.analyzer.layouts.placement import refusal, round_up
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Bounds,
    Layout,
    MemberAccesses,
    MemberCategory,
    StructuralAdvice,
    StructureKind,
    TriageKind,
)
from linesmith.tuner.structure.case import Allocation, Case, accessors
from linesmith.tuner.structure.reshape import WORD, at, explained, pointer_to, with_member

# A writer of less of the line's contended accesses is not what the line is about; nor is a pair.
MAIN_SHARE = 0.25
PUSH_OUT_MAIN_SHARE = 0.5
_LARGEST = 8
_VALUES = (MemberCategory.SCALAR, MemberCategory.ENUM, MemberCategory.UNKNOWN)
_UNKNOWN = (
    "Whether {name} often keeps its value no sample tells: count how often a store changes it before you do this."
)


def reading_first(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for members that sampled functions store to without having read them."""
    total = case.finding.cost.contended or case.finding.contended
    for name, blamed in _blamed(case).items():
        blind = _blind(case, name)
        if not blind or not total or blamed.most < MAIN_SHARE * total:
            continue
        yield StructuralAdvice(
            StructureKind.READ_FIRST,
            case.finding.objects[0].type,
            (name,),
            f"store to {name} only where the value differs: {', '.join(blind[:3])} would read it first",
            reasons=(
                f"{blamed.most / total:.0%} of the line's contended accesses, at most, waited for stores to {name}",
                f"{', '.join(blind[:4])} was seen storing to it; its code never reads it",
            ),
            accessors=accessors(case, (name,)),
            before=(case.layout,),
            notes=(_UNKNOWN.format(name=name),),
        )


def _blamed(case: Case) -> dict[str, Bounds]:
    """What the line's accesses waited for stores to each member, by writer; locks are left out."""
    found: dict[str, Bounds] = {}
    for one in case.finding.cost.sharings:
        name = one.writer.member
        if not any(seen.lock for seen in case.seen(name)):
            found[name] = found.get(name, Bounds()) + one.contended
    return found


def _blind(case: Case, name: str) -> list[str]:
    """Sampled functions that store to the member and never read it; none where the code updates it, or locks by it."""
    member, parts = case.member(name), case.code(name)
    if member is None or member.size > _LARGEST or member.category not in _VALUES or member.is_bit_field:
        return []
    stored = [function for seen in case.seen(name) for function in seen.functions if function.stores]
    if any(one.counts.updates or one.counts.atomics for one in parts) or any(takes_lock(one.name) for one in stored):
        return []
    return [one.name for one in sorted(stored, key=lambda one: -one.stores) if _only_writes(one.name, parts)]


def _only_writes(function: str, parts: tuple[MemberAccesses, ...]) -> bool:
    found = [one.counts for part in parts for one in part.functions if one.function == function]
    return bool(found) and all(one.writes and not one.reading for one in found)


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
    if pair.weight < PUSH_OUT_MAIN_SHARE * case.finding.contended:
        return
    yield StructuralAdvice(
        StructureKind.PUSH_OUT,
        case.layout.name,
        (pair.writer,),
        f"put {pair.writer} into an object of its own, aligned to a line, that {case.layout.title} points to",
        reasons=(
            f"{pair.reader} waits for stores to {pair.writer}: {pair.weight:,} contended accesses",
            f"no order of the members parts them: {reason}",
        ),
        accessors=accessors(case, (pair.writer,)),
        before=(case.layout,),
        notes=tuple(_notes(case.layout, pair.writer)),
    )


def _notes(layout: Layout, name: str) -> Iterator[str]:
    yield f"Every access to {name} then reads the pointer first; the pointer itself is not written and stays shared."
    yield f"Each {layout.name} needs a second allocation, and both are freed together."


def put_apart(layout: Layout, home: Allocation, name: str) -> Iterator[StructuralAdvice]:
    """The member called ``name`` as an object of its own with a pointer in its place; raises ``StructureRefused``."""
    whole = explained(layout)
    position = at(layout, name)
    member = whole.members[position]
    after = with_member(whole, position, pointer_to(member))
    # A record with this member alone, aligned to a line.
    size = round_up(max(member.size, WORD), CACHE_LINE_BYTES)
    alone = replace(member, offset=0)
    own = replace(layout, name=member.name, size=size, members=(alone,), alignment=CACHE_LINE_BYTES)
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
