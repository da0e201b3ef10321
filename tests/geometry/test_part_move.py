# SPDX-License-Identifier: GPL-2.0-or-later
"""Members whose move within a part without a name makes the record smaller."""

from __future__ import annotations

import shutil
from dataclasses import replace

import c_layouts
import pytest
from c_source import compiled
from hand_made import held, scalar, struct, table, union
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.geometry import nameable
from linesmith.analyzer.geometry.part_move import Move, moves
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import FactKind, Layout, SourceFact

LONG, TAIL = scalar("l"), scalar("tail", 4)
HOLEY = struct("", scalar("head", 4), LONG, TAIL)
BEFORE, BEHIND = scalar("before"), scalar("behind")
AROUND = struct("any", BEFORE, held("", HOLEY), BEHIND)


def found(layout: Layout, *others: Layout, facts: tuple[SourceFact, ...] = ()) -> set[str]:
    every = moves(layout, table(layout, *others), facts)
    return {f"{one.name} behind {one.after}: {one.size}" for one in every}


def fact(kind: FactKind, *members: str) -> tuple[SourceFact, ...]:
    return (SourceFact(kind, members, "because"),)


def test_a_move_within_a_part_makes_all_of_it_smaller() -> None:
    assert found(AROUND, HOLEY) == {"tail behind head: 32", "l behind tail: 32"}


def test_moves_of_the_record_itself_are_there_as_well() -> None:
    layout = struct("any", scalar("first", 4), held("", HOLEY), scalar("late", 4))
    assert found(layout, HOLEY) == {"late behind first: 32", "tail behind head: 32", "l behind tail: 32"}


def test_parts_in_parts_are_looked_into() -> None:
    middle = struct("", scalar("outer"), held("", HOLEY))
    assert found(struct("any", held("", middle), BEHIND), middle, HOLEY) == {
        "tail behind head: 32",
        "l behind tail: 32",
    }


def test_of_a_union_the_largest_member_counts() -> None:
    other = struct("", scalar("x", 16), scalar("y"))
    small, large = union("", held("", HOLEY), scalar("word")), union("", held("", HOLEY), held("", other))
    assert found(struct("any", BEFORE, held("", small)), small, HOLEY) == {"tail behind head: 24", "l behind tail: 24"}
    assert found(struct("any", BEFORE, held("", large)), large, HOLEY, other) == set()


def test_what_alignment_fills_again_is_left() -> None:
    assert found(struct("any", BEFORE, held("", HOLEY), align=64), HOLEY) == set()


def test_a_part_that_is_there_twice_is_left() -> None:
    assert found(struct("any", held("", HOLEY), held("", HOLEY)), HOLEY) == set()


def test_a_part_whose_record_has_a_tag_is_left() -> None:
    """As with -fms-extensions: the record is there by itself, too, and so is a base of C++."""
    tagged = struct("tagged", scalar("head", 4), LONG, TAIL)
    assert found(struct("any", BEFORE, replace(held("", tagged), type="struct tagged")), tagged) == set()


def test_the_result_has_all_members_and_the_part_as_it_is_then() -> None:
    one = next(iter(moves(AROUND, table(AROUND, HOLEY))))
    layout, layouts = one.result
    assert [(each.path, each.offset) for each in nameable(layout, layouts)] == [
        ("before", 0),
        ("head", 8),
        ("tail", 12),
        ("l", 16),
        ("behind", 24),
    ]
    assert layouts.by_id(HOLEY.id).size == 16


@pytest.mark.parametrize(
    "told",
    [
        fact(FactKind.POSITIONAL, "behind"),
        fact(FactKind.POSITIONAL, "before", "behind"),
        fact(FactKind.RANGE, "tail", "behind"),
        fact(FactKind.TOGETHER, "before", "head"),
        fact(FactKind.OFFSET, "l", "tail"),
    ],
)
def test_what_the_source_relies_on_stays(told: tuple[SourceFact, ...]) -> None:
    assert found(AROUND, HOLEY, facts=told) == set()


@pytest.mark.parametrize("told", [fact(FactKind.POSITIONAL, "before"), fact(FactKind.RANGE, "before", "behind")])
def test_what_is_relied_on_elsewhere_lets_the_part_be_rearranged(told: tuple[SourceFact, ...]) -> None:
    assert found(AROUND, HOLEY, facts=told)


PARTS = st.sampled_from(
    ("struct {{ {} }};", "union {{ struct {{ {} }}; long other; }};", "struct {{ struct {{ {} }}; }};")
)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@settings(max_examples=15)
@given(c_layouts.lists_of_plain, PARTS)
def test_a_compiler_gives_the_size_that_is_promised(
    tmp_path_factory: pytest.TempPathFactory, declared: list[c_layouts.Declared], part: str
) -> None:
    folder = tmp_path_factory.mktemp("c")
    texts = {f"m{n}": f"{c_layouts.TYPES[one.unit]} m{n}[{one.count}];" for n, one in enumerate(declared)}

    def sized(orders: list[list[str]]) -> list[tuple[Layout, Layouts]]:
        records = (part.format(" ".join(texts[name] for name in order)) for order in orders)
        source = "".join(f"struct r{n} {{ int a; {one} char z; }} v{n};\n" for n, one in enumerate(records))
        every = read_layouts(compiled(folder, source)).layouts
        return [(every.variants(f"r{n}")[0], every) for n in range(len(orders))]

    ((layout, layouts),) = sized([list(texts)])
    every = [one for one in moves(layout, layouts) if one.part]
    if every:
        assert [each.size for each, _ in sized([names(one) for one in every])] == [one.size for one in every]


def names(move: Move) -> list[str]:
    return [member.name for member in move.single.order]
