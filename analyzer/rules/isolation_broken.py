# SPDX-License-Identifier: GPL-2.0-or-later
"""``isolation-broken``: a member can share a line, or a pair of lines, with what it must be kept from."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import CACHE_LINE_BYTES, Isolation, Layout, Severity, Violation
from linesmith.analyzer.rules.beside import Beside, beside, shares, told
from linesmith.analyzer.rules.company import found_members, listed, others
from linesmith.analyzer.rules.parted import Joined, joined
from linesmith.analyzer.rules.rule import Rule, Side, Subject
from linesmith.analyzer.rules.starts import starts

_MOVE = "move the others off its line, or say in linesmith.toml that they may be there"
_KEEP = "keep them apart in all phases: by the distance between them, or by alignment of the record and the member"


def _check(subject: Subject) -> Iterator[Violation]:
    said: set[tuple[str, str]] = set()
    wanted = (one for intent in subject.intents for one in intent.isolations)
    for isolation in sorted(wanted, key=lambda one: one.bytes):
        known = _companies(isolation, subject.old, subject.base) if subject.old and subject.base else ()
        before = shares(known)
        for found in _companies(isolation, subject.new, subject.head):
            if found.key not in said:  # who shares a line shares a pair of lines, too
                said.add(found.key)
                yield _violation(subject, isolation, found, before.get(found.key))
    members = {member for member, _ in said}
    yield from (_without_intent(subject, one) for one in joined(subject) if one.found.member.path not in members)


def _companies(isolation: Isolation, layout: Layout, side: Side) -> Iterator[Beside]:
    """Each isolated member with each of those it must be kept from, or with all others together."""
    own = found_members(layout, side.layouts, isolation.members)
    every = starts(layout, side, isolation.bytes)
    if isolation.apart_from:
        named_ones = found_members(layout, side.layouts, isolation.apart_from)
        found = (beside(member, (other,), every, isolation.phases) for member in own for other in named_ones)
    else:
        foreign = tuple(others(layout, side.layouts, own)) if own else ()
        found = (beside(member, foreign, every, isolation.phases) for member in own)
    yield from filter(None, found)


def _violation(subject: Subject, isolation: Isolation, found: Beside, old: float | None) -> Violation:
    where = "a line" if isolation.bytes == CACHE_LINE_BYTES else f"a block of {isolation.bytes} bytes"
    message = f"{found.worst.verb} {where} with {listed(found.others)}{found.worst.clause}"
    return told(RULE, subject.new, found, message, _KEEP, old)


def _without_intent(subject: Subject, one: Joined) -> Violation:
    """What alignment to lines kept apart before, so that nobody needs to say it."""
    worst = one.found.worst
    had = "; before it had a line to itself" if one.alone else ", from which alignment parted it before"
    message = f"{worst.verb} a line with {listed(one.found.others)}{worst.clause}{had}"
    return told(RULE, subject.new, one.found, message, _MOVE)


RULE = Rule(
    name="isolation-broken",
    summary="a member can share a line, or a pair of lines, with what it must be kept from",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
)
