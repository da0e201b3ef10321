# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that the layout itself holds in their place: the first, the last, and those that part others."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.geometry import flatten
from linesmith.analyzer.geometry.placement import alignment_of
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Member
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.record import Fixed, Record


def last_members(record: Record) -> Iterator[Fixed]:
    """A flexible array, a record that ends in one, and a last array of 0 or 1 end the record."""
    if record.parts and (reason := _open_end(record.parts[-1].members[-1], record.layouts)):
        name = record.parts[-1].name
        why = Constraint(ConstraintKind.LAST, name, reason, "C11 6.7.2.1p18", everywhere=True)
        yield Fixed(len(record.parts) - 1, why)


def first_members(record: Record) -> Iterator[Fixed]:
    """A record in front is what the whole may be cast to."""
    if record.parts and _is_base(record.parts[0].members[0], record.layouts):
        reason = "code may cast between the struct and the record it begins with"
        why = Constraint(ConstraintKind.FIRST, record.parts[0].name, reason, "C11 6.7.2.1p15", everywhere=True)
        yield Fixed(0, why)


def markers(record: Record) -> Iterator[Fixed]:
    """Members without size mark offsets, and those aligned to a line keep groups apart."""
    for number, atom in enumerate(record.parts):
        reasons = (_marker(member, record.layouts) for member in atom.members if not atom.is_group)
        found = next((one for one in reasons if one), None)
        if found:
            reason, source = found
            yield Fixed(number, Constraint(ConstraintKind.MARKER, atom.name, reason, source, everywhere=True))


def _marker(member: Member, layouts: Layouts) -> tuple[str, str] | None:
    """Why nothing may cross ``member``, and the source of that."""
    if not member.size and not member.flexible and alignment_of(member) >= CACHE_LINE_BYTES:
        reason = "it was put there to keep what is before it and what is behind it on different lines"
        return reason, "include/linux/cache.h, CACHELINE_PADDING"
    if _marks_offset(member, layouts):
        return "a member without size marks an offset that code relies on", "offsetof() on the marker"
    return None


def _is_base(member: Member, layouts: Layouts) -> bool:
    """Whether the first member is a record that code may cast to; a single word such as ``atomic_t`` is none."""
    if member.record is None or not member.name or member.dimensions:
        return False
    return len(flatten(layouts.by_id(member.record), layouts)) > 1


def _open_end(member: Member, layouts: Layouts) -> str | None:
    """Why ``member``, the last one, must stay last."""
    if member.flexible:
        return "a flexible array ends the struct"
    if member.dimensions and member.dimensions[0] in (0, 1):
        return f"a last array of {member.dimensions[0]} is often allocated longer than declared"
    if member.record is None or member.dimensions:
        return None
    inner = layouts.by_id(member.record).members
    return "it ends with a flexible array" if inner and inner[-1].flexible else None


def _marks_offset(member: Member, layouts: Layouts) -> bool:
    """A zero-length array or an empty anonymous struct; a named empty record is a feature compiled out."""
    if member.size or member.is_bit_field or not member.name or member.flexible:
        return False
    if member.record is not None and not member.dimensions:
        return not layouts.by_id(member.record).name
    return 0 in member.dimensions
