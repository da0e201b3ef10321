# SPDX-License-Identifier: GPL-2.0-or-later
"""``group-docs``: the documentation of a record's groups no longer says what the record is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.lint.groups import marked_groups
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion, Rule
from linesmith.analyzer.model import DocumentedMember, GroupDoc, Layout, Severity, Violation

# ``tcp_sock_write_txrx`` is what both paths write.
_GROUP = re.compile(r"(?:.*_)?(read|write)_(tx|rx|txrx|rxtx)")


def _check(record: LintedRecord) -> Iterator[Violation]:
    doc, before, now = record.doc, record.before, record.now
    if doc is None or before is None:
        return
    old, new = _names(before), _names(now)
    rows = {row.name: row for row in doc.members}
    for name, row in rows.items():
        if name in old and name not in new:
            yield _violation(now.layout, doc, row, f"was removed, and {doc.file} still has a row for it")
    for name in new:
        if name not in old and name not in rows:
            row = DocumentedMember(name, doc.line)
            yield _violation(now.layout, doc, row, f"is new, and {doc.file} has no row for it")
    # Members that are in another group than before, which is not what their rows say.
    was_in, is_in = _groups(before), _groups(now)
    for name, row in rows.items():
        here = is_in.get(name, "")
        if was_in.get(name, "") != here and name in new and _use_by_group(here) != _use_by_row(row):
            place = f"is in the group {here} now" if here else f"left the group {was_in[name]}"
            used = [f"{use} in {path}" for path, use in (("tx", row.tx), ("rx", row.rx)) if use]
            said = " and ".join(used) or "that no fast path uses it"
            yield _violation(now.layout, doc, row, f"{place}, and {doc.file} says {said}")


def _names(version: RecordVersion) -> dict[str, None]:
    """The members that tables can list: those that C names directly, without the markers of groups."""
    every = nameable(version.layout, version.layouts)
    return {one.path: None for one in every if one.member.name and not one.path.startswith("__cacheline_")}


def _groups(version: RecordVersion) -> dict[str, str]:
    """The group of each member that is in one."""
    groups = marked_groups(version.layout, version.layouts).values()
    return {one.path: group.name for group in groups for one in group.members}


def _use_by_group(group: str) -> tuple[str, frozenset[str]] | None:
    """Whether paths read or write the members of the group, and which; ``None`` for a group called otherwise."""
    match = _GROUP.fullmatch(group)
    return (match[1], frozenset(one for one in ("tx", "rx") if one in match[2])) if match else None


def _use_by_row(row: DocumentedMember) -> tuple[str, frozenset[str]] | None:
    """The same as the row has it."""
    used = frozenset(path for path, use in (("tx", row.tx), ("rx", row.rx)) if use)
    return ("write" if "write" in row.tx + row.rx else "read", used) if used else None


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
