# SPDX-License-Identifier: GPL-2.0-or-later
"""``alignment-lost``: a record or member is no longer aligned as it was asked to be."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, Severity, Violation
from linesmith.analyzer.rules.rule import Rule, Subject


def _check(subject: Subject) -> Iterator[Violation]:
    old, new = subject.old, subject.new
    if old is None or not (old.file and new.file):  # BTF states no alignment
        return
    if _lost(old.alignment, new.alignment):
        yield _violation(new, "", old.alignment, new.alignment)
    now = {member.name: member.alignment for member in new.members if member.name}
    for member in old.members:
        if member.name in now and _lost(member.alignment, now[member.name]):
            yield _violation(new, member.name, member.alignment, now[member.name])


def _lost(old: int | None, new: int | None) -> bool:
    """Whether an alignment that concerns cache lines became weaker."""
    return old is not None and old >= CACHE_LINE_BYTES and (new or 0) < old


def _violation(layout: Layout, member: str, old: int | None, new: int | None) -> Violation:
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
