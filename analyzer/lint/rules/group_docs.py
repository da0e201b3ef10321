# SPDX-License-Identifier: GPL-2.0-or-later
"""``group-docs``: the documentation of a record's groups no longer says what the record is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.lint.groups import marked_groups
from linesmith.analyzer.lint.rules.rule import Rule, Side, Subject
from linesmith.analyzer.model import DocumentedMember, GroupDoc, Layout, Severity, Violation

# ``tcp_sock_write_txrx`` is what both paths write.
_GROUP = re.compile(r"(?:.*_)?(read|write)_(tx|rx|txrx|rxtx)")


def _check(subject: Subject) -> Iterator[Violation]:
    doc, old, base = subject.doc, subject.old, subject.base
    if doc is None or old is None or base is None:
        return
    before, now = _names(old, base.layouts), _names(subject.new, subject.head.layouts)
    rows = {row.name: row for row in doc.members}
    for name, row in rows.items():
        if name in before and name not in now:
            yield _violation(subject.new, doc, row, f"is gone, and {doc.file} still has a row for it")
    for name in now:
        if name not in before and name not in rows:
            yield _violation(
                subject.new, doc, DocumentedMember(name, doc.line), f"is new, and {doc.file} has no row for it"
            )
    yield from _elsewhere(subject, doc, (old, base), rows)


def _elsewhere(
    subject: Subject, doc: GroupDoc, before: tuple[Layout, Side], rows: dict[str, DocumentedMember]
) -> Iterator[Violation]:
    """Members that are in another group than before, which is not what their rows say."""
    was, now = _groups(before[0], before[1].layouts), _groups(subject.new, subject.head.layouts)
    for name, row in rows.items():
        here = now.get(name, "")
        if was.get(name, "") == here or name not in _names(subject.new, subject.head.layouts):
            continue
        if _kind(here) != _use(row):
            place = f"is in the group {here} now" if here else f"left the group {was[name]}"
            yield _violation(subject.new, doc, row, f"{place}, and {doc.file} says {_said(row)}")


def _names(layout: Layout, layouts: Layouts) -> dict[str, None]:
    """The members that tables can list: those that C names directly, without the markers of groups."""
    return {
        one.path: None
        for one in nameable(layout, layouts)
        if one.member.name and not one.path.startswith("__cacheline_")
    }


def _groups(layout: Layout, layouts: Layouts) -> dict[str, str]:
    """The group of each member that is in one."""
    return {one.path: group.name for group in marked_groups(layout, layouts).values() for one in group.members}


def _kind(group: str) -> tuple[str, frozenset[str]] | None:
    """Whether paths read or write the members of the group, and which; ``None`` for a group called otherwise."""
    match = _GROUP.fullmatch(group)
    return (match[1], frozenset(one for one in ("tx", "rx") if one in match[2])) if match else None


def _use(row: DocumentedMember) -> tuple[str, frozenset[str]] | None:
    """The same as the row has it."""
    used = frozenset(path for path, use in (("tx", row.tx), ("rx", row.rx)) if use)
    return ("write" if "write" in row.tx + row.rx else "read", used) if used else None


def _said(row: DocumentedMember) -> str:
    said = [f"{use} in {path}" for path, use in (("tx", row.tx), ("rx", row.rx)) if use]
    return " and ".join(said) or "that no fast path uses it"


def _violation(layout: Layout, doc: GroupDoc, row: DocumentedMember, message: str) -> Violation:
    return Violation(
        rule=RULE.name,
        severity=RULE.severity,
        type=layout.title,
        member=row.name,
        message=message,
        advice="change the table together with the record",
        file=doc.file,
        line=row.line,
    )


RULE = Rule(
    name="group-docs",
    summary="the documented groups of a record are out of date",
    severity=Severity.WARNING,
    check=_check,
    untuned=True,
)
