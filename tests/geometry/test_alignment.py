# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment and packing read off the offsets, where the producer stated none."""

from __future__ import annotations

from dataclasses import replace

from c_layouts import Declared, aligned, plain, struct, up
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.geometry import inferred_alignment, inferred_packed, inferred_record_alignment
from linesmith.analyzer.model import Layout, Member, MemberCategory, RecordKind


def without_attributes(layout: Layout) -> Layout:
    """The same bytes as clang or a DWARF 4 producer describes them."""
    silent = tuple(replace(member, alignment=None) for member in layout.members)
    return replace(layout, members=silent, natural_alignment=max(member.natural_alignment for member in silent))


declared = st.lists(plain | aligned, min_size=1, max_size=8)


@given(declared)
def test_what_is_inferred_explains_the_offset(members: list[Declared]) -> None:
    layout = without_attributes(struct(members))
    for index, member in enumerate(layout.members):
        end = layout.members[index - 1].end if index else 0
        need = inferred_alignment(layout, index) or member.natural_alignment
        assert up(end, need) == member.offset


@given(st.lists(plain, min_size=1, max_size=8))
def test_natural_gaps_infer_nothing(members: list[Declared]) -> None:
    layout = struct(members)
    assert all(inferred_alignment(layout, index) is None for index in range(len(members)))
    assert inferred_record_alignment(layout) is None
    assert not inferred_packed(layout)


def test_the_largest_alignment_that_fits_is_named() -> None:
    layout = without_attributes(struct([Declared(8), Declared(4, align=64)]))
    assert inferred_alignment(layout, 1) == 64


def test_a_stated_alignment_is_not_inferred_again() -> None:
    assert inferred_alignment(struct([Declared(8), Declared(4, align=64)]), 1) is None


def test_padding_beyond_nature_tells_of_an_aligned_record() -> None:
    layout = replace(struct([Declared(8)]), size=64)
    assert inferred_record_alignment(layout) == 64


def test_an_aligned_member_explains_the_padding_already() -> None:
    layout = without_attributes(struct([Declared(8), Declared(4, align=64)]))
    assert inferred_record_alignment(layout) is None


def test_a_member_off_its_natural_place_tells_of_packing() -> None:
    members = (Member("tag", "u8", "tag", 0, 1), Member("value", "u32", "value", 1, 4, 4))
    assert inferred_packed(Layout(0, "wire", RecordKind.STRUCT, 5, members))


def test_a_size_off_the_natural_alignment_tells_of_packing() -> None:
    members = (Member("value", "u32", "value", 0, 4, 4), Member("tag", "u8", "tag", 4, 1))
    assert inferred_packed(Layout(0, "wire", RecordKind.STRUCT, 5, members))


def test_a_record_that_holds_a_packed_one_need_not_be_packed() -> None:
    inner = Member("inner", "struct wire", "inner", 4, 9, 8, category=MemberCategory.RECORD)
    members = (Member("tag", "u32", "tag", 0, 4, 4), inner, Member("last", "char", "last", 13, 1))
    assert not inferred_packed(Layout(0, "holder", RecordKind.STRUCT, 16, members))
