# SPDX-License-Identifier: GPL-2.0-or-later
"""Holes and padding in bytes and bits, cache lines and phases, and alignment that the producer did not state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from c_layouts import Declared, plain, struct, structs, union
from c_source import compiled
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import randoms

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.gaps import (
    Gaps,
    Span,
    gaps,
    inferred_alignments,
    inferred_packed,
    inferred_record_alignment,
    line_of,
    lines_touched,
    meeting_phases,
    straddles,
)
from linesmith.analyzer.model import Layout, Member, RecordKind


def used_bits(layout: Layout) -> list[int]:
    spans = [
        (8 * one.offset, 8 * one.size) if one.bit_offset is None else (one.bit_offset, one.bit_size or 0)
        for one in layout.members
    ]
    return [bit for start, bits in spans for bit in range(start, start + bits)]


def gap_bits(layout: Layout, found: Gaps) -> list[int]:
    holes = [bit for hole in found.holes for bit in range(8 * hole.offset, 8 * (hole.offset + hole.size))]
    beside = [bit for hole in found.bit_holes for bit in range(hole.bit_offset, hole.bit_offset + hole.bits)]
    tail = range(8 * layout.size - 8 * found.padding - found.bit_padding, 8 * layout.size)
    return holes + beside + list(tail)


@given(structs)
def test_every_bit_is_used_by_one_member_or_lies_in_one_gap(layout: Layout) -> None:
    assert sorted(used_bits(layout) + gap_bits(layout, gaps(layout))) == list(range(8 * layout.size))


@given(structs, randoms())
def test_the_order_of_declaration_makes_no_gap(layout: Layout, chance: Random) -> None:
    """rustc places members in an order of its own, and members of no size where others begin."""
    members = list(layout.members)
    chance.shuffle(members)
    shuffled = replace(layout, members=tuple(members))
    assert gap_bits(shuffled, gaps(shuffled)) == gap_bits(layout, gaps(layout))


TORN = "unsigned low : 5, high : 30;"
PACKED = f"""
struct torn {{ {TORN} char next; }} __attribute__((packed)) torn;
struct apart {{ {TORN} long next __attribute__((aligned(8))); }} __attribute__((packed)) apart;
"""


def shown(layout: Layout) -> str:
    """Each hole as place+size behind its member, bits in brackets; then bytes and bits of padding."""
    found = gaps(layout)
    holes = [f"{one.offset}+{one.size} behind m{one.after}" for one in found.holes]
    bits = [f"[{one.bit_offset}+{one.bits}] behind m{one.after}" for one in found.bit_holes]
    return " ".join([*holes, *bits, f"padding {found.padding} [{found.bit_padding}]"])


MEMBERS: dict[str, tuple[list[Declared], str]] = {
    "a hole has the member before it": ([Declared(1), Declared(8)], "1+7 behind m0 padding 0 [0]"),
    "padding is no hole": ([Declared(8), Declared(1)], "padding 7 [0]"),
    "a bit-field leaves bits, then bytes": (
        [Declared(1, bits=2), Declared(8)],
        "1+7 behind m0 [2+6] behind m0 padding 0 [0]",
    ),
    "a plain member may take the rest of a storage unit": (
        [Declared(4, bits=13), Declared(2), Declared(4)],
        "[13+3] behind m0 padding 0 [0]",
    ),
    "a bit-field that needs the next unit leaves bytes": (
        [Declared(1, count=7), Declared(4, bits=30)],
        "7+1 behind m0 padding 0 [2]",
    ),
    "bits left at the end are bit padding": ([Declared(8), Declared(4, bits=5)], "padding 4 [27]"),
    "a narrower unit inside a wider one ends with the wider one": (
        [Declared(4, bits=7), Declared(1, bits=1), Declared(1, bits=1), Declared(8)],
        "4+4 behind m2 [9+23] behind m2 padding 0 [0]",
    ),
}


@pytest.mark.parametrize("case", MEMBERS)
def test_the_gaps_of_a_struct(case: str) -> None:
    members, expected = MEMBERS[case]
    assert shown(struct(members)) == expected


def test_a_hole_has_the_member_that_lies_before_it_not_the_one_declared_before() -> None:
    places = (("late", 9, 1), ("first", 0, 8), ("next", 12, 1))
    members = tuple(Member(name, "type", name, offset, size) for name, offset, size in places)
    layout = Layout(0, "rust", RecordKind.STRUCT, 16, members)
    assert shown(layout) == "8+1 behind m1 10+2 behind m0 padding 3 [0]"


def test_a_packed_bit_field_leaves_the_bits_of_its_last_byte_and_then_bytes(tmp_path: Path) -> None:
    layouts = read_layouts(compiled(tmp_path, PACKED)).layouts
    assert shown(layouts.variants("torn")[0]) == "[35+5] behind m1 padding 0 [0]"
    assert shown(layouts.variants("apart")[0]) == "5+3 behind m1 [35+5] behind m1 padding 0 [0]"


def test_a_union_has_no_gaps() -> None:
    assert gaps(union([Declared(1), Declared(8)])) == Gaps((), (), 0, 0)


def test_overlapping_members_of_damaged_debug_information_give_no_negative_gap() -> None:
    members = (Member("a", "long", "a", 8, 8), Member("b", "long", "b", 4, 8))
    assert shown(Layout(0, "damaged", RecordKind.STRUCT, 8, members)) == "0+4 behind m-1 padding 0 [0]"


# Cache lines of members, and the object phases in which two members share one

spans = st.builds(Span, st.integers(0, 300), st.integers(1, 150))
line_sizes = st.sampled_from((64, 128))
granules = st.sampled_from((1, 2, 4, 8, 16, 32, 64, 128, 192, 24, 680))


def bytes_meet(first: Span, second: Span, line_bytes: int, start: int) -> bool:
    mine = {(start + first.offset + byte) // line_bytes for byte in range(first.size)}
    return any((start + second.offset + byte) // line_bytes in mine for byte in range(second.size))


@given(spans, line_sizes)
def test_a_span_touches_the_lines_of_its_bytes(span: Span, line_bytes: int) -> None:
    touched = {line_of(span.offset + byte, line_bytes) for byte in range(span.size)}
    assert set(lines_touched(span.offset, span.size, line_bytes)) == touched
    assert list(lines_touched(span.offset, 0, line_bytes)) == []


@pytest.mark.parametrize(
    ("offset", "size", "expected"),
    [(56, 8, False), (60, 8, True), (32, 64, True), (0, 64, False), (0, 65, False), (64, 0, False)],
)
def test_only_what_would_fit_on_a_line_straddles(offset: int, size: int, expected: bool) -> None:
    assert straddles(offset, size) is expected


@given(spans, spans, line_sizes, granules)
def test_the_share_counts_object_starts(first: Span, second: Span, line_bytes: int, granule: int) -> None:
    starts = [number * granule for number in range(line_bytes)]
    met = sum(bytes_meet(first, second, line_bytes, start) for start in starts)
    assert meeting_phases(first, second, line_bytes, granule) == met / len(starts)


# Alignment and packing read off the offsets, where the producer stated none

# Compiled as DWARF 4, which has no word for an alignment.
SOURCES = Path(__file__).with_name("sources")
SOURCE = (SOURCES / "alignment.c").read_text()


@pytest.fixture(scope="module", params=["gcc", "clang-19"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LayoutTable:
    folder = tmp_path_factory.mktemp("alignment")
    built = compiled(folder, SOURCE, "-gdwarf-4", "-gstrict-dwarf", compiler=request.param)
    return LayoutTable(read_layouts(built).layouts)


def without_attributes(layout: Layout) -> Layout:
    """The same bytes as clang or a DWARF 4 producer describes them."""
    silent = tuple(replace(member, alignment=None) for member in layout.members)
    return replace(layout, members=silent, natural_alignment=max(member.natural_alignment for member in silent))


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
