# SPDX-License-Identifier: GPL-2.0-or-later
"""``isolation-broken``: a member can share a line, or a pair of lines, with what it must be kept from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.geometry import Named
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Isolation, Layout, Severity, Violation
from linesmith.analyzer.rules.company import found_members, listed, others
from linesmith.analyzer.rules.parted import Joined, joined
from linesmith.analyzer.rules.rule import Rule, Side, Subject
from linesmith.analyzer.rules.starts import Meeting, starts, worst_meeting

_ADVICE = "keep them apart in all phases: by the distance between them, or by alignment of the record and the member"


@dataclass(frozen=True, slots=True)
class _Company:
    """``member`` can meet the ``others``; ``worst`` is the meeting that most objects have."""

    member: Named
    others: tuple[str, ...]
    worst: Meeting


def _check(subject: Subject) -> Iterator[Violation]:
    said: set[tuple[str, str]] = set()
    wanted = (one for intent in subject.intents for one in intent.isolations)
    for isolation in sorted(wanted, key=lambda one: one.bytes):
        before = _before(subject, isolation)
        for company in _companies(isolation, subject.new, subject.head):
            key = company.member.path, ", ".join(company.others)
            if key not in said:  # who shares a line shares a pair of lines, too
                said.add(key)
                yield _violation(subject, isolation, company, before.get(key))
    if not subject.intents:
        yield from (_without_intent(subject, one) for one in joined(subject))


def _before(subject: Subject, isolation: Isolation) -> dict[tuple[str, str], float]:
    if subject.old is None or subject.base is None:
        return {}
    found = _companies(isolation, subject.old, subject.base)
    return {(one.member.path, ", ".join(one.others)): one.worst.share for one in found}


def _companies(isolation: Isolation, layout: Layout, side: Side) -> Iterator[_Company]:
    """Each isolated member with each of those it must be kept from, or with all others together."""
    own = found_members(layout, side.layouts, isolation.members)
    every = starts(layout, side, isolation.bytes)
    foreign = tuple(others(layout, side.layouts, own)) if own else ()
    named_ones = found_members(layout, side.layouts, isolation.apart_from)
    for member in own:
        met = [(other.path, worst_meeting(every, member.span, other.span)) for other in named_ones or foreign]
        broken = [(path, one) for path, one in met if one.share > isolation.phases]
        if isolation.apart_from:
            yield from (_Company(member, (path,), one) for path, one in broken)
        elif broken:
            yield _Company(
                member, tuple(path for path, _ in broken), max((one for _, one in broken), key=lambda one: one.share)
            )


def _violation(subject: Subject, isolation: Isolation, company: _Company, old: float | None) -> Violation:
    ending = ", as before" if old is not None and old >= company.worst.share else ""
    where = "a line" if isolation.bytes == CACHE_LINE_BYTES else f"a block of {isolation.bytes} bytes"
    return RULE.broken(
        subject.new,
        f"{company.worst.verb} {where} with {listed(company.others)}{company.worst.clause}{ending}",
        member=company.member.path,
        subject=", ".join(company.others),
        advice=_ADVICE,
        figures=(Figure("objects", None if old is None else old * 100, company.worst.share * 100, "percent"),),
        severity=Severity.NOTE if ending else RULE.severity,
        line=company.member.member.line,
    )


def _without_intent(subject: Subject, found: Joined) -> Violation:
    """What alignment to lines kept apart before, so that nobody needs to say it."""
    others = tuple(one.path for one in found.others)
    had = "; before it had a line to itself" if found.alone else ", from which alignment parted it before"
    return RULE.broken(
        subject.new,
        f"{found.worst.verb} a line with {listed(others)}{found.worst.clause}{had}",
        member=found.member.path,
        subject=", ".join(others),
        advice="move the others off its line, or say in linesmith.toml that they may be there",
        severity=RULE.severity,
        line=found.member.member.line,
    )


RULE = Rule(
    name="isolation-broken",
    summary="a member can share a line, or a pair of lines, with what it must be kept from",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
)
