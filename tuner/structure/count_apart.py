# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting per CPU: one counter that all CPUs update becomes one for each, added up by those who read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.access import writing_ways
from linesmith.analyzer.model import Member, SharingCost, StructuralAdvice, StructureKind, TriageKind
from linesmith.tuner.structure.case import Case, accessors, main_member, tallied

# Of the instructions that write a counter so many add to it; the others set it up.
UPDATE_SHARE = 0.5
# So many counters, on which so much of a line's contention falls, are advised together.
LEAST_COUNTERS = 2
MOST_OF_LINE = 0.5
_LARGEST = 8
# Inlined functions of Linux by which code updates a counter and asks what became of it. One is enough to tell that
# somebody must know, as the last user of an object must.
_TESTING = re.compile(r"_and_test|_and_lock|_not_zero|_negative|_unless_|refcount|kref|_dec_if")


@dataclass(frozen=True, slots=True)
class _Counting:
    """How the code writes a counter: instructions that do, that add, that look; and samples of both sides."""

    name: str
    writing: int
    adding: int
    testing: int
    updates: int
    readings: int

    @property
    def tested(self) -> bool:
        """Whether somebody who updates it must know the value at once."""
        return self.testing > 0

    @property
    def hardly_read(self) -> bool:
        """Whether it is added to, and seldom looked at."""
        added = self.updates > 0 and self.adding > UPDATE_SHARE * self.writing
        return added and not self.tested and self.readings <= self.updates


def counting_apart(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for a member of a record that sampled functions count with and that is truly shared, or for many."""
    if TriageKind.TRUE_SHARING not in case.kinds:
        yield from _counters_apart(case)
        return
    name = main_member(case)
    member = case.member(name)
    if member is None or not _may_count(case, name, member):
        return
    found = _counting(case, name)
    if not found.updates or found.adding <= UPDATE_SHARE * found.writing:
        return
    yield StructuralAdvice(
        StructureKind.COUNT_APART,
        case.finding.objects[0].type,
        (name,),
        _sentence(found),
        reasons=tuple(_reasons(case, found)),
        accessors=accessors(case, (name,)),
        before=(case.layout,),
        notes=tuple(_notes(found)),
    )


def _counters_apart(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for counters that all CPUs update and that meet on a line: none of them is the line, together they are."""
    shared = dict.fromkeys(one.victim.member for one in case.finding.cost.sharings if _is_surely_shared(one))
    found = [_counting(case, name) for name in shared if (it := case.member(name)) and _may_count(case, name, it)]
    names = tuple(one.name for one in found if one.hardly_read and not _is_looked_at(case, one.name))
    share = case.share_among(names)
    if len(names) < LEAST_COUNTERS or share < MOST_OF_LINE:
        return
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    yield StructuralAdvice(
        StructureKind.COUNT_APART,
        case.finding.objects[0].type,
        names,
        f"count {listed} per CPU and add up where they are read",
        reasons=(f"{share:.0%} of the line's contended accesses waited on one of them for stores to one of them",),
        accessors=accessors(case, names),
        before=(case.layout,),
        notes=("Who reads them then visits every CPU's part, or lives with sums that are a little old.",),
    )


def _is_surely_shared(one: SharingCost) -> bool:
    """Whether CPUs waited for stores of others to the very member: no thread has it for itself."""
    return one.victim.member == one.writer.member and one.contended.least > 0


def _is_looked_at(case: Case, name: str) -> bool:
    """Whether code that adds to it reads it besides: a limit or a level, whose value decides."""
    counts = (one.counts for part in case.code(name) for one in part.functions)
    return any(one.reads and (one.updates or one.atomics) for one in counts)


def _may_count(case: Case, name: str, member: Member) -> bool:
    """Whether it can be a counter of a record: no lock, no larger than a word, not the whole of a bare type."""
    locked = any(one.lock for one in case.seen(name))
    return not locked and member.size <= _LARGEST < case.layout.size and not member.is_bit_field


def _counting(case: Case, name: str) -> _Counting:
    parts = case.code(name)
    seen = tallied(case, (name,)).values()
    updates = sum(one.samples for one in seen if one.writes)
    accesses = case.ground.accesses
    ways = writing_ways(case.layout.id, *case.span(name), accesses) if accesses is not None else {}
    return _Counting(
        name,
        sum(one.counts.writing for one in parts),
        sum(one.counts.updates + one.counts.atomics for one in parts),
        sum(count for chain, count in ways.items() if any(map(_TESTING.search, chain))),
        updates,
        sum(one.samples for one in seen) - updates,
    )


def _sentence(found: _Counting) -> str:
    if found.tested:
        return f"take {found.name} less often, or count it per CPU until its value must be known"
    if found.readings > found.updates:
        return f"collect what is added to {found.name} per CPU and add it in batches"
    return f"count {found.name} per CPU and add up where it is read"


def _reasons(case: Case, found: _Counting) -> Iterator[str]:
    yield f"{case.share(found.name):.0%} of the line's contended accesses waited on {found.name} for stores to it"
    yield f"{found.adding} of {found.writing} instructions that write it add to it"
    if found.tested:
        yield f"{found.testing} of them look at the value where it decides something: a reference count or a limit"
    yield f"{found.updates:,} samples are of functions that update it, {found.readings:,} of those that only read it"


def _notes(found: _Counting) -> Iterator[str]:
    if found.tested:
        yield "A count of references must still reach zero visibly: percpu_ref does that once its owner lets go."
        yield "Whether fewer would do (under RCU, or one for a whole batch) the profile does not tell."
        return
    if found.readings <= found.updates:
        yield f"Who reads {found.name} then visits every CPU's part, or lives with a sum that is a little old."
    else:
        yield f"Who reads {found.name} then sees a value that is a little old: by what the CPUs hold back."
