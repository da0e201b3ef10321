# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares a layout with what pahole printed of the same record."""

from __future__ import annotations

from collections.abc import Iterator

from pahole_text import PaholeMember, PaholeRecord

from linesmith.analyzer.geometry import Gaps, gaps
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member, RecordKind


def differences(printed: PaholeRecord, layout: Layout, layouts: Layouts) -> list[str]:
    """Everything in which the two disagree, in words; empty when they agree."""
    return list(_record(printed, layout, layouts, 0))


def members_compared(printed: PaholeRecord) -> int:
    """Members of the record, those of braced records included."""
    return sum(1 + (members_compared(one.record) if one.record else 0) for one in printed.members)


def _record(printed: PaholeRecord, layout: Layout, layouts: Layouts, base: int) -> Iterator[str]:
    found = gaps(layout)
    if len(printed.members) != len(layout.members):
        yield f"{printed.name}: {len(printed.members)} members printed, {len(layout.members)} read"
        return
    if printed.size is not None:
        theirs = (printed.size, printed.padding, printed.bit_padding)
        ours = (layout.size, found.padding, found.bit_padding)
        if theirs != ours:
            yield f"{printed.name}: size, padding, bit padding {theirs} printed, {ours} read"
    for index, (theirs_member, member) in enumerate(zip(printed.members, layout.members, strict=True)):
        yield from _member(theirs_member, _as_printed(layout, index, found, base), f"{printed.name}.{member.name}")
        if theirs_member.record and member.record is not None:
            yield from _record(theirs_member.record, layouts.by_id(member.record), layouts, base + member.offset)


def _as_printed(layout: Layout, index: int, found: Gaps, base: int) -> PaholeMember:
    member = layout.members[index]
    in_union = layout.kind is RecordKind.UNION
    return PaholeMember(
        member.name,
        base + member.offset,
        member.size,
        _bit_start(member),
        member.bit_size,
        0 if in_union else found.hole_after(index),
        0 if in_union else found.bits_after(index),
    )


def _bit_start(member: Member) -> int | None:
    return None if member.bit_offset is None else member.bit_offset - 8 * member.offset


def _member(theirs: PaholeMember, ours: PaholeMember, path: str) -> Iterator[str]:
    for field in ("name", "offset", "size", "bit_start", "bit_size", "hole", "bit_hole"):
        printed, read = getattr(theirs, field), getattr(ours, field)
        if printed != read:
            yield f"{path}: {field} {printed} printed, {read} read"
