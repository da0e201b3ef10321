# SPDX-License-Identifier: GPL-2.0-or-later
"""What a function or an instruction touches, and many instructions at once."""

from __future__ import annotations

import numpy as np
import pytest
from access.hand_written import LAYOUTS, Code, Row, raw
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.access.questions import NO_ROW, accesses_at, accesses_in, resolve, summary
from linesmith.analyzer.access.store import build
from linesmith.analyzer.base.errors import FunctionNotFound
from linesmith.analyzer.model import AccessKind, AccessOutcome, CodeAccess

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


def test_a_function_that_exists_inlined_only_is_found_where_its_copies_are() -> None:
    (found,) = accesses_in("link_one", MAP)
    assert [(one.function, one.address) for one in found.accesses] == [("insert", 0x108), ("insertion", 0x180)]


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


def test_outcomes_sum_to_the_accesses() -> None:
    found = summary(MAP)
    assert [outcome for outcome, _ in found.outcomes] == list(AccessOutcome)
    assert sum(count for _, count in found.outcomes) == found.accesses == found.kinds.total == len(ROWS)
    assert (found.resolved, found.resolvable, found.coverage) == (4, 4, 1.0)
