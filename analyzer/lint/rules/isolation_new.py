# SPDX-License-Identifier: GPL-2.0-or-later
"""``isolation-new``: alignment parts members that shared a line, and no intent says that they are to stay apart."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.lint.groups import newly_parted
from linesmith.analyzer.lint.meetings import listed
from linesmith.analyzer.lint.rules.rule import LintedRecord, Rule
from linesmith.analyzer.model import CACHE_LINE_BYTES, Severity, Violation

_SAY = "if they must stay separate, add an intent to linesmith.toml (`linesmith intent`)"


def _check(record: LintedRecord) -> Iterator[Violation]:
    before, layout = record.before, record.layout
    stated = before is not None and bool(before.layout.file) == bool(layout.file)  # BTF states no alignment
    if not stated or record.isolations:
        return
    for one in newly_parted(record):
        member, others = one.found.member, listed(one.found.others)
        room = "a line" if member.span.size <= CACHE_LINE_BYTES else "its lines"
        parted = f"is separated by alignment from {others}, with which it shared a line before"
        yield RULE.broken(
            layout,
            f"has {room} to itself, and shared one with {others} before" if one.alone else parted,
            member=member.path,
            subject=", ".join(one.found.others),
            advice=_SAY,
            line=next((other.line for other in layout.members if other.name == member.path), None),
        )


RULE = Rule(
    name="isolation-new",
    summary="alignment newly separates members that shared a line, without an intent",
    severity=Severity.NOTE,
    check=_check,
)
