# SPDX-License-Identifier: GPL-2.0-or-later
"""Access paths through nested records, and members by the names that C code gives them from outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from c_layouts import nested
from c_source import compiled
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.gaps import Span
from linesmith.analyzer.layouts.leaves import flatten, leaf_at, leaves_at, nameable, named
from linesmith.analyzer.model import Entered, Layout, Leaf, Member, MemberCategory, RecordKind

STRUCT, UNION = RecordKind.STRUCT, RecordKind.UNION


def scalar(name: str, offset: int, size: int, *dimensions: int) -> Member:
    return Member(name, "int", name, offset, size, dimensions=dimensions)


def holding(name: str, record: Layout, offset: int, *dimensions: int) -> Member:
    size = record.size
    for extent in dimensions:
        size *= extent
    return Member(
        name, record.title, name, offset, size, dimensions=dimensions, category=MemberCategory.RECORD, record=record.id
    )


ATOMIC = Layout(0, "atomic_t", STRUCT, 4, (scalar("counter", 0, 4),), typedef=True)
BYTES = Layout(1, "", STRUCT, 2, (scalar("locked", 0, 1), scalar("pending", 1, 1)))
HALVES = Layout(2, "", STRUCT, 4, (scalar("locked_pending", 0, 2), scalar("tail", 2, 2)))
WORD = Layout(3, "", UNION, 4, (holding("val", ATOMIC, 0), holding("", BYTES, 0), holding("", HALVES, 0)))
SPINLOCK = Layout(4, "spinlock", STRUCT, 4, (holding("", WORD, 0),))
NODE = Layout(5, "node", STRUCT, 16, (scalar("left", 0, 8), scalar("right", 8, 8)))
ROOT = Layout(6, "root", STRUCT, 8, (scalar("node", 0, 8),))
CACHED = Layout(7, "cached_root", STRUCT, 16, (holding("root", ROOT, 0), scalar("leftmost", 8, 8)))
REFERENCE = Layout(8, "", STRUCT, 8, (holding("lock", SPINLOCK, 0), scalar("count", 4, 4)))
BOTH = Layout(9, "", UNION, 8, (scalar("lock_count", 0, 8), holding("", REFERENCE, 0)))
LOCKREF = Layout(10, "lockref", STRUCT, 8, (holding("", BOTH, 0),))
VEC = Layout(11, "vec", STRUCT, 16, (holding("count", ATOMIC, 0), scalar("mask", 8, 8)))
INNER = (ATOMIC, BYTES, HALVES, WORD, SPINLOCK, NODE, ROOT, CACHED, REFERENCE, BOTH, LOCKREF, VEC)


def outer(*members: Member, size: int = 64) -> tuple[Layout, LayoutTable]:
    layout = Layout(99, "outer", STRUCT, size, members)
    return layout, LayoutTable([*INNER, layout])


def paths(leaves: tuple[Leaf, ...]) -> str:
    return " ".join(f"{leaf.path}@{leaf.offset}+{leaf.size}" for leaf in leaves)


FLAT = {
    "a wrapper of one word is one leaf": (holding("tree", CACHED, 24), "tree.root@24+8 tree.leftmost@32+8"),
    "views of one word are one leaf": (holding("guard", SPINLOCK, 8), "guard@8+4"),
    "a union gives all its alternatives": (
        holding("reference", LOCKREF, 8),
        "reference.lock_count@8+8 reference.lock@8+4 reference.count@12+4",
    ),
    "anonymous records leave no trace": (holding("", HALVES, 4), "locked_pending@4+2 tail@6+2"),
    "of an array of records the first element": (holding("vecs", VEC, 0, 4), "vecs[0].count@0+4 vecs[0].mask@8+8"),
}


@pytest.mark.parametrize("case", FLAT)
def test_leaves_of_a_member(case: str) -> None:
    member, expected = FLAT[case]
    assert paths(flatten(*outer(member))) == expected


TAIL = Member("tail", "vec", "tail[]", 8, 0, flexible=True, category=MemberCategory.RECORD, record=VEC.id)
NODES = Member("nodes", "type *", "nodes[]", 8, 0, 8, flexible=True, category=MemberCategory.POINTER)
KEY = Member("key", "u8", "key[0]", 8, 0, dimensions=(0,))
MARK = Member("mark", "u8", "mark[0]", 4, 0, dimensions=(0,))
COUNT = scalar("count", 0, 4)
# Bits 70 to 80 of the record, in a word that begins with bit 64.
FIELD = Member("field", "long", "field", 8, 8, 8, bit_offset=70, bit_size=11)
# Name of the case: members, size of the record, offset, the leaves there.
AT: dict[str, tuple[tuple[Member, ...], int, int, str]] = {
    "an element of an array": ((COUNT, holding("vecs", VEC, 8, 101)), 1624, 8 + 97 * 16 + 1, "vecs[97].count@1560+4"),
    "an array of arrays is indexed row by row": ((scalar("grid", 0, 48, 3, 4),), 64, 4 * 7, "grid[1][3]@28+4"),
    "so are three dimensions": ((scalar("cube", 0, 96, 2, 3, 4),), 96, 4 * 23, "cube[1][2][3]@92+4"),
    "a flexible array of pointers goes on behind the record": ((COUNT, NODES), 8, 20, "nodes[1]@16+8"),
    "so does one of records": ((COUNT, TAIL), 8, 8 + 5 * 16 + 8, "tail[5].mask@96+8"),
    "an array without elements at the end is open too": ((COUNT, KEY), 8, 12, "key[4]@12+1"),
    "in the middle it holds nothing": ((COUNT, MARK, scalar("flags", 4, 4)), 8, 4, "flags@4+4"),
    "nor behind the end": ((COUNT, MARK, scalar("flags", 4, 4)), 8, 12, ""),
    "nothing before the record": ((scalar("a", 0, 1), scalar("b", 8, 8)), 16, -1, ""),
    "nothing in a hole": ((scalar("a", 0, 1), scalar("b", 8, 8)), 16, 1, ""),
    "nor at its end": ((scalar("a", 0, 1), scalar("b", 8, 8)), 16, 7, ""),
    "nothing behind the record": ((scalar("a", 0, 1), scalar("b", 8, 8)), 16, 16, ""),
    "before the bytes that the bits of a field touch": ((FIELD,), 64, 7, ""),
    "the first byte that they touch": ((FIELD,), 64, 8, "field@8+8"),
    "the last byte that they touch": ((FIELD,), 64, 10, "field@8+8"),
    "behind the bytes that they touch": ((FIELD,), 64, 11, ""),
}


@pytest.mark.parametrize("case", AT)
def test_leaves_at_an_offset(case: str) -> None:
    members, size, offset, expected = AT[case]
    found = leaves_at(*outer(*members, size=size), offset)
    assert paths(found) == expected
    assert leaf_at(*outer(*members, size=size), offset) == (found[0] if found else None)


def test_the_chain_names_the_records_entered() -> None:
    leaf = flatten(*outer(holding("tree", CACHED, 24)))[0]
    assert leaf.chain == (("outer", 0), ("cached_root", 24), ("root", 24))


def test_an_open_array_in_an_empty_record_in_a_union_goes_on() -> None:
    wrapper = Layout(60, "", STRUCT, 0, (replace(TAIL, offset=0),))
    either = Layout(61, "", UNION, 0, (holding("", wrapper, 0),))
    layout = Layout(62, "outer", STRUCT, 8, (scalar("count", 0, 8), holding("", either, 8)))
    table = LayoutTable([VEC, wrapper, either, layout])
    assert paths(leaves_at(layout, table, 8 + 2 * 16 + 8)) == "tail[2].mask@48+8"


def test_the_records_that_a_word_is_wrapped_in_are_entered() -> None:
    inner = Layout(63, "raw", STRUCT, 4, (scalar("value", 0, 4),))
    lock = Layout(64, "lock", UNION, 4, (holding("raw", inner, 0),))
    layout = Layout(65, "outer", STRUCT, 16, (scalar("count", 0, 8), holding("guard", lock, 8)))
    (leaf,) = leaves_at(layout, LayoutTable([inner, lock, layout]), 8)
    assert leaf.entered == (Entered(65, 0, ""), Entered(64, 8, "guard"), Entered(63, 8, "guard"))


def test_a_bit_field_of_a_nested_record_counts_bits_from_the_outermost() -> None:
    on = Member("on", "u8", "on", 4, 1, bit_offset=33, bit_size=1)
    flags = Layout(50, "flags", STRUCT, 8, (on, scalar("x", 0, 4)))
    layout = Layout(51, "outer", STRUCT, 24, (holding("state", flags, 16),))
    leaf = flatten(layout, LayoutTable([flags, layout]))[0]
    assert (leaf.path, leaf.offset, leaf.bit_offset, leaf.bit_size) == ("state.on", 20, 161, 1)


def test_a_record_that_claims_to_hold_itself_is_a_leaf() -> None:
    endless = Layout(50, "endless", STRUCT, 8, (scalar("x", 0, 4), Member("self", "", "self", 0, 8, record=50)))
    assert paths(flatten(endless, LayoutTable([endless]))) == "x@0+4 self@0+8"


@given(nested())
def test_every_byte_of_a_leaf_leads_back_to_it(table: LayoutTable) -> None:
    outermost = list(table)[-1]
    for leaf in flatten(outermost, table):
        for offset in (leaf.offset, leaf.offset + leaf.size - 1):
            found = [one.path.partition("[")[0] for one in leaves_at(outermost, table, offset)]
            assert leaf.path.partition("[")[0] in found


@given(nested(), st.integers(-1, 2000))
def test_a_leaf_found_at_an_offset_holds_it(table: LayoutTable, offset: int) -> None:
    outermost = list(table)[-1]
    found = leaves_at(outermost, table, offset)
    assert all(leaf.offset <= offset < leaf.offset + leaf.size for leaf in found)
    assert all(leaf.chain[0] == (outermost.name, 0) for leaf in found)
    assert offset < outermost.size or not found


# Members are found by the names that C code gives them from outside

SOURCES = Path(__file__).with_name("sources")
SOURCE = (SOURCES / "naming.c").read_text()


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> LayoutTable:
    return LayoutTable(read_layouts(compiled(tmp_path_factory.mktemp("naming"), SOURCE)).layouts)


def span(layouts: LayoutTable, path: str) -> Span | None:
    found = named(layouts.variants("subject")[0], layouts, path)
    return found.span if found else None


PLACES = {
    "low": Span(8, 8),
    "parts.second": Span(20, 4),
    "table": Span(24, 96),
    "table[2]": Span(88, 32),
    "table[2][3].second": Span(116, 4),
    "one": Span(120, 1),
    "two": Span(120, 2),
}
NOTHING = ("", "nothing", "low.more", "table[3]", "table[0][0][0]", "head[0]", "own.", ".own", "own.inner" * 5000)


def test_members_are_found_through_anonymous_records_by_indices_and_bits(layouts: LayoutTable) -> None:
    assert {path: span(layouts, path) for path in PLACES} == PLACES
    assert [path[:20] for path in NOTHING if span(layouts, path) is not None] == []


def test_every_name_is_given_in_order_and_with_its_place(layouts: LayoutTable) -> None:
    names = [one.path for one in nameable(layouts.variants("subject")[0], layouts)]
    assert names == ["head", "low", "word", "parts", "table", "one", "two", "own"]


def test_another_order_of_the_members_has_places_of_its_own(layouts: LayoutTable) -> None:
    layout = layouts.variants("subject")[0]
    other = replace(layout, members=layout.members[::-1])
    for looked_at, first in ((layout, "head"), (other, "own"), (layout, "head")):
        assert next(nameable(looked_at, layouts)).path == first


@given(nested())
def test_a_name_leads_to_the_member_it_was_given_for(table: LayoutTable) -> None:
    for layout in table:
        for one in nameable(layout, table):
            assert named(layout, table, one.path) == one
