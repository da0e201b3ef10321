# SPDX-License-Identifier: GPL-2.0-or-later
"""Sharding: a contended lock with what it protects in several copies, each CPU or node with its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.attribution.lock import takes_lock
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    ContendedLock,
    Protected,
    StructuralAdvice,
    StructureKind,
    TriageKind,
)
from linesmith.tuner.placement import round_up
from linesmith.tuner.structure.case import Case, accessors, sampled

# Of the accesses that write a member so many are single atomic instructions in one that needs no lock.
ATOMIC_SHARE = 0.5


def sharding(case: Case) -> Iterator[StructuralAdvice]:
    """Advice to shard the contended lock, when something it protects was seen too."""
    lock = case.finding.lock
    if lock is None or TriageKind.LOCK_CONTENTION not in case.kinds:
        return
    guarded = _guarded(case, lock)
    if not guarded:
        return
    names = (lock.name, *(one.member for one in guarded))
    yield StructuralAdvice(
        StructureKind.SHARD,
        lock.type,
        names,
        f"shard {lock.name} with {_listed(names[1:])}: several copies, each CPU or node takes its own",
        reasons=tuple(_reasons(case, lock, guarded)),
        accessors=accessors(case, names, lock.holders),
        before=(case.layout,),
        notes=tuple(_notes(case, names)),
    )


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
    for one in guarded:
        yield f"{one.member} belongs to it: {_why(one)}"


def _why(one: Protected) -> str:
    if one.held:
        named = "named alike, and " if one.named_alike else ""
        return f"{named}{one.held} of {one.writers} functions that write it take the lock"
    return "named alike; the functions that write it are called with the lock held, or take none"


def _notes(case: Case, names: Sequence[str]) -> Iterator[str]:
    held = [member for name in names if (member := case.member(name)) is not None]
    size = sum(member.size for member in held)
    copy = round_up(size, CACHE_LINE_BYTES)
    yield f"A copy takes {copy} bytes ({size} used), aligned to a line: in each object that is sharded, once per copy."
    yield "What walks all of it, or must see it as one, takes every copy in turn."
    yield "An entry must be taken out of the copy it was put in, so it has to remember which, or what chose it."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
