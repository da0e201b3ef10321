# SPDX-License-Identifier: GPL-2.0-or-later
"""Holes and padding, in bytes and bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from c_layouts import Declared, struct, structs, union
from c_source import compiled
from hypothesis import given
from hypothesis.strategies import randoms

from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.gaps import Gaps, gaps
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
