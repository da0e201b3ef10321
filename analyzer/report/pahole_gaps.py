# SPDX-License-Identifier: GPL-2.0-or-later
"""The remarks pahole writes between members: holes, and how bit-fields share their storage units."""

from __future__ import annotations

from linesmith.analyzer.geometry import Gaps, inner_padding
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member


def counted(number: int, unit: str) -> str:
    """``1 byte``, ``2 bytes``."""
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def remarks_before(layout: Layout, index: int, found: Gaps, type_width: int) -> list[str]:
    """What stands before member ``index``: why a bit-field is not where the one before it would put it."""
    member = layout.members[index]
    remarks = []
    if index == 0:
        remarks = _holes(found, -1)
    elif member.is_bit_field and _shares_unit(layout.members[index - 1], member):
        remarks.append("/* Bitfield combined with previous fields */")
    if _begins_unit(layout, index) and found.bits_after(index - 1):
        remarks += ["/* Force alignment to the next boundary: */", f"{member.type:<{abs(type_width)}} :0;"]
    return remarks


def remarks_after(layout: Layout, index: int, found: Gaps, layouts: Layouts, type_width: int) -> list[str]:
    """What stands behind member ``index``: padding inside it, holes, and a unit that the next member shares."""
    padding = last_struct_padding(layout.members[index], layouts)
    remarks = [f"/* XXX last struct has {counted(padding, 'byte')} of padding */"] if padding else []
    remarks += _holes(found, index)
    if index + 1 == len(layout.members):
        return remarks
    following, bits = layout.members[index + 1], found.bits_after(index)
    if bits and following.is_bit_field and not _begins_unit(layout, index + 1):
        remarks.append(f"{following.type:<{abs(type_width)}} :{bits};")
    unit_end = _unit_end(layout, index) if following.is_bit_field else _own_unit_end(layout.members[index])
    if layout.members[index].offset < following.offset < unit_end:
        remarks.append("/* Bitfield combined with next fields */")
    return remarks


def last_struct_padding(member: Member, layouts: Layouts) -> int:
    """Bytes of padding in the struct ``member`` holds; pahole does not look into arrays."""
    return 0 if member.dimensions or member.flexible else inner_padding(member, layouts)


def _holes(found: Gaps, after: int) -> list[str]:
    bits, size = found.bits_after(after), found.hole_after(after)
    remarks = [f"/* XXX {counted(bits, 'bit')} hole, try to pack */"] if bits else []
    return remarks + ([f"/* XXX {counted(size, 'byte')} hole, try to pack */"] if size else [])


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


def _unit_end(layout: Layout, index: int) -> int:
    """First byte behind every storage unit of the run of bit-fields that ends with member ``index``; 0 for none."""
    end = 0
    while index >= 0 and layout.members[index].is_bit_field:
        end = max(end, layout.members[index].end)
        index -= 1
    return end
