# SPDX-License-Identifier: GPL-2.0-or-later
"""``group-left``: a member does not lie in its group any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.layouts.gaps import line_of
from linesmith.analyzer.layouts.leaves import Named, nameable, named
from linesmith.analyzer.lint.groups import MarkedGroup, WantedGroup, marked_groups, wanted_group
from linesmith.analyzer.lint.regions import listed
from linesmith.analyzer.lint.rules.rule import Rule, Subject, declared_on
from linesmith.analyzer.model import Figure, MemberGroup, Severity, Violation

# Of more members that leave one group at once one violation tells.
MOST_TOLD = 3


@dataclass(frozen=True, slots=True)
class _Telling:
    """What to say of one member that left, what of many, and what to do; ``{}`` stands for the member."""

    one: str
    many: str
    advice: str
    severity: Severity


def _check(subject: Subject) -> Iterator[Violation]:
    yield from _marked(subject)
    for group in (group for intent in subject.intents for group in intent.groups):
        yield from _wanted(subject, group)


def _marked(subject: Subject) -> Iterator[Violation]:
    if subject.old is None or subject.base is None:
        return
    now = marked_groups(subject.new, subject.head.layouts)
    members = {one.path: one for one in nameable(subject.new, subject.head.layouts)}
    for name, group in marked_groups(subject.old, subject.base.layouts).items():
        kept = [members[one.path] for one in group.members if one.path in members]
        if name in now:
            yield from _left(subject, name, kept, now)
        elif kept:
            advice = "put the markers back, or take the group out of its assertions and documentation as well"
            message = f"the group {name} is not marked any more; it held {listed([one.path for one in kept])}"
            yield RULE.broken(subject.new, message, subject=name, advice=advice)


def _left(subject: Subject, group: str, members: Sequence[Named], now: dict[str, MarkedGroup]) -> Iterator[Violation]:
    """A move into another group is somebody's decision, so it is a note."""
    group_of = {one.path: name for name, other in now.items() for one in other.members}
    by_other: dict[str, list[Named]] = {}
    for one in members:
        by_other.setdefault(group_of.get(one.path, ""), []).append(one)
    advice = f"move {{}} between the markers of {group}, or take {{}} out of its assertions and documentation too"
    for other, gone in by_other.items():
        clause = f"left the group {group} for {other}" if other else f"left the group {group}"
        telling = _Telling(clause, clause, advice, Severity.NOTE if other else RULE.severity)
        if other != group:
            yield from _told(subject, group, gone, telling)


def _wanted(subject: Subject, group: MemberGroup) -> Iterator[Violation]:
    found = wanted_group(group, subject.new, subject.head.layouts)
    if found is None or not found.apart:
        return
    before = _before(subject, group)
    # One that was on the line of the others, with others in between, and has left that line is not where it was.
    known = {one.path for one in before.apart} - (before.near - found.near) if before else set()
    where = f"apart from the others of the group {group.name}, which {_place(found)}"
    advice = f"move {{}} back beside {found.together[-1].path}, or take {{}} out of the group"
    for old, ending, severity in ((False, "", RULE.severity), (True, ", as before", Severity.NOTE)):
        telling = _Telling(f"lies {where}{ending}", f"lie {where}{ending}", advice, severity)
        yield from _told(subject, group.name, [one for one in found.apart if (one.path in known) == old], telling)


def _place(group: WantedGroup) -> str:
    """Where those together are; by bytes where one that is not with them is on a line of theirs."""
    begin, end = group.span.offset, group.span.offset + group.span.size - 1
    first, last = line_of(begin), line_of(end)
    verb = "is" if len(group.together) == 1 else "are"
    if group.near:
        return f"{verb} at bytes {begin} to {end}"
    return f"{verb} on line {first}" if first == last else f"{verb} on lines {first} to {last}"


def _before(subject: Subject, group: MemberGroup) -> WantedGroup | None:
    if subject.old is None or subject.base is None:
        return None
    return wanted_group(group, subject.old, subject.base.layouts)


def _told(subject: Subject, group: str, members: Sequence[Named], telling: _Telling) -> Iterator[Violation]:
    """One violation for each member, or one for many."""
    if len(members) > MOST_TOLD:
        message = f"{listed([one.path for one in members])}: {len(members)} members {telling.many}"
        advice = telling.advice.replace("{}", "them")
        yield RULE.broken(subject.new, message, subject=group, advice=advice, severity=telling.severity)
        return
    for one in members:
        yield RULE.broken(
            subject.new,
            f"{telling.one}; it is on line {line_of(one.offset)}, at byte {one.offset}",
            member=one.path,
            subject=group,
            advice=telling.advice.replace("{}", one.path, 1).replace("{}", "it"),
            figures=(Figure("offset", _old_offset(subject, one.path), one.offset),),
            severity=telling.severity,
            line=declared_on(one, subject.new),
        )


def _old_offset(subject: Subject, path: str) -> int | None:
    if subject.old is None or subject.base is None:
        return None
    found = named(subject.old, subject.base.layouts, path)
    return found.offset if found else None


RULE = Rule(
    name="group-left",
    summary="a member does not lie in its group any more",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
)
