# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment and packing read off the offsets, where the producer stated none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from c_layouts import Declared, aligned, plain, struct, up
from c_source import compiled
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.geometry import inferred_alignments, inferred_packed, inferred_record_alignment
from linesmith.analyzer.geometry.alignment import used_end
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Layout, Member, MemberCategory, RecordKind

# Compiled as DWARF 4, which has no word for an alignment.
SOURCE = """
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define PACKED __attribute__((packed))
struct either { char head[40]; long far ALIGNED(64); };
struct least { char head[40]; char far ALIGNED(32); char rest[31]; } ALIGNED(32);
struct even { char only; } ALIGNED(2);
struct bits { unsigned low : 5, high : 12; char next; };
struct beyond { unsigned low : 5, high : 30; };
struct torn { unsigned low : 5, high : 30; } PACKED;
struct late { char tag; int value; char rest[3]; } PACKED;
struct wire { char tag; long value; } PACKED;
struct bytes { char first, second; };
struct holder { char tag; struct bytes bytes; struct wire table[4]; int counts[2][3]; int open[]; };
struct holder_at_odds { int tag; struct wire table[4]; int last; } PACKED;
struct either either; struct least least; struct even even; struct bits bits; struct beyond beyond; struct torn torn;
struct late late; struct holder holder; struct holder_at_odds at_odds;
"""


@pytest.fixture(scope="module", params=["gcc", "clang-19"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LayoutTable:
    folder = tmp_path_factory.mktemp("alignment")
    built = compiled(folder, SOURCE, "-gdwarf-4", "-gstrict-dwarf", compiler=request.param)
    return LayoutTable(read_layouts(built).layouts)


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
        need = inferred_alignments(layout)[index] or member.natural_alignment
        assert up(end, need) == member.offset


@given(st.lists(plain, min_size=1, max_size=8))
def test_natural_gaps_infer_nothing(members: list[Declared]) -> None:
    layout = struct(members)
    assert all(inferred_alignments(layout)[index] is None for index in range(len(members)))
    assert inferred_record_alignment(layout) is None
    assert not inferred_packed(layout)


def test_the_largest_alignment_that_fits_is_named() -> None:
    layout = without_attributes(struct([Declared(8), Declared(4, align=64)]))
    assert inferred_alignments(layout)[1] == 64


def test_a_stated_alignment_is_not_inferred_again() -> None:
    assert inferred_alignments(struct([Declared(8), Declared(4, align=64)]))[1] is None


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


def test_of_several_that_fit_the_largest_is_named(built: LayoutTable) -> None:
    assert inferred_alignments(built.variants("either")[0])[1] == 64


def test_no_more_is_inferred_than_the_size_of_the_record_allows(built: LayoutTable) -> None:
    least = built.variants("least")[0]
    assert (least.members[1].offset, least.size) == (64, 96)
    assert inferred_alignments(least)[1] == 32


def test_a_gap_that_no_alignment_leaves_infers_none() -> None:
    members = (Member("first", "char", "first", 0, 1), Member("next", "char", "next", 3, 1))
    assert inferred_alignments(Layout(0, "cut", RecordKind.STRUCT, 4, members))[1] is None


def test_an_alignment_of_two_explains_one_byte_of_padding(built: LayoutTable) -> None:
    assert inferred_record_alignment(built.variants("even")[0]) == 2


def test_a_record_that_states_its_alignment_infers_none() -> None:
    assert inferred_record_alignment(replace(struct([Declared(8)]), size=64, alignment=64)) is None


def test_a_bit_field_ends_behind_the_byte_of_its_last_bit(built: LayoutTable) -> None:
    bits = built.variants("bits")[0]
    assert [used_end(member) for member in bits.members] == [1, 3, 4]
    assert [inferred_alignments(bits)[index] for index in range(3)] == [None] * 3


@pytest.mark.parametrize(("name", "packed"), [("bits", False), ("beyond", False), ("torn", True)])
def test_a_bit_field_in_two_storage_units_tells_of_packing(built: LayoutTable, name: str, packed: bool) -> None:
    assert inferred_packed(built.variants(name)[0]) == packed


def test_one_member_out_of_place_tells_of_packing_though_the_size_fits(built: LayoutTable) -> None:
    late = built.variants("late")[0]
    assert late.size == 8
    assert inferred_packed(late)


def test_arrays_of_packed_records_and_open_arrays_need_no_packing(built: LayoutTable) -> None:
    assert not inferred_packed(built.variants("holder")[0])
    assert not inferred_packed(built.variants("holder_at_odds")[0])


def test_an_empty_class_is_not_packed() -> None:
    empty = Layout(0, "empty", RecordKind.STRUCT, 1, ())
    assert not inferred_packed(empty)
    assert inferred_record_alignment(empty) is None
