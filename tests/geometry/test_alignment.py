# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment and packing read off the offsets, where the producer stated none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from c_layouts import Declared, aligned, plain, struct, up
from c_source import compiled
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.layouts.alignment import (
    asked_alignments,
    asked_at_least,
    inferred_alignments,
    inferred_packed,
    inferred_record_alignment,
)
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Layout, Member, RecordKind

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
struct odd { int value; char tag; } PACKED;
struct nothing { };
struct bytes { char first, second; };
struct holder { char tag; struct bytes bytes; struct wire table[4]; int counts[2][3]; int open[]; };
struct holder_at_odds { int tag; struct wire table[4]; int last; } PACKED;
struct either either; struct least least; struct even even; struct bits bits; struct beyond beyond; struct torn torn;
struct late late; struct odd odd; struct nothing nothing; struct holder holder; struct holder_at_odds at_odds;
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


def test_the_largest_alignment_that_fits_a_member_and_its_record_is_inferred(built: LayoutTable) -> None:
    stated = struct([Declared(8), Declared(4, align=64)])
    layout = without_attributes(stated)
    assert inferred_alignments(layout)[1] == 64
    assert inferred_alignments(built.variants("either")[0])[1] == 64
    least = built.variants("least")[0]
    assert (least.members[1].offset, least.size, inferred_alignments(least)[1]) == (64, 96, 32)
    # Not where it is stated, nor where no alignment leaves such a gap.
    assert inferred_alignments(stated)[1] is None
    apart = tuple(Member(name, "u8", name, offset, 1) for name, offset in (("a", 0), ("b", 3)))
    assert inferred_alignments(Layout(0, "cut", RecordKind.STRUCT, 4, apart))[1] is None
    assert [inferred_alignments(built.variants("bits")[0])[index] for index in range(3)] == [None] * 3


def test_padding_beyond_nature_comes_of_an_aligned_record(built: LayoutTable) -> None:
    padded = replace(struct([Declared(8)]), size=64)
    assert inferred_record_alignment(padded) == 64
    assert inferred_record_alignment(built.variants("even")[0]) == 2
    assert inferred_record_alignment(replace(padded, alignment=64)) is None
    assert inferred_record_alignment(built.variants("nothing")[0]) is None
    # An aligned member explains the padding already.
    layout = without_attributes(struct([Declared(8), Declared(4, align=64)]))
    assert inferred_record_alignment(layout) is None


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        *(("bits", False), ("beyond", False), ("holder", False), ("holder_at_odds", False), ("nothing", False)),
        *(("torn", True), ("late", True), ("wire", True), ("odd", True)),
    ],
)
def test_a_compiled_record_is_seen_to_be_packed(built: LayoutTable, name: str, packed: bool) -> None:
    """``late`` has the size that it would have otherwise; arrays of packed records and open arrays need no packing."""
    assert inferred_packed(built.variants(name)[0]) == packed


ASKED = """
#define LINE __attribute__((aligned(64)))
struct lock { int word; } LINE;
struct word { int word LINE; };
struct subject {
    struct lock brought;
    int own LINE;
    struct { int first; struct { int deep LINE; }; };
    union { struct { int part; } LINE; };
    int pair __attribute__((aligned(16)));
} subject;
struct word word;
"""


def test_declarations_that_ask_for_much_are_among_all_that_ask(tmp_path: Path) -> None:
    layouts = read_layouts(compiled(tmp_path, ASKED)).layouts
    for layout in layouts:
        asked = list(asked_alignments(layout, layouts))
        for least in (2, 16, 64, 128):
            assert asked_at_least(least, layout, layouts) == [one for one in asked if one.asked >= least]
