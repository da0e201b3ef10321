# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lock a line's cost comes from, what it probably protects, and what can help besides moving members.

A function holds the lock, as far as code tells without a run, when it touches the lock's words or has a locking
function inlined whose parameter is the object (or, where the object has one lock of that kind, the lock).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_of, handed_on
from linesmith.analyzer.attribution.lock import is_lock, purpose, takes_lock, words_of
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.model import (
    ContendedLock,
    Finding,
    Layout,
    Outcome,
    Profile,
    Protected,
    Touched,
    TriageKind,
    TypeAccesses,
    top_member,
)
from linesmith.analyzer.sharing.parts import top_names

# Asked about at most: functions that touch members of the object.
MOST_FUNCTIONS = 2000
MOST_MEMBERS = 6
MOST_NAMES = 4
# Of the functions that write a member so many must hold the lock; constructors, for one, do not.
HELD_SHARE = 0.5
# Bytes of the smallest lock that sleeps waiting, as a word with a bit: what is larger can shrink.
SMALL_LOCK = 8

_Writers = Mapping[str, frozenset[str]]
# The id of a layout, and the name of a member.
_Place = tuple[int, str]
Asking = Callable[[Sequence[str]], Iterable[Touched]]


@dataclass(frozen=True, slots=True)
class _LockMember:
    """The member ``name`` of ``layout``, a top-level one; ``records`` are the lock's own types, outermost first.

    ``size`` is in bytes, ``alone`` tells that no other lock of the object is of these types.
    """

    layout: Layout
    name: str
    records: tuple[str, ...]
    size: int
    alone: bool


@dataclass(frozen=True, slots=True)
class _LockUsers:
    """A lock of a ``type`` with the functions that write each member of the object, and those that touch the lock.

    ``writing`` are those that write other members, the first ``MOST_FUNCTIONS``; ``words`` those of them that touch the
    lock's own words.
    """

    type: str
    lock: _LockMember
    writers: _Writers
    writing: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, type_: str, lock: _LockMember, touched: TypeAccesses) -> _LockUsers:
        """``touched`` are all accesses to the object."""
        writers: dict[str, frozenset[str]] = {}
        for member in touched.members:
            top = top_member(member.path)
            writers[top] = writers.get(top, frozenset()) | frozenset(member.writers)
        writing = sorted({name for top, names in writers.items() if top != lock.name for name in names})
        own = (member for member in touched.members if top_member(member.path) == lock.name)
        words = {one.function for member in own for one in member.functions}
        return cls(type_, lock, writers, tuple(writing[:MOST_FUNCTIONS]), tuple(one for one in writing if one in words))

    def holders(self, reached: Iterable[Touched]) -> dict[str, frozenset[str]]:
        """Functions that take the lock and write other members, with how they take it (nothing: by its own words)."""
        found, lock, asked = {name: frozenset[str]() for name in self.words}, self.lock, frozenset(self.writing)
        for one in reached:
            if one.inlined_from and one.function in asked and one.via == "parameter" and takes_lock(one.inlined_from):
                # By its parameter and its name: this very lock.
                stem = purpose(lock.name)
                alike = one.record == lock.layout.name and bool(stem) and stem <= words_of(one.inlined_from)
                if lock.alone if one.record in lock.records else alike:
                    found[one.function] = found.get(one.function, frozenset()) | {one.inlined_from}
        return found


def name_locks(
    found: Iterable[Finding], layouts: Layouts, accesses: AccessMap | None, asking: Asking, profile: Profile
) -> tuple[Finding, ...]:
    """The findings, those of lock contention with their lock; ``asking`` tells what functions can reach."""
    findings = tuple(found)
    contended = [_contended(finding) for finding in findings]
    owners = {one: finding.objects[0].type for finding, one in zip(findings, contended, strict=True) if one}
    if not owners:
        return findings
    accessing = [access for line in profile.lines for access in line.accesses]
    paths = [one for access in accessing for path in access.call_paths for one in path.functions]
    ran, told = frozenset((*paths, *(access.function or "" for access in accessing))), bool(paths)
    known, users = dict[_Place, ContendedLock](), dict[_Place, _LockUsers]()
    for place, type_ in owners.items():
        layout = layouts.by_id(place[0])
        lock = _lock(layout, place[1], layouts)
        if lock is None or accesses is None:
            known[place] = _by_itself(type_, place[1], layout, lock)
        else:
            users[place] = _LockUsers.of(type_, lock, accesses_of(layout, layouts, accesses))
    # About the functions of all locks at once: to look for any of them takes most of the time.
    asked = {name for one in users.values() for name in one.writing}
    reached = tuple(asking(sorted(asked))) if asked else ()
    known |= {place: _contended_lock(one, reached, ran) for place, one in users.items()}
    if accesses is not None and not told:
        possible = {place: _possible(layouts.by_id(place[0]), place[1], accesses, ran) for place in known}
        known = {place: replace(one, possible=possible[place]) for place, one in known.items()}
    pairs = zip(findings, contended, strict=True)
    return tuple(replace(finding, lock=known[one]) if one else finding for finding, one in pairs)


def _possible(layout: Layout, name: str, accesses: AccessMap, ran: frozenset[str]) -> tuple[str, ...]:
    """The functions that hand the lock to one that locks.

    Those that ran come first, then those that hand other members of the object to functions that ran.
    """
    lock = next((one for one in layout.members if one.name == name), None)
    if lock is None:
        return ()
    calls = handed_on(layout, lock.offset, lock.size, accesses)
    found = Counter(one.function for one in calls if takes_lock(one.to))
    others = ran - {one.to for one in calls}
    using = {one.function for one in handed_on(layout, 0, layout.size, accesses) if one.to in others}
    return tuple(sorted(found, key=lambda one: (one not in ran, one not in using, -found[one], one)))


def _contended(finding: Finding) -> _Place | None:
    """The lock of the line's first object that most accesses waited for; ``None`` where that is not known."""
    owner = finding.objects[0] if finding.objects else None
    if owner is None or owner.layout is None or owner.outcome is not Outcome.RESOLVED:
        return None
    if TriageKind.LOCK_CONTENTION not in finding.triage.kinds:
        return None
    names = top_names(finding.members, finding.objects)
    waited: dict[str, int] = {}
    for member in finding.members:
        if member.lock and names[member.offset] == member.top:
            contended = sum(function.contended for function in member.functions)
            waited[member.top] = waited.get(member.top, 0) + contended
    name = max(waited, key=lambda name: waited[name], default="")
    return (owner.layout, name) if name else None


def _by_itself(type_: str, name: str, layout: Layout, lock: _LockMember | None) -> ContendedLock:
    """What is known of a lock without the code, or of an object that is the lock."""
    word = next((one for one in layout.members if one.name == name), None)
    record, size = (word.type, word.size) if word else (layout.name, layout.size)
    if lock:
        record, size = lock.records[0], lock.size
    return ContendedLock(type_, name, record, remedies=_remedies((), size))


def _contended_lock(users: _LockUsers, reached: Iterable[Touched], ran: frozenset[str]) -> ContendedLock:
    """``reached`` is what functions can reach, of those that write the object and others."""
    lock, writers = users.lock, users.writers
    holders = users.holders(reached)
    members = _protected(lock, writers, frozenset(holders))
    writing = [one for one in holders if one in ran and any(one in writers[member.member] for member in members)]
    taken_by = dict.fromkeys(how for one in writing for how in sorted(holders[one]))
    return ContendedLock(
        users.type,
        lock.name,
        lock.records[0],
        members,
        tuple(writing[:MOST_NAMES]),
        tuple(taken_by)[:MOST_NAMES],
        _remedies(members, lock.size),
    )


def _lock(layout: Layout, name: str, layouts: Layouts) -> _LockMember | None:
    """The member as a lock; ``None`` where it is none, or where the object itself is the lock."""
    locks: dict[str, dict[str, None]] = {}
    for leaf in flatten(layout, layouts):
        inner = dict.fromkeys(record for record, _ in leaf.chain if record != layout.name and is_lock(record))
        if inner:
            locks.setdefault(top_member(leaf.path), {}).update(inner)
    if name not in locks or is_lock(layout.name):
        return None
    alike = sum(1 for records in locks.values() if records.keys() & locks[name].keys())
    size = next((member.size for member in layout.members if member.name == name), 0)
    return _LockMember(layout, name, tuple(locks[name]), size, alike == 1)


def _protected(lock: _LockMember, writers: _Writers, holders: frozenset[str]) -> tuple[Protected, ...]:
    """The members that the lock probably protects, the surest first."""
    stem = purpose(lock.name)
    found = []
    for member in lock.layout.members:
        wrote = writers.get(member.name, frozenset())
        alike = bool(stem) and member.name != lock.name and stem <= words_of(member.name)
        held = len(wrote & holders)
        if member.name and member.name != lock.name and (alike or (held and held >= HELD_SHARE * len(wrote))):
            found.append(Protected(member.name, len(wrote), held, alike))
    return tuple(sorted(found, key=lambda one: (not one.named_alike, -one.held))[:MOST_MEMBERS])


def _remedies(members: Sequence[Protected], size: int) -> tuple[str, ...]:
    what = f" with {', '.join(one.member for one in members)}" if members else " with what it protects"
    remedies = [f"shard the lock{what}, per CPU or per node (`suggest --shard` replays that on a recording)"]
    if size > SMALL_LOCK:
        remedies.append(f"shrink it: {size} bytes that many CPUs write, where a lock of {SMALL_LOCK} may do")
    return (*remedies, "read before writing, and hold it for less: test what is usually true without the lock")
