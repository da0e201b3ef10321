# SPDX-License-Identifier: GPL-2.0-or-later
"""``alignment-lost``: a record or member is no longer aligned as it was asked to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from linesmith.analyzer.layouts.alignment import AskedAlignment, asked_alignments, asked_at_least
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.lint.regions import listed
from linesmith.analyzer.lint.rules.rule import Rule, Subject
from linesmith.analyzer.lint.watched import Inherited, inheritance_lost
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, Severity, Violation


def _check(subject: Subject) -> Iterator[Violation]:
    old, new = subject.old, subject.new
    if old is None or subject.base is None or not (old.file and new.file):  # BTF states no alignment
        return
    asked = asked_at_least(CACHE_LINE_BYTES, old, subject.base.layouts)
    if asked:
        yield from _own(asked, new, subject.head.layouts)
    if subject.tuned:  # the type itself is told on all records
        yield from (_inherited(new, one) for one in inheritance_lost(subject))


def _own(asked: Iterable[AskedAlignment], new: Layout, layouts: Layouts) -> Iterator[Violation]:
    """Of what the record itself ``asked`` for what it has not any more."""
    now: dict[str, tuple[int, int]] = {}
    first = new.members[0].name if new.members else ""
    lines = {one.path: one.member.line for one in nameable(new, layouts)}
    for one in asked_alignments(new, layouts):
        own, around = now.get(one.path, (1, 1))
        # The first member is where the record is.
        given = (new.alignment or 1) if one.path == first else 1
        now[one.path] = max(own, one.stated, given), max(around, one.around)
    for one in asked:
        # One that a type inside brings counts as kept, and that of a part by any part with its first member.
        own, around = now.get(one.path, (one.asked, 1))
        kept = max(own, around) if one.part else own
        if kept < one.asked:
            yield _violation(new, one, kept, lines.get(one.path))


def _inherited(layout: Layout, lost: Inherited) -> Violation:
    names, many = [one.path for one in lost.members], len(lost.members) > 1
    now = f"aligned to {lost.now}" if lost.now >= CACHE_LINE_BYTES else "not any more"
    was = f"{listed(names)} were" if many else "was"
    return RULE.broken(
        layout,
        f"{was} aligned to {lost.bytes} bytes because {lost.origin} was, and {'are' if many else 'is'} {now}",
        member="" if many else names[0],
        subject=lost.origin,
        advice=f"give {'these members' if many else 'the member'} the alignment, where it was counted on",
        figures=(Figure("alignment", lost.bytes, lost.now if lost.now > 1 else None),),
        line=lost.members[0].member.line,
    )


def _violation(layout: Layout, lost: AskedAlignment, now: int, line: int | None) -> Violation:
    what = f"the part without a name that begins with {lost.path} " if lost.part else ""
    return RULE.broken(
        layout,
        f"{what}was aligned to {lost.asked} bytes and is {f'aligned to {now}' if now > 1 else 'not any more'}",
        member="" if lost.part else lost.path,
        subject=lost.path if lost.part else "",
        advice="keep the attribute, or say in linesmith.toml why it can go",
        figures=(Figure("alignment", lost.asked, now if now > 1 else None),),
        line=line,
    )


RULE = Rule(
    name="alignment-lost",
    summary="a record or member is no longer aligned to cache lines",
    severity=Severity.WARNING,
    check=_check,
    untuned=True,
)
