# SPDX-License-Identifier: GPL-2.0-or-later
"""Who touches what: by function, instruction and type, many instructions at once, and the numbers of kinds."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import numpy as np
import pytest
from access.hand_written import LAYOUTS, LOCK, NODE, OUTER, Code, Row, raw
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import (
    NO_ROW,
    accesses_at,
    accesses_in,
    accesses_of,
    resolve,
    summary,
    touching,
)
from linesmith.analyzer.access.store import build
from linesmith.analyzer.base.errors import FunctionNotFound
from linesmith.analyzer.model import AccessCounts, AccessKind, AccessOutcome, CodeAccess, Layout

CODE = (Code("insert", 0x100, 0x140), Code("insert.isra.0", 0x140, 0x180), Code("insertion", 0x180, 0x1C0))
CHAINS = ((), ("link", "link_one"), ("unused",))
ROWS = (
    Row(0x100, 0, 2, 24, 4, line=7),
    Row(0x108, 0, 1, 0, 8, AccessKind.WRITE, chain=1, line=9),
    Row(0x110, 0, 0, outcome=AccessOutcome.STACK),
    Row(0x110, 0, 0, kind=AccessKind.WRITE, outcome=AccessOutcome.STACK),
    Row(0x148, 1, 1, 16, 4, AccessKind.ATOMIC, AccessOutcome.GLOBAL, variable=1),
    Row(0x180, 2, 3, 8, 4, chain=1),
)
MAP = build(raw(ROWS, CODE, CHAINS), LAYOUTS)


def test_an_access_with_all_that_is_known() -> None:
    first, second = accesses_in("insert", MAP)[0].accesses[:2]
    assert first == CodeAccess(
        *(0x100, "insert", 0, AccessKind.READ, 4, AccessOutcome.PROPAGATION),
        *((), "lib/node.c", 7, "struct outer", 24, "node.count"),
    )
    assert (second.inlined, second.place, second.into) == (("link", "link_one"), "struct node.next", 8)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        # With its clones and no others; in all copies where it exists inlined only; with the part that is cold.
        ("insert", [("insert", 0x100, 4), ("insert.isra.0", 0x140, 1)]),
        ("link_one", [("link_one", None, 2)]),
        ("insertion", [("insertion", 0x180, 1)]),
        ("insertion.cold", [("insertion", 0x180, 1)]),
    ],
)
def test_a_function_has_clones_copies_and_parts(name: str, found: list[tuple[str, int | None, int]]) -> None:
    assert [(one.function, one.low, len(one.accesses)) for one in accesses_in(name, MAP)] == found


def test_what_is_no_record_has_a_type_and_no_member() -> None:
    (access,) = accesses_in("insertion", MAP)[0].accesses
    assert (access.type, access.offset, access.path, access.place) == ("int", 8, "", "int+0x8")


@pytest.mark.parametrize("name", ["insort", "unused"])
def test_an_unknown_function_is_told_with_near_names(name: str) -> None:
    with pytest.raises(FunctionNotFound, match="no function '" + name):
        accesses_in(name, MAP)


@pytest.mark.parametrize("place", ["0x148", "328", "insert.isra.0+0x8", "insert.isra.0+8/0x40"])
def test_an_instruction_by_address_or_symbol(place: str) -> None:
    (found,) = accesses_at(place, MAP)
    assert (found.address, found.function, found.into) == (0x148, "insert.isra.0", 8)
    assert [(one.variable, one.place) for one in found.accesses] == [("first_node", "struct node.count")]


def test_a_symbol_stands_for_every_function_of_its_name_and_a_part_apart_for_its_function() -> None:
    assert [one.address for one in accesses_at("insert+0x8", MAP)] == [0x108, 0x148]
    (found,) = accesses_at("0x900", build(raw((Row(0x900, 0, 1),), CODE), LAYOUTS))
    assert (found.function, found.into, len(found.accesses)) == ("insert", None, 1)
    with pytest.raises(FunctionNotFound, match="is a part of a function"):
        accesses_at("insertion.cold+0x4", MAP)


def test_an_instruction_may_have_two_accesses_or_none_and_then_shows_the_one_before() -> None:
    (found,) = accesses_at("0x110", MAP)
    assert [one.kind for one in found.accesses] == [AccessKind.READ, AccessKind.WRITE]
    (found,) = accesses_at("0x112", MAP)
    assert (found.accesses, [one.address for one in found.before]) == ((), [0x110, 0x110])
    (entry,) = accesses_at("0x142", MAP)
    assert (entry.accesses, entry.before) == ((), ())


@pytest.mark.parametrize(
    "place", ["0x99", "0x1c0", "-1", "0x1ffffffffffffffff", "insert+0x200", "link+0x1", "insert+x", ""]
)
def test_a_place_without_code_is_an_error(place: str) -> None:
    with pytest.raises(FunctionNotFound):
        accesses_at(place, MAP)


@given(st.lists(st.integers(0xF0, 0x1D0)))
def test_resolving_many_is_resolving_each(addresses: list[int]) -> None:
    expected = [next((number for number, row in enumerate(ROWS) if row.address == one), NO_ROW) for one in addresses]
    assert resolve(np.array(addresses, np.uint64), MAP).tolist() == expected


def test_resolving_in_an_empty_map() -> None:
    empty = build(raw((), CODE), LAYOUTS)
    assert resolve(np.array([1, 2], np.uint64), empty).tolist() == [NO_ROW, NO_ROW]
    assert summary(empty).coverage == 1


# Who touches a type: also by way of outer types, and with accesses that are wider than a member

TWO = (Code("reader", 0x100, 0x140), Code("writer", 0x140, 0x180))
HOLE, OUTSIDE = AccessOutcome.HOLE, AccessOutcome.OUTSIDE
Shown = dict[str, tuple[AccessCounts, list[str]]]


def mapped(*rows: Row) -> AccessMap:
    return build(raw(rows, TWO), LAYOUTS)


def members(layout: Layout, accesses: AccessMap) -> Shown:
    found = accesses_of(layout, LAYOUTS, accesses)
    return {one.path: (one.counts, [each.function for each in one.functions]) for one in found.members}


def test_members_with_their_kinds_and_functions() -> None:
    accesses = mapped(
        Row(0x100, 0, 1, 16, 4),
        Row(0x104, 0, 1, 16, 4, AccessKind.READ_WRITE),
        Row(0x140, 1, 1, 16, 4, AccessKind.ATOMIC),
        Row(0x144, 1, 1, 0, 8, AccessKind.WRITE),
    )
    assert members(NODE, accesses) == {
        "next": (AccessCounts(writes=1), ["writer"]),
        "count": (AccessCounts(reads=1, updates=1, atomics=1), ["reader", "writer"]),
    }


def test_what_is_known_as_part_of_an_outer_type_counts_for_the_inner_one() -> None:
    accesses = mapped(Row(0x100, 0, 2, 24, 4), Row(0x104, 0, 1, 16, 4))
    assert members(NODE, accesses) == {"count": (AccessCounts(reads=2), ["reader"])}
    (embedding,) = accesses_of(NODE, LAYOUTS, accesses).embeddings
    assert (embedding.type, embedding.path, embedding.offset, embedding.accesses) == ("struct outer", "node", 8, 1)


def test_a_record_that_is_one_word_is_found_where_it_lies_deep() -> None:
    accesses = mapped(Row(0x100, 0, 2, 16, 4, AccessKind.ATOMIC))
    assert members(LOCK, accesses) == {"word": (AccessCounts(atomics=1), ["reader"])}
    assert [one.path for one in accesses_of(LOCK, LAYOUTS, accesses).embeddings] == ["node.guard"]
    assert list(members(OUTER, accesses)) == ["node.guard"]


def test_a_wide_access_counts_for_every_member_and_once_in_the_sum() -> None:
    accesses = mapped(Row(0x140, 1, 1, 16, 8, AccessKind.WRITE))
    assert list(members(NODE, accesses)) == ["count", "total"]
    assert accesses_of(NODE, LAYOUTS, accesses).counts == AccessCounts(writes=1)
    # From before the inner type it reaches into it; of an unknown width it touches what begins there.
    assert list(members(NODE, mapped(Row(0x140, 1, 2, 0, 16, AccessKind.WRITE)))) == ["next"]
    assert list(members(NODE, mapped(Row(0x100, 0, 1, 16, 0)))) == ["count"]


def test_only_resolved_accesses_to_members_of_the_type_count() -> None:
    hole, outside = (Row(0x100, 0, 1, at, 4, outcome=one) for at, one in ((12, HOLE), (400, OUTSIDE)))
    accesses = mapped(hole, outside)
    assert accesses_of(NODE, LAYOUTS, accesses).counts == AccessCounts()
    assert members(NODE, accesses) == {}
    found = accesses_of(NODE, LAYOUTS, mapped(Row(0x100, 0, 1, 12, 4)))
    assert (found.members, found.elsewhere) == ((), AccessCounts(reads=1))
    # An array of the type is no other type.
    array = mapped(Row(0x100, 0, 3, 4, 4))
    assert [members(layout, array) for layout in (LOCK, NODE, OUTER)] == [{}, {}, {}]


def test_bytes_of_a_member_are_those_of_all_that_lies_in_it() -> None:
    accesses = mapped(Row(0x100, 0, 2, 24, 4), Row(0x140, 1, 2, 16, 4, AccessKind.WRITE))
    touched = touching(OUTER, accesses)
    assert touched(8, 24).counts == AccessCounts(reads=1, writes=1)
    assert (touched(8, 24).readers, touched(8, 24).writers) == (("reader",), ("writer",))
    assert touched(0, 8).counts == AccessCounts()


def test_functions_of_one_name_are_told_as_one() -> None:
    accesses = build(
        raw((Row(0x100, 0, 1), Row(0x140, 1, 1)), (Code("same", 0x100, 0x140), Code("same", 0x140, 0x180))), LAYOUTS
    )
    assert members(NODE, accesses) == {"next": (AccessCounts(reads=2), ["same"])}


# Kinds and outcomes are numbers on the native side: the order must be that of the header

NATIVE = Path(__file__).resolve().parents[2] / "analyzer" / "native"


def enumerators(header: str, name: str) -> list[str]:
    """The names of an enumeration in C++, as Python spells names."""
    body = re.search(rf"enum class {name} [^{{]*{{(.*?)}};", (NATIVE / header).read_text(), re.DOTALL)
    assert body
    names = re.findall(r"\bk([A-Z]\w*)", re.sub(r"//.*", "", body[1]))
    return [re.sub(r"(?<!^)(?=[A-Z])", "_", one).upper() for one in names]


@pytest.mark.skipif(not NATIVE.is_dir(), reason="the sources of the native core are in a checkout only")
@pytest.mark.parametrize(
    ("header", "name", "kind"),
    [("code/machine_code.h", "AccessKind", AccessKind), ("inference/type_inference.h", "Outcome", AccessOutcome)],
)
def test_both_sides_count_alike(header: str, name: str, kind: type[StrEnum]) -> None:
    assert [one.name for one in kind] == enumerators(header, name)
