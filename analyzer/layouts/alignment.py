# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment and packing that the source asked for: inferred where no producer says it, told from what is inherited.

clang and every DWARF 4 producer leave DW_AT_alignment out; BTF has no such field at all. gcc states it of every record
and member whose alignment comes from an attribute anywhere inside, so that a record which embeds an aligned one looks
as if it asked for it. No producer tells of unnamed bit-fields; one of width 0, which closes a storage unit
(C11 6.7.2.1p12), shows by the next bit-field beginning at the next unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod

from linesmith.analyzer.layouts.collection import MOST_LEVELS, MOST_MEMBERS, Layouts
from linesmith.analyzer.layouts.placement import BYTE, bit_field_start, round_up, shape_of
from linesmith.analyzer.model import Layout, Member, RecordKind


def record_alignment(layout: Layout) -> int:
    """Alignment of the record in bytes: every object starts at a multiple of it."""
    return max([layout.natural_alignment, layout.alignment or 1, *(member.alignment or 1 for member in layout.members)])


def inferred_alignments(layout: Layout) -> tuple[int | None, ...]:
    """Alignment in bytes that explains the gap before each member, by index; ``None`` when nature explains it.

    Gives the largest power of two that fits the offset, the end of the members before and the record's size. A
    member that states its alignment, a bit-field and a member at offset 0 are never inferred.
    """
    ends = accumulate((member.used_end for member in layout.members), max, initial=0)
    return tuple(_inferred(layout, member, end) for member, end in zip(layout.members, ends, strict=False))


def _inferred(layout: Layout, member: Member, end: int) -> int | None:
    """Of one member behind others that end at byte ``end``."""
    if member.alignment or member.is_bit_field or not member.offset or layout.kind is RecordKind.UNION:
        return None
    if round_up(end, member.natural_alignment) >= member.offset:
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
    end = max((member.used_end for member in layout.members), default=0)
    if round_up(end, needed) >= layout.size:
        return None
    found = _largest_alignment(end, layout.size, layout.size)
    return found if found > needed else None


def _largest_alignment(end: int, place: int, size: int) -> int:
    """Largest power of two that carries byte ``end`` to byte ``place`` and divides the record's ``size``; 1 if none."""
    largest = (place | size) & -(place | size)
    powers = (1 << power for power in range(largest.bit_length()))
    return max((power for power in powers if round_up(end, power) == place), default=1)


def inferred_packed(layout: Layout) -> bool:
    """Whether a member, or the record's end, lies where only ``__attribute__((packed))`` puts it."""
    for member in layout.members:
        if member.bit_offset is not None and member.bit_size is not None and member.size:
            unit = member.size * BYTE
            if member.bit_offset // unit != (member.bit_offset + member.bit_size - 1) // unit:
                return True
        elif member.offset % _need(member):
            return True
    return layout.size % max((_need(member) for member in layout.members), default=1) != 0


def _need(member: Member) -> int:
    """Alignment of the member's type; a packed record needs less than its members do by nature.

    A size that is no multiple of the natural alignment tells of a packed record.
    """
    natural = max(1, member.natural_alignment)
    element = member.size // max(1, prod(member.dimensions))
    return member.alignment or (natural if element % natural == 0 else 1)


def with_inferred_alignment(layout: Layout) -> Layout:
    """``layout`` with the alignments of its members and its own that explain where they are."""
    members = list(layout.members)
    for index, found in enumerate(inferred_alignments(layout)):
        alignment = _closed_unit(layout, index) if members[index].is_bit_field else found
        if alignment:
            members[index] = replace(members[index], alignment=alignment)
    record = inferred_record_alignment(layout)
    return replace(layout, members=tuple(members), alignment=record or layout.alignment)


def _closed_unit(layout: Layout, index: int) -> int | None:
    """Bytes of the storage unit that a bit-field opens although it would have fitted into the one before."""
    member, before = layout.members[index], layout.members[index - 1]
    if not index or not before.is_bit_field:
        return None
    end = before.first_bit + (before.bit_size or 0)
    opened = round_up(end, member.natural_alignment * BYTE)
    closed = member.first_bit == opened and bit_field_start(shape_of(member), end) < opened
    return member.natural_alignment if closed else None


def inferences(said: Layout, explained: Layout) -> tuple[str, ...]:
    """Names of the members, and of the record itself, whose alignment is in ``explained`` only."""
    pairs = zip(said.members, explained.members, strict=True)
    members = tuple(one.name for one, other in pairs if one.alignment != other.alignment)
    return members if said.alignment == explained.alignment else (*members, said.title)


@dataclass(frozen=True, slots=True)
class AskedAlignment:
    """What is asked for, in bytes, and by what: a member called ``path``, or the unnamed ``part`` that begins with it.

    The record itself has the path ``""``. ``stated`` is what the debug information says, also where a type inside
    brings it; ``asked`` is 1 where nothing is asked for. ``around`` is the most that a part around it states.
    """

    path: str
    stated: int
    asked: int
    part: bool = False
    around: int = 1


def asked_alignments(layout: Layout, layouts: Layouts) -> Iterator[AskedAlignment]:
    """Of the record, then of each member that C code can name and of each part without a name, in their order."""
    yield AskedAlignment("", layout.alignment or 1, _asked_of_record(layout))
    yield from _of_members(layout, layouts, 1, MOST_LEVELS, iter(range(MOST_MEMBERS)))


def asked_at_least(least: int, layout: Layout, layouts: Layouts) -> list[AskedAlignment]:
    """Those of the same that ask for ``least`` bytes, at least 2, or more; few records have any."""
    if not _states(least, layout, layouts):
        return []
    return [one for one in asked_alignments(layout, layouts) if one.asked >= least]


def _states(least: int, layout: Layout, layouts: Layouts) -> bool:
    """Whether the record, a member or a part without a name states such an alignment: nothing else asks for it."""
    waiting, seen = [layout], {layout.id}
    for one in waiting:  # grows while it is walked
        if (one.alignment or 1) >= least or any((member.alignment or 1) >= least for member in one.members):
            return True
        inner = {member.record for member in one.members if not member.name and member.record is not None} - seen
        seen |= inner
        waiting += [layouts.by_id(part) for part in inner]
    return False


def _of_members(
    layout: Layout, layouts: Layouts, around: int, levels: int, left: Iterator[int]
) -> Iterator[AskedAlignment]:
    """``left`` counts members, also those that ask for nothing."""
    for member in layout.members:
        if next(left, None) is None:
            return
        stated = member.alignment or 1
        if member.name or member.record is None:
            yield AskedAlignment(member.name, stated, _asked_of_member(member, layouts), around=around)
            continue
        inner = layouts.by_id(member.record)
        inside = _of_members(inner, layouts, max(around, stated), levels - 1, left) if levels else iter(())
        first = next(inside, None)
        if first is not None:
            asked = max(_asked_of_member(member, layouts), _asked_of_record(inner))
            yield AskedAlignment(first.path, stated, asked, part=True, around=around)
            yield first
        yield from inside


def _asked_of_member(member: Member, layouts: Layouts) -> int:
    """1 where the member's type asks for as much."""
    stated = member.alignment or 1
    if stated == 1:
        return 1  # most members: their types need not be read
    inner = (layouts.by_id(member.record).alignment or 1) if member.record is not None else 1
    return stated if stated > inner else 1


def _asked_of_record(layout: Layout) -> int:
    """1 where a member asks for as much."""
    stated = layout.alignment or 1
    inner = max((max(member.natural_alignment, member.alignment or 1) for member in layout.members), default=1)
    return stated if stated > inner else 1
