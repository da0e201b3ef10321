# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting per CPU: one counter that all CPUs update becomes one for each, added up by those who read it."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import Member, StructuralAdvice, StructureKind, TriageKind
from linesmith.tuner.structure.case import Case, accessors, main_member, sampled

# Of the accesses that write a counter so many are updates; the others set it up.
UPDATE_SHARE = 0.5
_REFERENCES = ("refcount", "kref")
_LARGEST = 8


def counting_apart(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for a member that the code counts with, when updates were sampled more often than readings."""
    name = main_member(case)
    member = case.member(name)
    if TriageKind.TRUE_SHARING not in case.kinds or member is None or not _counts(case, name, member):
        return
    seen = sampled(case, (name,))
    updating = {function for part in case.code(name) for function in part.writers}
    updates = sum(count for function, count in seen.items() if function in updating)
    readings = sum(seen.values()) - updates
    if not updates or readings >= updates:
        return
    yield StructuralAdvice(
        StructureKind.COUNT_APART,
        case.finding.objects[0].type,
        (name,),
        _sentence(name, member),
        reasons=tuple(_reasons(case, name, updates, readings)),
        accessors=accessors(case, (name,)),
        before=(case.layout,),
        notes=tuple(_notes(name, member)),
    )


def _counts(case: Case, name: str, member: Member) -> bool:
    """Whether the code only ever adds to the member, by one instruction."""
    parts = case.code(name)
    writing = sum(one.counts.writing for one in parts)
    counting = sum(one.counts.updates + one.counts.atomics for one in parts)
    locked = any(one.lock for one in case.seen(name))
    return not locked and member.size <= _LARGEST and writing > 0 and counting > UPDATE_SHARE * writing


def _sentence(name: str, member: Member) -> str:
    if _is_reference(member):
        return f"count the references in {name} per CPU while the object lives, or take fewer of them"
    return f"count {name} per CPU and add up where it is read"


def _is_reference(member: Member) -> bool:
    return any(word in f"{member.type} {member.name}" for word in _REFERENCES)


def _reasons(case: Case, name: str, updates: int, readings: int) -> Iterator[str]:
    yield f"{case.share(name):.0%} of the line's contended accesses waited on {name} for stores to it"
    parts = case.code(name)
    writing, counting = (sum(one.counts.writing for one in parts), sum(_updating(case, name)))
    yield f"{counting} of {writing} places in the code that write it add to it in one instruction"
    yield f"{updates:,} samples are of functions that update it, {readings:,} of functions that only read it"


def _updating(case: Case, name: str) -> Iterator[int]:
    return (one.counts.updates + one.counts.atomics for one in case.code(name))


def _notes(name: str, member: Member) -> Iterator[str]:
    if _is_reference(member):
        yield "The last reference must still be noticed: percpu_ref does that once its owner has given the object up."
        yield "Whether fewer references would do (under RCU, or one for a whole batch) the profile does not tell."
        return
    yield f"Readers of {name} then visit every CPU's part, or live with a sum that is a little old."
    yield "Only the code is known to add: that no caller needs the exact sum at once the profile does not tell."
