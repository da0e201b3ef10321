# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts as a C compiler for x86-64 makes them (System V ABI, 3.1.2), for tests that need many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.model import Layout, Member, MemberCategory, RecordKind

TYPES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long"}


@dataclass(frozen=True)
class Declared:
    """A member before it is placed: ``unit`` bytes each, ``bits`` wide or ``count`` of them."""

    unit: int
    count: int = 1
    bits: int | None = None
    align: int | None = None
    record: Layout | None = None

    @property
    def needs(self) -> int:
        natural = self.record.natural_alignment if self.record else self.unit
        return max(natural, self.align or 1)


def up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def struct(declared: Sequence[Declared], layout_id: int = 0, name: str = "subject") -> Layout:
    """Place members in order, with natural alignment or the one they ask for."""
    at_bit, members = 0, []
    for number, one in enumerate(declared):
        member = _placed(one, number, at_bit)
        at_bit = 8 * member.end if member.bit_offset is None else member.bit_offset + (member.bit_size or 0)
        members.append(member)
    need = max((one.needs for one in declared), default=1)
    return Layout(layout_id, name, RecordKind.STRUCT, up(up(at_bit, 8) // 8, need), tuple(members), need)


def union(declared: Sequence[Declared], layout_id: int = 0, name: str = "subject") -> Layout:
    """All members at the first byte."""
    members = tuple(_placed(replace(one, bits=None), number, 0) for number, one in enumerate(declared))
    need = max((one.needs for one in declared), default=1)
    size = up(max((member.size for member in members), default=0), need)
    return Layout(layout_id, name, RecordKind.UNION, size, members, need)


def _placed(one: Declared, number: int, at_bit: int) -> Member:
    name, dimensions = f"m{number}", (one.count,) if one.count > 1 else ()
    record = one.record.id if one.record else None
    category = MemberCategory.RECORD if one.record else MemberCategory.SCALAR
    if one.bits is not None:
        width = 8 * one.unit
        start = at_bit if at_bit // width == (at_bit + one.bits - 1) // width else up(at_bit, width)
        unit = start // width * one.unit
        return Member(name, TYPES[one.unit], name, unit, one.unit, one.unit, bit_offset=start, bit_size=one.bits)
    offset, size = up(up(at_bit, 8) // 8, one.needs), one.unit * one.count
    natural = one.record.natural_alignment if one.record else one.unit
    title = one.record.title if one.record else TYPES[one.unit]
    return Member(name, title, name, offset, size, natural, one.align, None, None, dimensions, False, category, record)


units = st.sampled_from(tuple(TYPES))
plain = st.builds(Declared, units, st.integers(1, 5))
bit_fields = units.flatmap(lambda unit: st.builds(Declared, st.just(unit), bits=st.integers(1, 8 * unit)))
aligned = st.builds(Declared, units, align=st.sampled_from((2, 8, 16, 32, 64)))
lists_of_plain = st.lists(plain, min_size=1, max_size=9)
structs = st.lists(plain | bit_fields, min_size=1, max_size=12).map(struct)


@st.composite
def nested(draw: st.DrawFn) -> LayoutTable:
    """Records that hold earlier ones, some in arrays; the last one is the outermost."""
    made: list[Layout] = []
    for layout_id in range(draw(st.integers(2, 6))):
        held = st.sampled_from(made).flatmap(_holding) if made else plain
        members = draw(st.lists(plain | held, min_size=1, max_size=4))
        build = draw(st.sampled_from((struct, struct, union)))
        made.append(build(members, layout_id, f"record{layout_id}"))
    return LayoutTable(made)


def _holding(inner: Layout) -> st.SearchStrategy[Declared]:
    return st.builds(Declared, st.just(inner.size), st.integers(1, 3), record=st.just(inner))
