# SPDX-License-Identifier: GPL-2.0-or-later
"""``lock-moved``: a lock moved onto the line of its data, or left it; a reference count came among others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from linesmith.analyzer.layouts.gaps import line_of
from linesmith.analyzer.layouts.leaves import Named
from linesmith.analyzer.lint.groups import locks_with_data, reference_counts
from linesmith.analyzer.lint.meetings import CachePhases, listed, meeting, way
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Severity, Violation

# In so many of the objects they must be on one line to count as together.
TOGETHER = 0.5

_PUSHED = "it was not moved: members before it grew or were added, and taking the lock now costs one more line"
_SHRANK = "the lock itself is smaller, and only its end was on that line; its data may have stayed where they were"
_LEFT = "good if others read the data without the lock; if only its holder uses them, it costs one more line"
_CAME = "good if only the lock's holder uses the data; waiters disturb those who read them without it"
_ELSEWHERE = "check that its data are near, and that its new neighbours are not read without it"
_COUNTED = "check that its new neighbours are not read without a reference: every get and put disturbs them"


@dataclass(frozen=True, slots=True)
class _LockChange:
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
    def rearranged(self) -> bool:
        """Whether members of both builds lie between them now that did not before: somebody moved something."""
        lock, kept = self.lock, self.before.keys() & self.now.keys()
        return any(
            _between(self.now[one], self.now[lock], data)
            and not _between(self.before[one], self.before[lock], self.before[data.path])
            for data in self.data
            for one in kept
        )


def _check(record: LintedRecord) -> Iterator[Violation]:
    if record.before is None:
        return
    old_locks, new_locks = _locks(record.before), _locks(record.now)
    shared = [name for name in new_locks if name in old_locks]
    if not shared:
        return
    before, now = record.before.members(), record.now.members()
    starts, old_starts = record.now.starts(), record.before.starts()
    for name in shared:
        old = _on_its_line(name, before, old_starts) & now.keys()
        new = _on_its_line(name, now, starts) & before.keys()
        data = new_locks[name]
        left = tuple(one for one in data if one.path in old - new)
        came = tuple(one for one in data if one.path in new - old)
        for parted, moved in ((True, left), (False, came)):
            if moved:
                yield _violation(record, _LockChange(name, moved, parted, before, now))
        if old and new and not (old & new or left or came):
            yield _elsewhere(record, _LockChange(name, (), True, before, now), old, new)


def _locks(version: RecordVersion) -> dict[str, tuple[Named, ...]]:
    """The locks of the record with their data, and its reference counts as locks whose data no name tells."""
    counts = {one.path: () for one in reference_counts(version.layout, version.layouts)}
    return {**counts, **locks_with_data(version.layout, version.layouts)}


def _on_its_line(lock: str, members: Mapping[str, Named], starts: tuple[CachePhases, ...]) -> frozenset[str]:
    """The members that are on a line with the lock in most objects."""
    one, far = members[lock], CACHE_LINE_BYTES
    near = (other for other in members.values() if other.offset < one.end + far and one.offset < other.end + far)
    met = (other.path for other in near if meeting(starts, one.span, other.span).share >= TOGETHER)
    return frozenset(met) - {lock}


def _elsewhere(record: LintedRecord, change: _LockChange, were: frozenset[str], are: frozenset[str]) -> Violation:
    """A lock whose data no name tells, among others than before: what it protects may be either; or a count."""
    old, new = change.before[change.lock], change.now[change.lock]
    counts = {one.path for one in reference_counts(record.layout, record.now.layouts)}
    before, now = (
        listed(sorted(names, key=lambda name: (members[name].offset, name)))
        for names, members in ((were, change.before), (are, change.now))
    )
    return RULE.broken(
        record.layout,
        f"moved from the line of {before} to that of {now}: it {way(old, new)}",
        member=change.lock,
        advice=_COUNTED if change.lock in counts else _ELSEWHERE,
        figures=(Figure("offset", old.offset, new.offset),),
        severity=Severity.NOTE,
        line=new.member.line,
    )


def _violation(record: LintedRecord, change: _LockChange) -> Violation:
    names = [one.path for one in change.data]
    nearest = min(names, key=len)
    old, new = change.before[change.lock], change.now[change.lock]
    ways = f"it {way(old, new)}, {nearest} {way(change.before[nearest], change.now[nearest])}"
    pushed = change.left and not (change.rearranged or change.shrank)
    if pushed:
        advice = _PUSHED
    elif change.shrank and not change.rearranged:
        advice = _SHRANK
    else:
        advice = _LEFT if change.left else _CAME
    return RULE.broken(
        record.layout,
        f"{('left' if change.left else 'moved to')} the line of {listed(names)}: {ways}",
        member=change.lock,
        subject=", ".join(names),
        advice=advice,
        figures=(Figure("offset", old.offset, new.offset),),
        severity=RULE.severity if pushed else Severity.NOTE,
        line=new.member.line,
    )


def _between(one: Named, lock: Named, data: Named) -> bool:
    first, last = sorted((lock, data), key=lambda end: end.offset)
    return one.span.size > 0 and first.end <= one.offset and one.end <= last.offset


RULE = Rule(
    name="lock-moved",
    summary="a lock moved onto the line of its data, or left it",
    severity=Severity.WARNING,
    check=_check,
)
