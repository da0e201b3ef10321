# SPDX-License-Identifier: GPL-2.0-or-later
"""``positional-initialiser``: members changed their order, and an initialiser gives them by position."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.lint.rules.rule import LintedRecord, Rule
from linesmith.analyzer.model import FactKind, Layout, Severity, SourceFact, Violation


def _check(record: LintedRecord) -> Iterator[Violation]:
    told: set[str] = set()
    for fact in record.facts:
        file = fact.place.rpartition(":")[0]
        if record.before and fact.kind is FactKind.POSITIONAL and file not in told:
            for violation in _broken(record.before.layout, record.layout, fact, file):
                told.add(file)
                yield violation


def _broken(old: Layout, new: Layout, fact: SourceFact, file: str) -> Iterator[Violation]:
    """A violation for the first position that means another member than before, if there is one."""
    names = _order(new)
    count = max((names.index(one) + 1 for one in fact.members if one in names), default=0)
    before, now = _order(old)[:count], names[:count]
    at = next((number for number, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        return
    given = f"the first {count} members" if count > 1 else "the first member"
    yield RULE.broken(
        new,
        f"is member {at + 1} now instead of {before[at]}, and {fact.place} gives {given} by position",
        member=now[at],
        subject=file,
        advice="name the members in that initialiser, or put new members after those that it gives",
        line=next((one.line for one in new.members if one.name == now[at]), None),
    )


def _order(layout: Layout) -> tuple[str, ...]:
    """What an initialiser without names counts: each member once, an anonymous record as one, no unnamed bit-field."""
    return tuple(one.name or f"(an anonymous {one.type.partition(' ')[0]})" for one in layout.members)


RULE = Rule(
    name="positional-initialiser",
    summary="an initialiser by position now sets other members than before",
    severity=Severity.WARNING,
    check=_check,
    untuned=True,
)
