# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members of a line belong to the object that it was attributed to first."""

from __future__ import annotations

from linesmith.analyzer.model import Finding, LineMember


def own_members(finding: Finding) -> tuple[LineMember, ...]:
    """The members of the finding's first object; those of a second object on the line are left out."""
    start = finding.objects[0].start if finding.objects else 0
    return tuple(
        member
        for member in finding.members
        if member.object_offset is not None and member.offset - member.object_offset == start
    )
