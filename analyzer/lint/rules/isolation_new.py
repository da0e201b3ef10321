# SPDX-License-Identifier: GPL-2.0-or-later
"""``isolation-new``: alignment parts members that shared a line, and no intent says that they are to stay apart."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.lint.groups import Joined, newly_parted
from linesmith.analyzer.lint.regions import listed
from linesmith.analyzer.lint.rules.rule import Rule, Subject
from linesmith.analyzer.model import CACHE_LINE_BYTES, Severity, Violation

_SAY = "if they are to stay apart, say so in linesmith.toml (`linesmith intent`), so that it is kept"


def _check(subject: Subject) -> Iterator[Violation]:
    stated = subject.old is not None and bool(subject.old.file) == bool(subject.new.file)  # BTF states no alignment
    if not stated or any(intent.isolations for intent in subject.intents):
        return
    yield from (_violation(subject, one) for one in newly_parted(subject))


def _violation(subject: Subject, one: Joined) -> Violation:
    others = listed(one.found.others)
    room = "a line" if one.found.member.span.size <= CACHE_LINE_BYTES else "its lines"
    alone = f"has {room} to itself, and shared one with {others} before"
    parted = f"is parted by alignment from {others}, with which it shared a line before"
    place = next((member.line for member in subject.new.members if member.name == one.found.member.path), None)
    return RULE.broken(
        subject.new,
        alone if one.alone else parted,
        member=one.found.member.path,
        subject=", ".join(one.found.others),
        advice=_SAY,
        line=place,
    )


RULE = Rule(
    name="isolation-new",
    summary="alignment newly parts members that shared a line, and no intent says that it is meant",
    severity=Severity.NOTE,
    check=_check,
)
