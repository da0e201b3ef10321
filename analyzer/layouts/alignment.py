# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment and packing that the source must have asked for, inferred where the producer did not say.

clang and every DWARF 4 producer leave DW_AT_alignment out; BTF has no such field at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import MOST_MEMBERS
from linesmith.analyzer.layouts.placement import BYTE, bit_field_start, first_bit, round_up, shape_of
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


# Alignment that a declaration itself asks for, told from what it inherits.
#
# gcc states DW_AT_alignment of every record and member whose alignment comes from an attribute anywhere inside, so a
# record that embeds an aligned one looks as if it asked for it.

# Damaged debug information can nest anonymous records without end.
_MOST_LEVELS = 128


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
    yield from _of_members(layout, layouts, 1, _MOST_LEVELS, iter(range(MOST_MEMBERS)))


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


# Alignments that the source must have asked for but the debug information does not say.
#
# clang, DWARF 4 and BTF leave explicit alignments out. No producer tells of unnamed bit-fields; one of width 0, which
# closes a storage unit (C11 6.7.2.1p12), shows by the next bit-field beginning at the next unit.


def with_inferred_alignment(layout: Layout) -> Layout:
    """``layout`` with the alignments of its members and its own that explain where they are."""
    inferred = inferred_alignments(layout)
    members = tuple(_explained(layout, index, inferred[index]) for index in range(len(layout.members)))
    record = inferred_record_alignment(layout)
    return replace(layout, members=members, alignment=record or layout.alignment)


def record_alignment(layout: Layout) -> int:
    """Alignment of the record in bytes: every object starts at a multiple of it."""
    return max([layout.natural_alignment, layout.alignment or 1, *(member.alignment or 1 for member in layout.members)])


def inferences(said: Layout, explained: Layout) -> tuple[str, ...]:
    """Names of the members, and of the record itself, whose alignment is in ``explained`` only."""
    pairs = zip(said.members, explained.members, strict=True)
    members = tuple(one.name for one, other in pairs if one.alignment != other.alignment)
    return members if said.alignment == explained.alignment else (*members, said.title)


def _explained(layout: Layout, index: int, inferred: int | None) -> Member:
    member = layout.members[index]
    alignment = _closed_unit(layout, index) if member.is_bit_field else inferred
    return replace(member, alignment=alignment) if alignment else member


def _closed_unit(layout: Layout, index: int) -> int | None:
    """Bytes of the storage unit that a bit-field opens although it would have fitted into the one before."""
    member, before = layout.members[index], layout.members[index - 1]
    if not index or not before.is_bit_field:
        return None
    end = first_bit(before) + (before.bit_size or 0)
    opened = round_up(end, member.natural_alignment * BYTE)
    closed = first_bit(member) == opened and bit_field_start(shape_of(member), end) < opened
    return member.natural_alignment if closed else None
