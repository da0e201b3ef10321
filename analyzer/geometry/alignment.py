# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment and packing that the source must have asked for, inferred where the producer did not say.

clang and every DWARF 4 producer leave DW_AT_alignment out; BTF has no such field at all.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod

from linesmith.analyzer.model import Layout, Member, RecordKind


def _rounded_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _largest_alignment(end: int, place: int, size: int) -> int:
    """Largest power of two that carries byte ``end`` to byte ``place`` and divides the record's ``size``; 1 if none."""
    largest = (place | size) & -(place | size)
    powers = (1 << power for power in range(largest.bit_length()))
    return max((power for power in powers if _rounded_up(end, power) == place), default=1)


def inferred_alignments(layout: Layout) -> tuple[int | None, ...]:
    """Alignment in bytes that explains the gap before each member, by index; ``None`` when nature explains it.

    Gives the largest power of two that fits the offset, the end of the members before and the record's size. A
    member that states its alignment, a bit-field and a member at offset 0 are never inferred.
    """
    ends = accumulate(map(used_end, layout.members), max, initial=0)
    return tuple(_inferred(layout, member, end) for member, end in zip(layout.members, ends, strict=False))


def _inferred(layout: Layout, member: Member, end: int) -> int | None:
    """Of one member behind others that end at byte ``end``."""
    if member.alignment or member.is_bit_field or not member.offset or layout.kind is RecordKind.UNION:
        return None
    if _rounded_up(end, member.natural_alignment) >= member.offset:
        return None
    found = _largest_alignment(end, member.offset, layout.size)
    return found if found > member.natural_alignment else None


def inferred_record_alignment(layout: Layout) -> int | None:
    """Alignment in bytes that explains the padding; ``None`` when the members' needs explain it."""
    if layout.alignment or not layout.size:
        return None
    known = [one or 1 for one in inferred_alignments(layout)]
    stated = [member.alignment or 1 for member in layout.members]
    needed = max([layout.natural_alignment, *known, *stated])
    end = max((used_end(member) for member in layout.members), default=0)
    if _rounded_up(end, needed) >= layout.size:
        return None
    found = _largest_alignment(end, layout.size, layout.size)
    return found if found > needed else None


def inferred_packed(layout: Layout) -> bool:
    """Whether a member, or the record's end, lies where only ``__attribute__((packed))`` puts it."""
    if any(_out_of_place(member) for member in layout.members):
        return True
    return layout.size % max((_need(member) for member in layout.members), default=1) != 0


def _need(member: Member) -> int:
    """Alignment of the member's type; a packed record needs less than its members do by nature.

    A size that is no multiple of the natural alignment tells of a packed record.
    """
    natural = max(1, member.natural_alignment)
    element = member.size // max(1, prod(member.dimensions))
    return member.alignment or (natural if element % natural == 0 else 1)


def _out_of_place(member: Member) -> bool:
    if member.bit_offset is not None and member.bit_size is not None and member.size:
        unit = member.size * 8
        return member.bit_offset // unit != (member.bit_offset + member.bit_size - 1) // unit
    return member.offset % _need(member) != 0


def used_end(member: Member) -> int:
    """The first byte behind all that the member uses: of a bit-field, behind its bits."""
    if member.bit_offset is None or member.bit_size is None:
        return member.end
    return -(-(member.bit_offset + member.bit_size) // 8)
