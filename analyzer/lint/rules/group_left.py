# SPDX-License-Identifier: GPL-2.0-or-later
"""``group-left``: a member is no longer in its group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.layouts.gaps import line_of
from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.lint.groups import IntentGroup, MarkedGroup, intent_group, marked_groups
from linesmith.analyzer.lint.meetings import listed
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule, declared_on
from linesmith.analyzer.model import Figure, MemberGroup, Severity, Violation

# Of more members that leave one group at once one violation tells.
MOST_TOLD = 3


@dataclass(frozen=True, slots=True)
class _LeftWords:
    """What to say of one member that left, what of many, and what to do; ``{}`` stands for the member."""

    one: str
    many: str
    advice: str
    severity: Severity


def _check(record: LintedRecord) -> Iterator[Violation]:
    if record.before:
        yield from _marked(record, record.before)
    for group in record.groups:
        yield from _of_intent(record, group)


def _marked(record: LintedRecord, before: RecordVersion) -> Iterator[Violation]:
    now = marked_groups(record.layout, record.now.layouts)
    members = {one.path: one for one in nameable(record.layout, record.now.layouts)}
    for name, group in marked_groups(before.layout, before.layouts).items():
        kept = [members[one.path] for one in group.members if one.path in members]
        if name in now:
            yield from _left(record, name, kept, now)
        elif kept:
            advice = "restore the markers, or remove the group from its assertions and documentation as well"
            message = f"the group {name} is no longer marked; it held {listed([one.path for one in kept])}"
            yield RULE.broken(record.layout, message, subject=name, advice=advice)


def _left(
    record: LintedRecord, group: str, members: Sequence[Named], now: dict[str, MarkedGroup]
) -> Iterator[Violation]:
    """A move into another group is somebody's decision, so it is a note."""
    group_of = {one.path: name for name, other in now.items() for one in other.members}
    by_other: dict[str, list[Named]] = {}
    for one in members:
        by_other.setdefault(group_of.get(one.path, ""), []).append(one)
    advice = f"move {{}} between the markers of {group}, or remove {{}} from its assertions and documentation too"
    for other, gone in by_other.items():
        clause = f"left the group {group} for {other}" if other else f"left the group {group}"
        words = _LeftWords(clause, clause, advice, Severity.NOTE if other else RULE.severity)
        if other != group:
            yield from _violations(record, group, gone, words)


def _of_intent(record: LintedRecord, group: MemberGroup) -> Iterator[Violation]:
    found = intent_group(group, record.now)
    if found is None or not found.apart:
        return
    before = intent_group(group, record.before) if record.before else None
    # One that was on the line of the others, with others in between, and has left that line is not where it was.
    known = {one.path for one in before.apart} - (before.near - found.near) if before else set()
    where = f"apart from the others of the group {group.name}, which {_place(found)}"
    advice = f"move {{}} back next to {found.together[-1].path}, or remove {{}} from the group"
    for old, ending, severity in ((False, "", RULE.severity), (True, ", as before", Severity.NOTE)):
        words = _LeftWords(f"lies {where}{ending}", f"lie {where}{ending}", advice, severity)
        yield from _violations(record, group.name, [one for one in found.apart if (one.path in known) == old], words)


def _place(group: IntentGroup) -> str:
    """Where those together are; by bytes where one that is not with them is on a line of theirs."""
    begin, end = group.span.offset, group.span.offset + group.span.size - 1
    first, last = line_of(begin), line_of(end)
    verb = "is" if len(group.together) == 1 else "are"
    if group.near:
        return f"{verb} at bytes {begin} to {end}"
    return f"{verb} on line {first}" if first == last else f"{verb} on lines {first} to {last}"


def _violations(record: LintedRecord, group: str, members: Sequence[Named], words: _LeftWords) -> Iterator[Violation]:
    """One violation for each member, or one for many."""
    if len(members) > MOST_TOLD:
        message = f"{listed([one.path for one in members])}: {len(members)} members {words.many}"
        advice = words.advice.replace("{}", "them")
        yield RULE.broken(record.layout, message, subject=group, advice=advice, severity=words.severity)
        return
    for one in members:
        old = record.before.member(one.path) if record.before else None
        yield RULE.broken(
            record.layout,
            f"{words.one}; it is on line {line_of(one.offset)}, at byte {one.offset}",
            member=one.path,
            subject=group,
            advice=words.advice.replace("{}", one.path, 1).replace("{}", "it"),
            figures=(Figure("offset", old.offset if old else None, one.offset),),
            severity=words.severity,
            line=declared_on(one, record.layout),
        )


RULE = Rule(
    name="group-left",
    summary="a member is no longer in its group",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
    of_intent=True,
)
