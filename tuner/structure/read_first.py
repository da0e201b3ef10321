# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading before writing: a store of what is there already takes the line from everybody for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.attribution.lock import takes_lock
from linesmith.analyzer.model import (
    Bounds,
    MemberAccesses,
    MemberCategory,
    MemberFunction,
    StructuralAdvice,
    StructureKind,
)
from linesmith.tuner.structure.case import Case, accessors

# A writer of less of the line's contended accesses is not what the line is about.
MAIN_SHARE = 0.25
_LARGEST = 8
_UNKNOWN = (
    "Whether {name} often keeps its value no sample tells: count how often a store changes it before you do this."
)
_VALUES = (MemberCategory.SCALAR, MemberCategory.ENUM, MemberCategory.UNKNOWN)


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
    return [one.name for one in sorted(stored, key=_stores) if _only_writes(one.name, parts)]


def _stores(one: MemberFunction) -> int:
    return -one.stores


def _only_writes(function: str, parts: tuple[MemberAccesses, ...]) -> bool:
    found = [one.counts for part in parts for one in part.functions if one.function == function]
    return bool(found) and all(one.writes and not one.reading for one in found)
