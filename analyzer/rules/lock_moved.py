# SPDX-License-Identifier: GPL-2.0-or-later
"""``lock-moved``: a lock came onto the line of its data, or left it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from linesmith.analyzer.geometry import Named, line_of, nameable
from linesmith.analyzer.model import Figure, Layout, Severity, Violation
from linesmith.analyzer.rules.company import listed
from linesmith.analyzer.rules.lock_data import LockData, locks_with_data
from linesmith.analyzer.rules.rule import Rule, Side, Subject
from linesmith.analyzer.rules.starts import starts, worst_meeting

# In so many of the objects they must be on one line to count as together.
TOGETHER = 0.5

_PUSHED = "nobody moved it: what grew or came in between pushed it off, and who takes the lock touches a line more"
_LEFT = "right where others read the data without the lock; where only its holder touches them, it touches a line more"
_CAME = "right where only the lock's holder touches the data; who waits for it disturbs those who read them without it"


@dataclass(frozen=True, slots=True)
class _Change:
    """A lock that left its ``data`` or came to them; ``before`` and ``now`` are all members of the builds by name."""

    lock: str
    data: tuple[Named, ...]
    left: bool
    before: Mapping[str, Named]
    now: Mapping[str, Named]

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


def _check(subject: Subject) -> Iterator[Violation]:
    old, base = subject.old, subject.base
    if old is None or base is None:
        return
    before, now = locks_with_data(old, base.layouts), locks_with_data(subject.new, subject.head.layouts)
    members = _by_name(old, base), _by_name(subject.new, subject.head)
    for name in [one for one in now if one in before]:
        was, is_now = _together(before[name], old, base), _together(now[name], subject.new, subject.head)
        for left in (True, False):
            data = tuple(one for one in now[name].data if (was.get(one.path), is_now[one.path]) == (left, not left))
            if data:
                yield _violation(subject, _Change(name, data, left, *members))


def _by_name(layout: Layout, side: Side) -> dict[str, Named]:
    return {one.path: one for one in nameable(layout, side.layouts)}


def _together(lock: LockData, layout: Layout, side: Side) -> dict[str, bool]:
    every = starts(layout, side)
    return {one.path: worst_meeting(every, lock.lock.span, one.span).share >= TOGETHER for one in lock.data}


def _violation(subject: Subject, change: _Change) -> Violation:
    names = [one.path for one in change.data]
    nearest = min(names, key=len)
    old, new = change.before[change.lock], change.now[change.lock]
    ways = f"it {_way(old, new)}, {nearest} {_way(change.before[nearest], change.now[nearest])}"
    pushed = change.left and not change.rearranged
    return RULE.broken(
        subject.new,
        f"{'left' if change.left else 'came to'} the line of {listed(names)}: {ways}",
        member=change.lock,
        subject=", ".join(names),
        advice=_PUSHED if pushed else _LEFT if change.left else _CAME,
        figures=(Figure("offset", old.offset, new.offset),),
        severity=RULE.severity if pushed else Severity.NOTE,
        line=new.member.line,
    )


def _way(old: Named, new: Named) -> str:
    was, now = (f"byte {one.offset} (line {line_of(one.offset)})" for one in (old, new))
    return f"stays at {now}" if was == now else f"went from {was} to {now}"


def _between(one: Named, lock: Named, data: Named) -> bool:
    first, last = sorted((lock, data), key=lambda end: end.offset)
    return one.span.size > 0 and first.end <= one.offset and one.end <= last.offset


RULE = Rule(
    name="lock-moved",
    summary="a lock came onto the line of its data, or left it",
    severity=Severity.WARNING,
    check=_check,
)
