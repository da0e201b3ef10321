# SPDX-License-Identifier: GPL-2.0-or-later
"""``alignment-lost``: a record or member is no longer aligned as it was asked to be."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.geometry import asked_of_member, asked_of_record
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, Severity, Violation
from linesmith.analyzer.rules.rule import Rule, Subject


def _check(subject: Subject) -> Iterator[Violation]:
    old, new = subject.old, subject.new
    if old is None or subject.base is None or not (old.file and new.file):  # BTF states no alignment
        return
    if _lost(asked_of_record(old), new.alignment):
        yield _violation(new, "", asked_of_record(old), new.alignment)
    now = {member.name: member.alignment for member in new.members if member.name}
    for member in old.members:
        asked = asked_of_member(member, subject.base.layouts)
        if member.name in now and _lost(asked, now[member.name]):
            yield _violation(new, member.name, asked, now[member.name])


def _lost(asked: int, now: int | None) -> bool:
    """Whether an alignment that concerns cache lines became weaker; one that a type inside brings counts as kept."""
    return asked >= CACHE_LINE_BYTES and (now or 0) < asked


def _violation(layout: Layout, member: str, old: int, new: int | None) -> Violation:
    return Violation(
        rule=RULE.name,
        severity=RULE.severity,
        type=layout.title,
        member=member,
        message=f"was aligned to {old} bytes and is {f'aligned to {new}' if new else 'not any more'}",
        advice="keep the attribute, or say in linesmith.toml why it can go",
        file=layout.file,
        line=layout.line,
        figures=(Figure("alignment", old, new),),
    )


RULE = Rule(
    name="alignment-lost",
    summary="a record or member is no longer aligned to cache lines",
    severity=Severity.WARNING,
    check=_check,
    untuned=True,
)
