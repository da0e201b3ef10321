# SPDX-License-Identifier: GPL-2.0-or-later
"""Advice for locks and counters: shard a contended lock, make it smaller, count per CPU.

Sharding makes several copies of a lock with what it protects, each CPU or node with its own. A large lock next to its
data that becomes a small one lets who takes it fetch one line, not two. One counter that all CPUs update becomes one
for each, added up by those who read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.access.questions import writing_ways
from linesmith.analyzer.attribution.lock import is_lock, lets_readers_in, takes_lock
from linesmith.analyzer.base.errors import StructureRefused
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.layouts.placement import round_up
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Accessor,
    ContendedLock,
    Finding,
    Layout,
    Member,
    Protected,
    StructuralAdvice,
    StructureKind,
    TriageKind,
)
from linesmith.analyzer.sharing.parts import is_of_each, own_members
from linesmith.tuner.structure.case import Allocation, Case, at, explained, shrunk, with_member

# Of the accesses that write a member so many are single atomic instructions in one that needs no lock.
ATOMIC_SHARE = 0.5
# A lock that is taken for reading by so many is better not shared by its readers.
READ_SHARE = 0.8
# Bytes of a small lock: a word with a bit to wait on.
SMALL_LOCK = 8
# A line that less of the lock's contention falls on does not matter, nor a counter with less of its line's.
SECOND_SHARE = 0.1
# Of the instructions that write a counter so many add to it; the others set it up.
UPDATE_SHARE = 0.5
# So many counters, on which so much of a line's contention falls, are advised together.
LEAST_COUNTERS = 2
MOST_OF_LINE = 0.5
_LARGEST = 8
# Inlined functions of Linux by which code updates a counter and asks what became of it. One is enough to tell that
# somebody must know, as the last user of an object must.
_TESTING = re.compile(r"_and_test|_and_lock|_not_zero|_negative|_unless_|refcount|kref|_dec_if")


def sharding(case: Case) -> Iterator[StructuralAdvice]:
    """Advice to shard the contended lock, with what it protects where the profile shows some of that."""
    lock = case.finding.lock
    if lock is None or TriageKind.LOCK_CONTENTION not in case.kinds or is_lock(case.layout.name):
        return
    # What goes with the lock: members it probably protects that the profile shows and that are no atomic counters.
    guarded = tuple(one for one in lock.members if case.sampled((one.member,)) and not _atomic(case, one.member))
    names = (lock.name, *(one.member for one in guarded))
    yield StructuralAdvice(
        StructureKind.SHARD,
        lock.type,
        names,
        _sentence(case, names),
        reasons=tuple(_reasons(case, lock, guarded)),
        accessors=_running(case.accessors(names, lock.holders)),
        before=(case.layout,),
        notes=(*_unseen(case, lock, guarded), *_notes(case, names)),
    )


def _running(found: tuple[Accessor, ...]) -> tuple[Accessor, ...]:
    """Those that were seen to run, or all where none was."""
    return tuple(one for one in found if one.samples) or found


def _sentence(case: Case, names: Sequence[str]) -> str:
    lock, *data = names
    if data:
        return f"shard {lock} with {', '.join(data)}: several copies, each CPU or node takes its own"
    if _read_share(case, lock) >= READ_SHARE:
        return f"let each CPU take {lock} for reading by itself (percpu_rw_semaphore, RCU): who writes waits for all"
    return f"shard {lock} with what it protects, or take it less often"


def _read_share(case: Case, lock: str) -> float:
    """Of the samples of functions that take or release the lock, those that do so for reading."""
    seen = {name: count for name, count in case.sampled((lock,)).items() if takes_lock(name)}
    reading = sum(count for name, count in seen.items() if lets_readers_in(name))
    return reading / sum(seen.values()) if seen else 0.0


def _unseen(case: Case, lock: ContendedLock, guarded: Sequence[Protected]) -> Iterator[str]:
    """What is not known of what the lock protects, where nothing of it was seen."""
    if guarded:
        return
    if names := ", ".join(one.member for one in lock.members if not case.sampled((one.member,))):
        yield f"It probably protects {names}, but the profile shows none of them: other data may lie behind pointers."
    else:
        yield "What it protects the code does not tell: it may lie in other objects."


def _atomic(case: Case, name: str) -> bool:
    """Whether most that writes the member does so by one atomic instruction, which no lock has to guard."""
    member = case.member(name)
    if member is not None and member.type.startswith(("atomic", "refcount")):
        return True
    parts = case.code(name)
    writing = sum(one.counts.writing for one in parts)
    return writing > 0 and sum(one.counts.atomics for one in parts) >= ATOMIC_SHARE * writing


def _reasons(case: Case, lock: ContendedLock, guarded: Sequence[Protected]) -> Iterator[str]:
    share = case.share(lock.name)
    if share:
        yield f"{share:.0%} of the {case.finding.unit} on its line are of {lock.name}, after another CPU's store to it"
    waiting = [name for name in case.sampled((lock.name,)) if takes_lock(name)]
    if waiting:
        yield f"taken and released there by {', '.join(waiting[:4])}"
    if share_reading := _read_share(case, lock.name):
        yield f"{share_reading:.0%} of their accesses are of functions that take it for reading"
    for one in guarded:
        reason = "named alike; the functions that write it are called with the lock held, or take none"
        if one.held:
            alike = "named alike, and " if one.named_alike else ""
            reason = f"{alike}{one.held} of {one.writers} functions that write it take the lock"
        yield f"{one.member} belongs to it: {reason}"


def _notes(case: Case, names: Sequence[str]) -> Iterator[str]:
    size = sum(case.span(name)[1] for name in names if name in case.places)
    copy = round_up(size, CACHE_LINE_BYTES)
    yield f"A copy takes {copy} bytes ({size} used), aligned to a line: in each object that is sharded, once per copy."
    yield "What walks all of it, or must see it as one, takes every copy in turn."
    if len(names) > 1:
        yield "An entry must be taken out of the copy it was put in, so it has to remember which, or what chose it."


def shrinking(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for a contended lock that costs two lines: it lies on both, or fills one and its data is on another."""
    lock = case.finding.lock
    if lock is None or TriageKind.LOCK_CONTENTION not in case.kinds:
        return
    member = next((one for one in case.layout.members if one.name == lock.name), None)
    if member is None or member.size <= SMALL_LOCK:
        return
    guarded = [one.member for one in lock.members]
    reasons = (*_two_lines(case, lock.name), *_data_apart(case, member.size, guarded))
    if not reasons:
        return
    try:
        smaller = tuple(made_smaller(case.layout, case.home, lock.name, SMALL_LOCK))
    except StructureRefused:
        return
    for one in smaller:
        stays = "Who waits for the lock still does: what goes is the second line that travels with it."
        yield replace(one, reasons=reasons, accessors=_running(case.accessors((lock.name,))), notes=(stays, *one.notes))


def _object(finding: Finding) -> int | None:
    """The address of the line's first object."""
    return None if finding.address is None else finding.address + finding.objects[0].start


def _lines_of(case: Case) -> list[Finding]:
    """All lines of the profile that hold the same object."""
    address = _object(case.finding)
    return [case.finding, *(one for one in case.same[1:] if address is not None and _object(one) == address)]


def _contended(finding: Finding, names: Sequence[str]) -> int:
    return sum(one.contended for member in own_members(finding) if member.top in names for one in member.functions)


def _two_lines(case: Case, name: str) -> Iterator[str]:
    """Whether words of the lock were contended on more than one line of the object."""
    counts = [_contended(one, (name,)) for one in _lines_of(case)]
    hot = [count for count in counts if count and count >= SECOND_SHARE * sum(counts)]
    if len(hot) > 1:
        counted = " and ".join(f"{count:,}" for count in hot)
        yield f"{name} lies on {len(hot)} lines, and all of them are fought for: {counted} {case.finding.unit}"


def _data_apart(case: Case, size: int, guarded: Sequence[str]) -> Iterator[str]:
    """Whether what the lock protects was contended on another line, and would fit next to a small one."""
    members = [one for one in case.layout.members if one.name in guarded]
    away = [one for one in _lines_of(case)[1:] if _contended(one, guarded) >= SECOND_SHARE * case.finding.contended]
    data = sum(one.size for one in members)
    if away and data + SMALL_LOCK <= CACHE_LINE_BYTES < data + size:
        names = ", ".join(one.name for one in members)
        yield f"{names}, which it protects, are contended on another line: beside {size} bytes of lock is no room"


def made_smaller(layout: Layout, home: Allocation, name: str, size: int) -> Iterator[StructuralAdvice]:
    """The member called ``name`` with ``size`` bytes at its place; raises ``StructureRefused``."""
    whole = explained(layout)
    position = at(layout, name)
    after = with_member(whole, position, shrunk(whole.members[position], size))
    old = layout.members[position].size
    yield StructuralAdvice(
        StructureKind.SHRINK,
        layout.name,
        (name,),
        f"{name} of {layout.title} with {size} bytes instead of {old}: {layout.size} -> {after.size} bytes, "
        f"{lines(layout)} -> {lines(after)} lines of {CACHE_LINE_BYTES}",
        before=(layout,),
        after=(after,),
        memory_before=home.now(layout),
        memory_after=home.then(after),
        notes=(f"What does the work of {layout.members[position].type} in {size} bytes is to be written first.",),
    )


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
    name, first = case.main_member(), case.finding.objects[0]
    if is_of_each(first.origin, case.layout.name, first.variable):
        return
    if TriageKind.TRUE_SHARING not in case.kinds or case.share(name) < SECOND_SHARE:
        yield from _counters_apart(case)
        return
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
        _counter_sentence(found),
        reasons=tuple(_counter_reasons(case, found)),
        accessors=case.accessors((name,)),
        before=(case.layout,),
        notes=tuple(_counter_notes(found)),
    )


def _counters_apart(case: Case) -> Iterator[StructuralAdvice]:
    """Advice for counters that all CPUs update and that meet on a line: none of them is the line, together they are."""
    # CPUs waited for stores of others to the very member: no thread has it for itself.
    shared = dict.fromkeys(
        one.victim.member
        for one in case.finding.cost.sharings
        if one.victim.member == one.writer.member and one.contended.least > 0
    )
    found = [_counting(case, name) for name in shared if (it := case.member(name)) and _may_count(case, name, it)]
    # For code that adds to it and reads it besides it is a limit or a level, whose value decides.
    code = [(it.name, users.counts) for it in found for part in case.code(it.name) for users in part.functions]
    decide = {name for name, one in code if one.reads and (one.updates or one.atomics)}
    names = tuple(one.name for one in found if one.hardly_read and one.name not in decide)
    share = case.share(*names)
    if len(names) < LEAST_COUNTERS or share < MOST_OF_LINE:
        return
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    yield StructuralAdvice(
        StructureKind.COUNT_APART,
        case.finding.objects[0].type,
        names,
        f"count {listed} per CPU and add up where they are read",
        reasons=(f"{share:.0%} of the {case.finding.unit} on their line are of one, after another CPU's store to one",),
        accessors=case.accessors(names),
        before=(case.layout,),
        notes=("Who reads them then visits every CPU's part, or lives with sums that are a little old.",),
    )


def _may_count(case: Case, name: str, member: Member) -> bool:
    """Whether it can be a counter of a record: no lock, no pointer, no larger than a word, not the whole of a type."""
    inner = member
    while inner.record is not None and (members := case.ground.layouts.by_id(inner.record).members):
        inner = members[0]
    other = inner.type.rstrip().endswith("*") or any(one.lock for one in case.seen(name))
    return not other and member.size <= _LARGEST < case.layout.size and not member.is_bit_field


def _counting(case: Case, name: str) -> _Counting:
    parts = case.code(name)
    seen = case.tallied((name,)).values()
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


def _counter_sentence(found: _Counting) -> str:
    if found.tested:
        return f"take {found.name} less often, or count it per CPU until its value must be known"
    if found.readings > found.updates:
        return f"collect what is added to {found.name} per CPU and add it in batches"
    return f"count {found.name} per CPU and add up where it is read"


def _counter_reasons(case: Case, found: _Counting) -> Iterator[str]:
    part = f"{case.share(found.name):.0%} of the {case.finding.unit} on its line"
    yield f"{part} are of {found.name}, after another CPU's store to it"
    yield f"{found.adding} of {found.writing} instructions that write it add to it"
    if found.tested:
        yield f"{found.testing} of them look at the value where it decides something: a reference count or a limit"
    yield f"{found.updates:,} accesses are of functions that update it, {found.readings:,} of those that only read it"


def _counter_notes(found: _Counting) -> Iterator[str]:
    if found.tested:
        yield "A count of references must still reach zero visibly: percpu_ref does that once its owner lets go."
        yield "Whether fewer would do (under RCU, or one for a whole batch) the profile does not tell."
        return
    if found.readings <= found.updates:
        yield f"Who reads {found.name} then visits every CPU's part, or lives with a sum that is a little old."
    else:
        yield f"Readers of {found.name} then see a value that lags by what the CPUs have not added yet."
