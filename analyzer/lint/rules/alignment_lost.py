# SPDX-License-Identifier: GPL-2.0-or-later
"""``alignment-lost``: a record or member is no longer aligned as it was asked to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from linesmith.analyzer.layouts.alignment import AskedAlignment, asked_alignments, asked_at_least
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.lint.meetings import listed
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule
from linesmith.analyzer.lint.watched import inheritance_lost
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Severity, Violation


def _check(record: LintedRecord) -> Iterator[Violation]:
    before, now = record.before, record.now
    if before is None or not (before.layout.file and now.layout.file):  # BTF states no alignment
        return
    asked = asked_at_least(CACHE_LINE_BYTES, before.layout, before.layouts)
    if asked:
        yield from _own(asked, now)
    for lost in inheritance_lost(before, now) if record.tuned else ():  # the type itself is told on all records
        names, many = [one.path for one in lost.members], len(lost.members) > 1
        left = f"aligned to {lost.now}" if lost.now >= CACHE_LINE_BYTES else "no longer"
        was = f"{listed(names)} were" if many else "was"
        yield RULE.broken(
            now.layout,
            f"{was} aligned to {lost.bytes} bytes because {lost.origin} was, and {'are' if many else 'is'} {left}",
            member="" if many else names[0],
            subject=lost.origin,
            advice=f"give {('these members' if many else 'the member')} the alignment, if the code relies on it",
            figures=(Figure("alignment", lost.bytes, lost.now if lost.now > 1 else None),),
            line=lost.members[0].member.line,
        )


def _own(asked: Iterable[AskedAlignment], version: RecordVersion) -> Iterator[Violation]:
    """Of what the record itself ``asked`` for what it has no longer."""
    new, now = version.layout, dict[str, tuple[int, int]]()
    first = new.members[0].name if new.members else ""
    lines = {one.path: one.member.line for one in nameable(new, version.layouts)}
    for one in asked_alignments(new, version.layouts):
        own, around = now.get(one.path, (1, 1))
        # The first member is where the record is.
        given = (new.alignment or 1) if one.path == first else 1
        now[one.path] = max(own, one.stated, given), max(around, one.around)
    for lost in asked:
        # One that a type inside brings counts as kept, and that of a part by any part with its first member.
        own, around = now.get(lost.path, (lost.asked, 1))
        left = max(own, around) if lost.part else own
        if left < lost.asked:
            what = f"the anonymous part that starts with {lost.path} " if lost.part else ""
            now_is = f"aligned to {left}" if left > 1 else "no longer"
            yield RULE.broken(
                new,
                f"{what}was aligned to {lost.asked} bytes and is {now_is}",
                member="" if lost.part else lost.path,
                subject=lost.path if lost.part else "",
                advice="keep the attribute, or give the reason in linesmith.toml",
                figures=(Figure("alignment", lost.asked, left if left > 1 else None),),
                line=lines.get(lost.path),
            )


RULE = Rule(
    name="alignment-lost",
    summary="a record or member is no longer aligned to cache lines",
    severity=Severity.WARNING,
    check=_check,
    untuned=True,
)
