# SPDX-License-Identifier: GPL-2.0-or-later
"""``alignment-lost``: a record or member is no longer aligned as it was asked to be."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.layouts.gaps import asked_alignments, asked_at_least
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.lint.rules.rule import LintedRecord, Rule
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Severity, Violation


def _check(record: LintedRecord) -> Iterator[Violation]:
    before, version = record.before, record.now
    if before is None or not (before.layout.file and version.layout.file):  # BTF states no alignment
        return
    asked = asked_at_least(CACHE_LINE_BYTES, before.layout, before.layouts)
    if not asked:
        return
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
