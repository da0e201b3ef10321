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

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.geometry import BitHole, Gaps, Hole, gaps
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


@given(structs)
def test_bit_holes_never_reach_a_storage_unit(layout: Layout) -> None:
    units = {one.size * 8 for one in layout.members if one.is_bit_field}
    assert all(hole.bits < max(units) for hole in gaps(layout).bit_holes)


TORN = "unsigned low : 5, high : 30;"
PACKED = f"""
struct torn {{ {TORN} char next; }} __attribute__((packed)) torn;
struct apart {{ {TORN} long next __attribute__((aligned(8))); }} __attribute__((packed)) apart;
"""
MEMBERS: dict[str, tuple[list[Declared], Gaps]] = {
    "a hole has the member before it": ([Declared(1), Declared(8)], Gaps((Hole(1, 7, 0),), (), 0, 0)),
    "padding is no hole": ([Declared(8), Declared(1)], Gaps((), (), 7, 0)),
    "a bit-field leaves bits, then bytes": (
        [Declared(1, bits=2), Declared(8)],
        Gaps((Hole(1, 7, 0),), (BitHole(2, 6, 0),), 0, 0),
    ),
    "a plain member may take the rest of a storage unit": (
        [Declared(4, bits=13), Declared(2), Declared(4)],
        Gaps((), (BitHole(13, 3, 0),), 0, 0),
    ),
    "a bit-field that needs the next unit leaves bytes": (
        [Declared(1, count=7), Declared(4, bits=30)],
        Gaps((Hole(7, 1, 0),), (), 0, 2),
    ),
    "bits left at the end are bit padding": ([Declared(8), Declared(4, bits=5)], Gaps((), (), 4, 27)),
    "a narrower unit inside a wider one ends with the wider one": (
        [Declared(4, bits=7), Declared(1, bits=1), Declared(1, bits=1), Declared(8)],
        Gaps((Hole(4, 4, 2),), (BitHole(9, 23, 2),), 0, 0),
    ),
}


@pytest.mark.parametrize("case", MEMBERS)
def test_the_gaps_of_a_struct(case: str) -> None:
    members, expected = MEMBERS[case]
    assert gaps(struct(members)) == expected


def test_a_hole_has_the_member_that_lies_before_it_not_the_one_declared_before() -> None:
    places = (("late", 9, 1), ("first", 0, 8), ("next", 12, 1))
    members = tuple(Member(name, "type", name, offset, size) for name, offset, size in places)
    found = gaps(Layout(0, "rust", RecordKind.STRUCT, 16, members))
    assert (found.holes, found.padding) == ((Hole(8, 1, 1), Hole(10, 2, 0)), 3)


def test_a_packed_bit_field_leaves_the_bits_of_its_last_byte_and_then_bytes(tmp_path: Path) -> None:
    layouts = read_layouts(compiled(tmp_path, PACKED)).layouts
    assert gaps(layouts.variants("torn")[0]) == Gaps((), (BitHole(35, 5, 1),), 0, 0)
    assert gaps(layouts.variants("apart")[0]) == Gaps((Hole(5, 3, 1),), (BitHole(35, 5, 1),), 0, 0)


def test_a_union_has_no_gaps() -> None:
    assert gaps(union([Declared(1), Declared(8)])) == Gaps((), (), 0, 0)


def test_overlapping_members_of_damaged_debug_information_give_no_negative_gap() -> None:
    members = (Member("a", "long", "a", 8, 8), Member("b", "long", "b", 4, 8))
    found = gaps(Layout(0, "damaged", RecordKind.STRUCT, 8, members))
    assert found == Gaps((Hole(0, 4, -1),), (), 0, 0)
