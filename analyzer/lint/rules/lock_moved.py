# SPDX-License-Identifier: GPL-2.0-or-later
"""``lock-moved``: a lock came onto the line of its data, or left it; a reference count came among others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from linesmith.analyzer.layouts.gaps import line_of
from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.lint.regions import listed, way
from linesmith.analyzer.lint.rules.rule import Rule, Side, Subject
from linesmith.analyzer.lint.starts import Starts, meeting
from linesmith.analyzer.lint.watched import LockData, locks_with_data, reference_counts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, Severity, Violation

# In so many of the objects they must be on one line to count as together.
TOGETHER = 0.5

_PUSHED = "nobody moved it: what grew or came in between pushed it off, and who takes the lock touches a line more"
_SHIFTED = "nobody moved it: what is in front shifted both, so that a line ends between them, and its taker touches two"
_SHRANK = "the lock itself is smaller, and only its end was on that line; its data may have stayed where they were"
_LEFT = "right where others read the data without the lock; where only its holder touches them, it touches a line more"
_CAME = "right where only the lock's holder touches the data; who waits for it disturbs those who read them without it"
_ELSEWHERE = "see that its data are where its holder finds them, and that nobody reads those it is beside without it"
_COUNTED = "see that nobody reads those it is beside without using the object: who takes or drops a use disturbs them"


@dataclass(frozen=True, slots=True)
class _Change:
    """A lock that left its ``data`` or came to them; ``before`` and ``now`` are all members of the builds by name."""

    lock: str
    data: tuple[Named, ...]
    left: bool
    before: Mapping[str, Named]
    now: Mapping[str, Named]

    @property
    def shrank(self) -> bool:
        """Whether only the end of the lock was on the line of its data, and it is not as large any more."""
        was, now = self.before[self.lock], self.now[self.lock]
        begins = line_of(was.offset)
        ended_there = all(line_of(self.before[one.path].offset) > begins for one in self.data)
        return self.left and now.span.size < was.span.size and ended_there

    @property
    def shifted(self) -> bool:
        """Whether the lock is as far from its data as it was, and all of them moved alike."""
        ways = {self.now[path].offset - self.before[path].offset for path in (self.lock, *(d.path for d in self.data))}
        return len(ways) == 1

    @property
    def rearranged(self) -> bool:
        """Whether members of both builds lie between them now that did not before: somebody moved something."""
        lock, kept = self.lock, self.before.keys() & self.now.keys()
        return any(
            _between(self.now[one], self.now[lock], data)
            and not _between(self.before[one], self.before[lock], self.before[data.path])
            for data in self.data
            for one in kept
        )


@dataclass(frozen=True, slots=True)
class _Build:
    """One of the two builds: its locks, all members by name, and where its objects begin."""

    locks: Mapping[str, LockData]
    members: Mapping[str, Named]
    starts: tuple[Starts, ...]

    def beside(self, lock: str) -> frozenset[str]:
        """The members that are on a line with the lock in most objects."""
        one, far = self.members[lock], CACHE_LINE_BYTES
        near = (
            other for other in self.members.values() if other.offset < one.end + far and one.offset < other.end + far
        )
        met = (other.path for other in near if meeting(self.starts, one.span, other.span).share >= TOGETHER)
        return frozenset(met) - {lock}


def _locks(layout: Layout, side: Side) -> dict[str, LockData]:
    """The locks of the record, and its reference counts as locks whose data no name tells."""
    counts = {one.path: LockData(one, ()) for one in reference_counts(layout, side.layouts)}
    return {**counts, **locks_with_data(layout, side.layouts)}


def _build(layout: Layout, side: Side, locks: Mapping[str, LockData]) -> _Build:
    members = {one.path: one for one in nameable(layout, side.layouts) if one.span.size}
    return _Build(locks, members, side.starts.of(layout))


def _check(subject: Subject) -> Iterator[Violation]:
    if subject.old is None or subject.base is None:
        return
    old_locks = _locks(subject.old, subject.base)
    new_locks = _locks(subject.new, subject.head)
    if old_locks.keys().isdisjoint(new_locks):
        return
    before, now = _build(subject.old, subject.base, old_locks), _build(subject.new, subject.head, new_locks)
    kept = before.members.keys() & now.members.keys()
    for name in [one for one in now.locks if one in before.locks]:
        old, new = before.beside(name) & kept, now.beside(name) & kept
        left = tuple(one for one in now.locks[name].data if one.path in old - new)
        came = tuple(one for one in now.locks[name].data if one.path in new - old)
        if left:
            yield _violation(subject, _Change(name, left, True, before.members, now.members))
        if came:
            yield _violation(subject, _Change(name, came, False, before.members, now.members))
        if old and new and not (old & new or left or came):
            yield _elsewhere(subject, _Change(name, (), True, before.members, now.members), (old, new))


def _elsewhere(subject: Subject, change: _Change, beside: tuple[frozenset[str], frozenset[str]]) -> Violation:
    """A lock whose data no name tells, among others than before: what it protects may be either; or a count."""
    old, new = change.before[change.lock], change.now[change.lock]
    counts = {one.path for one in reference_counts(subject.new, subject.head.layouts)}
    were, are = _by_place(beside[0], change.before), _by_place(beside[1], change.now)
    return RULE.broken(
        subject.new,
        f"moved from the line of {listed(were)} to that of {listed(are)}: it {way(old, new)}",
        member=change.lock,
        advice=_COUNTED if change.lock in counts else _ELSEWHERE,
        figures=(Figure("offset", old.offset, new.offset),),
        severity=Severity.NOTE,
        line=new.member.line,
    )


def _by_place(names: Iterable[str], members: Mapping[str, Named]) -> list[str]:
    return sorted(names, key=lambda name: (members[name].offset, name))


def _violation(subject: Subject, change: _Change) -> Violation:
    names = [one.path for one in change.data]
    nearest = min(names, key=len)
    old, new = change.before[change.lock], change.now[change.lock]
    ways = f"it {way(old, new)}, {nearest} {way(change.before[nearest], change.now[nearest])}"
    pushed = change.left and not (change.rearranged or change.shrank)
    return RULE.broken(
        subject.new,
        f"{'left' if change.left else 'came to'} the line of {listed(names)}: {ways}",
        member=change.lock,
        subject=", ".join(names),
        advice=_advice(change, pushed=pushed),
        figures=(Figure("offset", old.offset, new.offset),),
        severity=RULE.severity if pushed else Severity.NOTE,
        line=new.member.line,
    )


def _advice(change: _Change, *, pushed: bool) -> str:
    if pushed:
        return _SHIFTED if change.shifted else _PUSHED
    if change.shrank and not change.rearranged:
        return _SHRANK
    return _LEFT if change.left else _CAME


def _between(one: Named, lock: Named, data: Named) -> bool:
    first, last = sorted((lock, data), key=lambda end: end.offset)
    return one.span.size > 0 and first.end <= one.offset and one.end <= last.offset


RULE = Rule(
    name="lock-moved",
    summary="a lock came onto the line of its data, or left it",
    severity=Severity.WARNING,
    check=_check,
)
