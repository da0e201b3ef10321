# SPDX-License-Identifier: GPL-2.0-or-later
"""``group-overflow``: a group of members lies on more lines than it did, than it needs, or than is wanted."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.lint.groups import MarkedGroup, intent_group, marked_groups, neighbours
from linesmith.analyzer.lint.meetings import listed, most_lines
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule
from linesmith.analyzer.model import CACHE_LINE_BYTES, Figure, MemberGroup, Severity, Violation

_ADVICE = "move members that fast paths do not use out of the group, or start it on a line of its own"


def _check(record: LintedRecord) -> Iterator[Violation]:
    yield from _marked(record)
    for group in record.groups:
        yield from _of_intent(record, group)


def _marked(record: LintedRecord) -> Iterator[Violation]:
    """Of groups behind one another, which share lines on purpose, one tells of them all."""
    now, before = record.now, record.before
    was = marked_groups(before.layout, before.layouts) if before else {}
    groups = marked_groups(now.layout, now.layouts)
    told: set[int] = set()
    for group in groups.values():
        block = neighbours(group, groups.values(), now.layout, now.layouts)
        lines, needed = most_lines(now.starts(), block), -(-block.size // CACHE_LINE_BYTES)
        if before and group.name in was:
            yield from _grown(record, before, group, was[group.name], loose=lines > needed)
        elif lines > needed and block.offset not in told:
            told.add(block.offset)
            what = "its" if block == group.span else "with adjacent groups"
            message = f"the group {group.name} covers {_count(lines)} although {what} {block.size} bytes need {needed}"
            figures = (Figure("lines", None, lines, "lines"), Figure("bytes", None, block.size))
            yield _violation(record, group, message, figures, Severity.NOTE)


def _grown(
    record: LintedRecord, before: RecordVersion, group: MarkedGroup, old: MarkedGroup, *, loose: bool
) -> Iterator[Violation]:
    """More lines than before matter where the group grew or where it lies worse than it could (``loose``)."""
    lines, was = most_lines(record.now.starts(), group.span), most_lines(before.starts(), old.span)
    if lines > was and (loose or group.span.size > old.span.size):
        added = [one.path for one in group.members if one.path not in {other.path for other in old.members}]
        new = f"; new in it: {listed(added)}" if added else ""
        message = f"the group {group.name} covers {_count(lines)}, {was} before{new}"
        figures = (Figure("lines", was, lines, "lines"), Figure("bytes", old.span.size, group.span.size))
        yield _violation(record, group, message, figures, RULE.severity)


def _violation(
    record: LintedRecord, group: MarkedGroup, message: str, figures: tuple[Figure, ...], severity: Severity
) -> Violation:
    return RULE.broken(
        record.layout, message, subject=group.name, advice=_ADVICE, figures=figures, severity=severity, line=group.line
    )


def _of_intent(record: LintedRecord, group: MemberGroup) -> Iterator[Violation]:
    """A group that does not lie together is for ``group-left`` to tell."""
    now = _extent(group, record.now)
    before = _extent(group, record.before) if record.before else {}
    for name, most in (("lines", group.lines), ("bytes", group.bytes)):
        if most is None or now.get(name, 0) <= most:
            continue
        old = before.get(name)
        ending = ", as before" if old is not None and old >= now[name] else ""
        yield RULE.broken(
            record.layout,
            f"the group {group.name} covers {now[name]} {name}, the limit is {most}{ending}",
            subject=f"{group.name} {name}",
            advice=_ADVICE,
            figures=(Figure(name, old, now[name], name),),
            severity=Severity.NOTE if ending else RULE.severity,
        )


def _extent(group: MemberGroup, version: RecordVersion) -> dict[str, int]:
    """Lines and bytes of a group that lies together; nothing of another."""
    found = intent_group(group, version)
    if found is None or found.apart:
        return {}
    return {"lines": most_lines(version.starts(), found.span), "bytes": found.span.size}


def _count(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


RULE = Rule(
    name="group-overflow",
    summary="a group of members is on more lines than before, than it needs, or than allowed",
    severity=Severity.WARNING,
    check=_check,
    pair=False,
    of_intent=True,
)
