# SPDX-License-Identifier: GPL-2.0-or-later
"""Sharding: a contended lock with what it protects in several copies, each CPU or node with its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from linesmith.analyzer.attribution.lock import is_lock, takes_lock
from linesmith.analyzer.geometry.placement import round_up
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    ContendedLock,
    Protected,
    StructuralAdvice,
    StructureKind,
    TriageKind,
)
from linesmith.tuner.structure.case import Case, accessors, sampled

# Of the accesses that write a member so many are single atomic instructions in one that needs no lock.
ATOMIC_SHARE = 0.5
# A lock that is taken for reading by so many is better not shared by its readers.
READ_SHARE = 0.8
# Functions that take or release a lock for reading, by the names that Linux and POSIX give them.
READING = re.compile(r"_read(?:$|_)|(?:^|_)read_(?:try|un)?lock|rdlock")


def sharding(case: Case) -> Iterator[StructuralAdvice]:
    """Advice to shard the contended lock, with what it protects where the profile shows some of that."""
    lock = case.finding.lock
    if lock is None or TriageKind.LOCK_CONTENTION not in case.kinds or is_lock(case.layout.name):
        return
    guarded = _guarded(case, lock)
    names = (lock.name, *(one.member for one in guarded))
    yield StructuralAdvice(
        StructureKind.SHARD,
        lock.type,
        names,
        _sentence(case, names),
        reasons=tuple(_reasons(case, lock, guarded)),
        accessors=accessors(case, names, lock.holders),
        before=(case.layout,),
        notes=(*_unseen(lock, guarded), *_notes(case, names)),
    )


def _sentence(case: Case, names: Sequence[str]) -> str:
    lock, *data = names
    if data:
        return f"shard {lock} with {', '.join(data)}: several copies, each CPU or node takes its own"
    if _read_share(case, lock) >= READ_SHARE:
        return f"let each CPU take {lock} for reading by itself (percpu_rw_semaphore, RCU): who writes waits for all"
    return f"shard {lock} with what it protects, or take it less often"


def _read_share(case: Case, lock: str) -> float:
    """Of the samples of functions that take or release the lock, those that do so for reading."""
    seen = {name: count for name, count in sampled(case, (lock,)).items() if takes_lock(name)}
    reading = sum(count for name, count in seen.items() if READING.search(name))
    return reading / sum(seen.values()) if seen else 0.0


def _unseen(lock: ContendedLock, guarded: Sequence[Protected]) -> Iterator[str]:
    """What is not known of what the lock protects, where nothing of it was seen."""
    if guarded:
        return
    if lock.members:
        names = ", ".join(one.member for one in lock.members)
        yield f"It probably protects {names}, but the profile shows none of them: other data may lie behind pointers."
    else:
        yield "What it protects the code does not tell: it may lie in other objects."


def _guarded(case: Case, lock: ContendedLock) -> tuple[Protected, ...]:
    """What goes with the lock: members it probably protects that the profile shows and that are no atomic counters."""
    return tuple(one for one in lock.members if sampled(case, (one.member,)) and not _atomic(case, one.member))


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
        yield f"{share:.0%} of the line's contended accesses waited on {lock.name} for stores to it"
    waiting = [name for name in sampled(case, (lock.name,)) if takes_lock(name)]
    if waiting:
        yield f"seen on it: {', '.join(waiting[:4])}"
    if share_reading := _read_share(case, lock.name):
        yield f"{share_reading:.0%} of their samples are of functions that take it for reading"
    for one in guarded:
        yield f"{one.member} belongs to it: {_why(one)}"


def _why(one: Protected) -> str:
    if one.held:
        named = "named alike, and " if one.named_alike else ""
        return f"{named}{one.held} of {one.writers} functions that write it take the lock"
    return "named alike; the functions that write it are called with the lock held, or take none"


def _notes(case: Case, names: Sequence[str]) -> Iterator[str]:
    size = sum(case.span(name)[1] for name in names if name in case.places)
    copy = round_up(size, CACHE_LINE_BYTES)
    yield f"A copy takes {copy} bytes ({size} used), aligned to a line: in each object that is sharded, once per copy."
    yield "What walks all of it, or must see it as one, takes every copy in turn."
    if len(names) > 1:
        yield "An entry must be taken out of the copy it was put in, so it has to remember which, or what chose it."
