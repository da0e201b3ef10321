# SPDX-License-Identifier: GPL-2.0-or-later
"""The remarks pahole writes between members: holes, and how bit-fields share their storage units."""

from __future__ import annotations

from itertools import accumulate

from linesmith.analyzer.geometry import gaps, inner_padding
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member


def counted(number: int, unit: str) -> str:
    """``1 byte``, ``2 bytes``."""
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


class Remarks:
    """What stands between the members of one record; ``type_width`` is that of the column of types."""

    def __init__(self, layout: Layout, layouts: Layouts, type_width: int) -> None:
        self._layout = layout
        self._layouts = layouts
        self._gaps = gaps(layout)
        self._unit_ends = tuple(accumulate(layout.members, _unit_end, initial=0))[1:]
        self._type_width = abs(type_width)

    def before(self, index: int) -> list[str]:
        """What stands before member ``index``: why a bit-field is not where the one before it would put it."""
        member = self._layout.members[index]
        remarks = []
        if index == 0:
            remarks = self._holes(-1)
        elif member.is_bit_field and _shares_unit(self._layout.members[index - 1], member):
            remarks.append("/* Bitfield combined with previous fields */")
        if _begins_unit(self._layout, index) and self._gaps.bits_after(index - 1):
            remarks += ["/* Force alignment to the next boundary: */", f"{member.type:<{self._type_width}} :0;"]
        return remarks

    def after(self, index: int) -> list[str]:
        """What stands behind member ``index``: padding inside it, holes, and a unit that the next member shares."""
        member = self._layout.members[index]
        padding = last_struct_padding(member, self._layouts)
        remarks = [f"/* XXX last struct has {counted(padding, 'byte')} of padding */"] if padding else []
        remarks += self._holes(index)
        if index + 1 == len(self._layout.members):
            return remarks
        following, bits = self._layout.members[index + 1], self._gaps.bits_after(index)
        if bits and following.is_bit_field and not _begins_unit(self._layout, index + 1):
            remarks.append(f"{following.type:<{self._type_width}} :{bits};")
        unit_end = self._unit_ends[index] if following.is_bit_field else _own_unit_end(member)
        if member.offset < following.offset < unit_end:
            remarks.append("/* Bitfield combined with next fields */")
        return remarks

    def _holes(self, after: int) -> list[str]:
        bits, size = self._gaps.bits_after(after), self._gaps.hole_after(after)
        remarks = [f"/* XXX {counted(bits, 'bit')} hole, try to pack */"] if bits else []
        return remarks + ([f"/* XXX {counted(size, 'byte')} hole, try to pack */"] if size else [])


def last_struct_padding(member: Member, layouts: Layouts) -> int:
    """Bytes of padding in the struct ``member`` holds; pahole does not look into arrays."""
    return 0 if member.dimensions or member.flexible else inner_padding(member, layouts)


def _shares_unit(previous: Member, member: Member) -> bool:
    """Whether the storage unit of a bit-field begins before or within a member that is not part of it."""
    overlaps = not previous.is_bit_field and member.offset < previous.end
    return overlaps or member.offset < previous.offset


def _begins_unit(layout: Layout, index: int) -> bool:
    """Whether member ``index`` is the first bit-field of its storage unit."""
    member = layout.members[index]
    if not member.is_bit_field or index == 0:
        return member.is_bit_field
    previous = layout.members[index - 1]
    return not previous.is_bit_field or previous.offset != member.offset


def _own_unit_end(member: Member) -> int:
    return member.end if member.is_bit_field else 0


def _unit_end(end: int, member: Member) -> int:
    """First byte behind every storage unit of the run of bit-fields that ends with ``member``; 0 for none.

    ``end`` is that of the run that ends with the member before.
    """
    return max(end, member.end) if member.is_bit_field else 0
