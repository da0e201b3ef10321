# SPDX-License-Identifier: GPL-2.0-or-later
"""How hot the members of a record were seen, in a few words to stand behind each in its layout."""

from __future__ import annotations

from collections.abc import Iterable

from linesmith.analyzer.model import Finding, LineMember
from linesmith.analyzer.report.counting import counted

# Of so many hot members the excerpt of a layout shows those that were sampled most.
MOST_HOT = 12


def member_heat(finding: Finding, findings: Iterable[Finding]) -> dict[str, str]:
    """By member of the finding's first object what was sampled on all its lines, the most contended first."""
    record = finding.objects[0].layout if finding.objects else None
    same = [one for one in findings if one is not finding and one.objects and one.objects[0].layout == record]
    grouped: dict[str, list[LineMember]] = {}
    for one in (finding, *same):
        for member in one.members:
            if member.object_offset is not None and member.offset - member.object_offset == one.objects[0].start:
                grouped.setdefault(member.top, []).append(member)
    ranked = sorted(grouped.items(), key=lambda pair: (-_contended(pair[1]), -_accesses(pair[1])))
    return {name: _said(members) for name, members in ranked if _accesses(members) or _contended(members)}


def _contended(members: Iterable[LineMember]) -> int:
    return sum(function.contended for member in members for function in member.functions)


def _accesses(members: Iterable[LineMember]) -> int:
    return sum(member.reads + member.writes for member in members)


def _said(members: Iterable[LineMember]) -> str:
    """``661 contended, written``; reads where nothing waited."""
    group = list(members)
    contended, stores = _contended(group), sum(member.writes for member in group)
    reads = sum(member.reads for member in group)
    parts = [f"{contended:,} contended"] if contended else [counted(reads, "read")] if reads else []
    if stores:
        parts.append(counted(stores, "store"))
    elif any(member.written for member in group):
        parts.append("written")
    return ", ".join(parts)
