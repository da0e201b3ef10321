# SPDX-License-Identifier: GPL-2.0-or-later
"""Where C puts the members of a struct: a pure function from their order to offsets and size.

The rules are those of gcc and clang on the System V ABIs of x86-64 and AArch64: each member at the next multiple of
its alignment; a bit-field at the next free bit unless it would then span more alignment units than its declared type
has, else at the next multiple of that type's alignment. Source: System V ABI, x86-64 supplement 3.1.2; gcc internals,
``PCC_BITFIELD_TYPE_MATTERS``. Records that follow other rules (packed, overlapping) are refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from linesmith.analyzer.model import Layout, Member, RecordKind

BYTE = 8


@dataclass(frozen=True, slots=True)
class Placement:
    """Offsets for members in the order given; ``starts`` and ``end`` in bits, ``size`` and ``alignment`` in bytes."""

    starts: tuple[int, ...]
    end: int
    size: int
    alignment: int


def round_up(value: int, step: int) -> int:
    """The smallest multiple of ``step`` that is not below ``value``."""
    return -(-value // step) * step


def alignment_of(member: Member) -> int:
    """Alignment in bytes that the member has in a record that is not packed."""
    return max(member.natural_alignment, member.alignment or 1, 1)


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a member decides its place, in bits; ``width`` is that of a bit-field, else ``None``.

    ``alignment`` is that of the member, and for a bit-field that of its type; ``forced`` is a bit-field's explicit one.
    """

    size: int
    alignment: int
    width: int | None = None
    forced: int = 1


def shape_of(member: Member) -> Shape:
    """The shape of ``member``."""
    size = member.size * BYTE
    if member.bit_size is None:
        return Shape(size, alignment_of(member) * BYTE)
    unit = max(member.natural_alignment, 1) * BYTE
    return Shape(max(size, unit), unit, member.bit_size, (member.alignment or 1) * BYTE if member.alignment else 1)


def place(members: Iterable[Member], record_alignment: int | None = None) -> Placement:
    """Place ``members`` in this order; ``record_alignment`` is the record's explicit alignment in bytes."""
    return place_shapes([shape_of(member) for member in members], record_alignment)


def end_of(shapes: Iterable[Shape], end: int = 0) -> int:
    """The bit behind the last of these members: what ``place_shapes`` gives, for who tries many orders."""
    for shape in shapes:
        if shape.width is None:
            end = -(-end // shape.alignment) * shape.alignment + shape.size
        else:
            end = bit_field_start(shape, end) + shape.width
    return end


def place_shapes(shapes: Iterable[Shape], record_alignment: int | None = None, end: int = 0) -> Placement:
    """Place members of these shapes in this order, behind ``end`` bits that are taken."""
    starts: list[int] = []
    alignment = (record_alignment or 1) * BYTE
    for shape in shapes:
        if shape.width is None:
            start = -(-end // shape.alignment) * shape.alignment
            end = start + shape.size
        else:
            start = bit_field_start(shape, end)
            end = start + shape.width
        starts.append(start)
        alignment = max(alignment, shape.alignment, shape.forced)
    return Placement(tuple(starts), end, round_up(end, alignment) // BYTE, alignment // BYTE)


def bit_field_start(shape: Shape, end: int) -> int:
    """First bit of a bit-field that follows ``end`` bits."""
    end = round_up(end, shape.forced)
    spanned = round_up(end % shape.alignment + (shape.width or 0), shape.alignment)
    return round_up(end, shape.alignment) if spanned > shape.size else end


def place_member(member: Member, start: int) -> Member:
    """``member`` at bit ``start``; the storage unit of a bit-field is the aligned one that holds its first bit."""
    if member.bit_size is None:
        return replace(member, offset=start // BYTE)
    unit = max(member.size, 1)
    return replace(member, offset=start // BYTE // unit * unit, bit_offset=start)


def lay_out(layout: Layout, members: tuple[Member, ...]) -> Layout:
    """``layout`` with ``members`` placed anew in the order given; the record's own explicit alignment stays."""
    placement = place(members, layout.alignment)
    placed = tuple(place_member(*pair) for pair in zip(members, placement.starts, strict=True))
    natural = max([layout.natural_alignment, *(alignment_of(member) for member in members)])
    return replace(layout, members=placed, size=placement.size, natural_alignment=natural)


def refusal(layout: Layout) -> str | None:
    """Why the members of ``layout`` cannot be placed by these rules, or ``None`` when its own order reproduces it."""
    if layout.kind is RecordKind.UNION:
        return "the members of a union share one place, so none can be moved"
    placement = place(layout.members, layout.alignment)
    for member, start in zip(layout.members, placement.starts, strict=True):
        if start != first_bit(member):
            return _cause(layout) or f"{member.name or 'an anonymous member'} is not where C's rules put it"
    if placement.size != layout.size:
        return _cause(layout) or f"its size is {layout.size} bytes where C's rules give {placement.size}"
    return None


def first_bit(member: Member) -> int:
    """Absolute bit of the record at which ``member`` begins."""
    return member.offset * BYTE if member.bit_offset is None else member.bit_offset


def _cause(layout: Layout) -> str | None:
    """The usual reason for a layout that the rules do not give."""
    last = 0
    for member in layout.members:
        if first_bit(member) < last:
            return f"{member.name or 'an anonymous member'} overlaps the member before it"
        last = first_bit(member) + (member.size * BYTE if member.bit_size is None else member.bit_size)
    misaligned = any(m.bit_size is None and m.offset % alignment_of(m) for m in layout.members)
    if misaligned or layout.size % max((alignment_of(m) for m in layout.members), default=1):
        return "it is packed: its offsets are an exchange format or were chosen by hand"
    return None
