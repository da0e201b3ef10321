# SPDX-License-Identifier: GPL-2.0-or-later
"""``write-near-read-mostly``: a member that is written often shares a line with members that are only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.geometry import Named
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Isolation, Layout, Severity, TypeIntent, Violation
from linesmith.analyzer.rules.code_neighbours import Neighbours, new_neighbours
from linesmith.analyzer.rules.company import found_members, listed
from linesmith.analyzer.rules.rule import Rule, Side, Subject
from linesmith.analyzer.rules.starts import Meeting, starts, worst_meeting

_ADVICE = "move the written member beside others that are written, or into a hole on a line that nobody only reads"


@dataclass(frozen=True, slots=True)
class _Beside:
    """A member that is written often, those ``read`` mostly that it can meet, and the meeting of most objects."""

    member: Named
    read: tuple[str, ...]
    worst: Meeting


def _check(subject: Subject) -> Iterator[Violation]:
    """What is known is told; only where nothing is, code is asked."""
    known = [one for one in subject.intents if one.write_hot and one.read_mostly]
    for intent in known:
        yield from _wanted(subject, intent)
    if not known:
        yield from (_by_code(subject, one) for one in new_neighbours(subject))


def _wanted(subject: Subject, intent: TypeIntent) -> Iterator[Violation]:
    isolations = tuple(one for each in subject.intents for one in each.isolations)
    known = _meetings(intent, isolations, subject.old, subject.base) if subject.old and subject.base else ()
    before = {(one.member.path, one.read): one.worst.share for one in known}
    for found in _meetings(intent, isolations, subject.new, subject.head):
        old, share = before.get((found.member.path, found.read)), found.worst.share
        ending = ", as before" if old is not None and old >= share else ""
        others = f"{listed(found.read)}, read mostly{found.worst.clause}{ending}"
        yield RULE.broken(
            subject.new,
            f"is written often and {found.worst.verb} a line with {others}",
            member=found.member.path,
            subject=", ".join(found.read),
            advice=_ADVICE,
            figures=(Figure("objects", None if old is None else 100 * old, 100 * share, "percent"),),
            severity=Severity.NOTE if ending else RULE.severity,
            line=found.member.member.line,
        )


def _meetings(intent: TypeIntent, isolations: Sequence[Isolation], layout: Layout, side: Side) -> Iterator[_Beside]:
    """Each written member with those that are read mostly and can be on its line, and the meeting of most objects."""
    every = starts(layout, side, CACHE_LINE_BYTES)
    read = found_members(layout, side.layouts, intent.read_mostly)
    for member in found_members(layout, side.layouts, intent.write_hot):
        near = (one for one in read if not _overlap(one, member) and not _isolated(one, member, isolations))
        met = [(one.path, worst_meeting(every, member.span, one.span)) for one in near]
        paths = tuple(path for path, worst in met if worst.met)
        if paths:
            yield _Beside(member, paths, max((worst for _, worst in met), key=lambda one: one.share))


def _isolated(one: Named, other: Named, isolations: Sequence[Isolation]) -> bool:
    """Whether it is asked for that the two are kept apart: then ``isolation-broken`` tells that they are not."""
    pairs = ((one.path, other.path), (other.path, one.path))
    return any(
        first in isolation.members and (not isolation.apart_from or second in isolation.apart_from)
        for isolation in isolations
        for first, second in pairs
    )


def _overlap(one: Named, other: Named) -> bool:
    return one.offset < other.end and other.offset < one.end


def _by_code(subject: Subject, found: Neighbours) -> Violation:
    names = [one.path for one in found.read]
    how = "is a lock" if found.lock else f"is updated atomically by {listed(found.updaters)}"
    writers = f"{found.writers} write" if found.writers > 1 else "one writes" if found.writers else "none writes"
    return RULE.broken(
        subject.new,
        f"{how} and now shares a line with {listed(names)}, which {found.readers} functions read and {writers}",
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
