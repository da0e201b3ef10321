# SPDX-License-Identifier: GPL-2.0-or-later
"""``write-near-read-mostly``: a member that is written often shares a line with members that are only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.layouts.leaves import Named
from linesmith.analyzer.lint.neighbours import Neighbours, new_neighbours
from linesmith.analyzer.lint.regions import Beside, beside, found_members, listed, shares, told
from linesmith.analyzer.lint.rules.rule import Rule, Side, Subject
from linesmith.analyzer.model import Isolation, Layout, Severity, TypeIntent, Violation

_ADVICE = "move the written member beside others that are written, or into a hole on a line that nobody only reads"


def _check(subject: Subject) -> Iterator[Violation]:
    """What is known is told; only where nothing is, code is asked."""
    known = [one for one in subject.intents if one.write_hot and one.read_mostly]
    for intent in known:
        yield from _wanted(subject, intent)
    if not known:
        yield from (_by_code(subject, one) for one in new_neighbours(subject))


def _wanted(subject: Subject, intent: TypeIntent) -> Iterator[Violation]:
    isolations = tuple(one for each in subject.intents for one in each.isolations)
    before = shares(_meetings(intent, isolations, subject.old, subject.base) if subject.old and subject.base else ())
    for found in _meetings(intent, isolations, subject.new, subject.head):
        others = f"{listed(found.others)}, read mostly{found.worst.clause}"
        message = f"is written often and {found.worst.verb} a line with {others}"
        yield told(RULE, subject.new, found, message, _ADVICE, before.get(found.key))


def _meetings(intent: TypeIntent, isolations: Sequence[Isolation], layout: Layout, side: Side) -> Iterator[Beside]:
    """Each written member with those that are read mostly and can be on its line."""
    every = side.starts.of(layout)
    read = found_members(layout, side.layouts, intent.read_mostly)
    for member in found_members(layout, side.layouts, intent.write_hot):
        found = beside(member, (one for one in read if not _isolated(one, member, isolations)), every)
        if found is not None:
            yield found


def _isolated(one: Named, other: Named, isolations: Sequence[Isolation]) -> bool:
    """Whether it is asked for that the two are kept apart: then ``isolation-broken`` tells that they are not."""
    pairs = ((one.path, other.path), (other.path, one.path))
    return any(
        first in isolation.members and (not isolation.apart_from or second in isolation.apart_from)
        for isolation in isolations
        for first, second in pairs
    )


def _by_code(subject: Subject, found: Neighbours) -> Violation:
    names = [one.path for one in found.read]
    how = "is a lock" if found.lock else f"is updated atomically by {listed(found.updaters)}"
    writers = f"{found.writers} write" if found.writers > 1 else "one writes" if found.writers else "none writes"
    used = f"{found.readers} functions read and {writers} once set up"
    return RULE.broken(
        subject.new,
        f"{how} and now shares a line with {listed(names)}, which {used}",
        member=found.written.path,
        subject=", ".join(names),
        advice=_ADVICE,
        severity=Severity.NOTE,
        line=found.written.member.line,
    )


RULE = Rule(
    name="write-near-read-mostly",
    summary="a member that is written often shares a line with members that are only read",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
)
