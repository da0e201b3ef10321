# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that lie on two lines, both of them hot: whoever uses such a member waits for two lines instead of one."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.geometry import lines_touched, straddles
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import LineObject, Member, Outcome, Profile, SharedLine

# The part on the other line must have this share of the contended accesses that the line has.
OTHER_SHARE = 0.1


def straddling(line: SharedLine, objects: Sequence[LineObject], layouts: Layouts, profile: Profile) -> str:
    """The member of the line's first object that lies on this line and on another hot one; ``""`` without one.

    Arrays are left out: their elements are used one by one.
    """
    owner = objects[0] if objects else None
    if owner is None or owner.layout is None or owner.outcome is not Outcome.RESOLVED or line.address is None:
        return ""
    for member in layouts.by_id(owner.layout).members:
        begin = owner.start + member.offset
        whole = member.name and not member.is_bit_field and not member.dimensions
        if whole and straddles(begin, member.size, line.bytes) and _hot_elsewhere(line, begin, member, profile):
            return member.name
    return ""


def _hot_elsewhere(line: SharedLine, begin: int, member: Member, profile: Profile) -> bool:
    """Whether the part of the member that is not on ``line`` is contended too; ``begin`` counts from the line."""
    touched = lines_touched(begin, member.size, line.bytes)
    if 0 not in touched:
        return False
    others = {(line.address or 0) + number * line.bytes: begin - number * line.bytes for number in touched if number}
    found = (_contended(one, others[one.address], member.size) for one in profile.lines if one.address in others)
    return any(0 < there >= OTHER_SHARE * line.contended for there in found)


def _contended(line: SharedLine, begin: int, size: int) -> int:
    """Contended accesses to the bytes ``[begin, begin + size)`` of the line."""
    on_it = (one for one in line.accesses if one.offset is not None and begin <= one.offset < begin + size)
    return sum(access.contended for access in on_it)
