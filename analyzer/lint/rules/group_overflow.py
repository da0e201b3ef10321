# SPDX-License-Identifier: GPL-2.0-or-later
"""``group-overflow``: a group of members lies on more lines than it did, than it needs, or than is wanted."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.layouts.gaps import Span
from linesmith.analyzer.lint.groups import MarkedGroup, marked_groups, neighbours, wanted_group
from linesmith.analyzer.lint.regions import listed
from linesmith.analyzer.lint.rules.rule import Rule, Side, Subject
from linesmith.analyzer.lint.starts import most_lines
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, Layout, MemberGroup, Severity, Violation

_ADVICE = "move what fast paths do not touch out of the group, or begin it on a line of its own"


def _check(subject: Subject) -> Iterator[Violation]:
    yield from _marked(subject)
    for wanted in (group for intent in subject.intents for group in intent.groups):
        yield from _wanted(subject, wanted)


def _marked(subject: Subject) -> Iterator[Violation]:
    """Of groups behind one another, which share lines on purpose, one tells of them all."""
    before = marked_groups(subject.old, subject.base.layouts) if subject.old and subject.base else {}
    groups = marked_groups(subject.new, subject.head.layouts)
    told: set[int] = set()
    for group in groups.values():
        block = neighbours(group, groups.values(), subject.new, subject.head.layouts)
        lines, needed = most_lines(subject.new, subject.head, block), _needed(block)
        if group.name in before:
            yield from _grown(subject, group, before[group.name], loose=lines > needed)
        elif lines > needed and block.offset not in told:
            told.add(block.offset)
            what = "its" if block == group.span else "with those beside it"
            message = f"the group {group.name} covers {_count(lines)} although {what} {block.size} bytes need {needed}"
            figures = (Figure("lines", None, lines, "lines"), Figure("bytes", None, block.size))
            yield _violation(subject, group, message, figures, Severity.NOTE)


def _grown(subject: Subject, group: MarkedGroup, old: MarkedGroup, *, loose: bool) -> Iterator[Violation]:
    """More lines than before matter where the group grew or where it lies worse than it could (``loose``)."""
    if subject.old is None or subject.base is None:
        return
    lines = most_lines(subject.new, subject.head, group.span)
    was = most_lines(subject.old, subject.base, old.span)
    if lines > was and (loose or group.span.size > old.span.size):
        added = [one.path for one in group.members if one.path not in {other.path for other in old.members}]
        new = f"; new in it: {listed(added)}" if added else ""
        message = f"the group {group.name} covers {_count(lines)}, {was} before{new}"
        figures = (Figure("lines", was, lines, "lines"), Figure("bytes", old.span.size, group.span.size))
        yield _violation(subject, group, message, figures, RULE.severity)


def _violation(
    subject: Subject, group: MarkedGroup, message: str, figures: tuple[Figure, ...], severity: Severity
) -> Violation:
    return RULE.broken(
        subject.new,
        message,
        subject=group.name,
        advice=_ADVICE,
        figures=figures,
        severity=severity,
        line=group.line,
    )


def _wanted(subject: Subject, group: MemberGroup) -> Iterator[Violation]:
    """A group that does not lie together is for ``group-left`` to tell."""
    now = _extent(group, subject.new, subject.head)
    if now is None:
        return
    before = _extent(group, subject.old, subject.base) if subject.old and subject.base else None
    for name, most, index in (("lines", group.lines, 0), ("bytes", group.bytes, 1)):
        if most is None or now[index] <= most:
            continue
        old = before[index] if before else None
        ending = ", as before" if old is not None and old >= now[index] else ""
        yield RULE.broken(
            subject.new,
            f"the group {group.name} covers {now[index]} {name}, {most} are wanted{ending}",
            subject=f"{group.name} {name}",
            advice=_ADVICE,
            figures=(Figure(name, old, now[index], name),),
            severity=Severity.NOTE if ending else RULE.severity,
        )


def _extent(group: MemberGroup, layout: Layout, side: Side) -> tuple[int, int] | None:
    """Lines and bytes of a group that lies together."""
    found = wanted_group(group, layout, side.layouts)
    if found is None or found.apart:
        return None
    return most_lines(layout, side, found.span), found.span.size


def _needed(span: Span) -> int:
    return -(-span.size // CACHE_LINE_BYTES)


def _count(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


RULE = Rule(
    name="group-overflow",
    summary="a group of members lies on more lines than before, than it needs, or than is wanted",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
)
