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

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.layouts.single_moves import ShrinkingMove, moves
from linesmith.analyzer.model import FactKind, Layout, SourceFact

LONG, TAIL = scalar("l"), scalar("tail", 4)
HOLEY = struct("", scalar("head", 4), LONG, TAIL)
BEFORE, BEHIND = scalar("before"), scalar("behind")
AROUND = struct("any", BEFORE, held("", HOLEY), BEHIND)


def found(layout: Layout, *others: Layout, facts: tuple[SourceFact, ...] = ()) -> set[str]:
    every = moves(layout, table(layout, *others), facts)
    return {f"{one.name} behind {one.after}: {one.size}" for one in every}


MOVED = {"tail behind head: 32", "l behind tail: 32"}
SMALLER = {"tail behind head: 24", "l behind tail: 24"}
MIDDLE = struct("", scalar("outer"), held("", HOLEY))
OTHER = struct("", scalar("x", 16), scalar("y"))
SMALL, LARGE = union("", held("", HOLEY), scalar("word")), union("", held("", HOLEY), held("", OTHER))
TAGGED = struct("tagged", scalar("head", 4), LONG, TAIL)
BY_TAG = replace(held("", TAGGED), type="struct tagged")

# Name of the case: the record, and each move with the size it leads to.
CASES: dict[str, tuple[Layout, set[str]]] = {
    "a move within a part makes all of it smaller": (AROUND, MOVED),
    "so does one of the record itself": (
        struct("any", scalar("first", 4), held("", HOLEY), scalar("late", 4)),
        {"late behind first: 32", *MOVED},
    ),
    "parts in parts are looked into": (struct("any", held("", MIDDLE), BEHIND), MOVED),
    "of a union the largest member counts": (struct("any", BEFORE, held("", SMALL)), SMALLER),
    "and not another one": (struct("any", BEFORE, held("", LARGE)), set()),
    "what alignment fills again is left": (struct("any", BEFORE, held("", HOLEY), align=64), set()),
    "a part that is there twice is left": (struct("any", held("", HOLEY), held("", HOLEY)), set()),
    # As with -fms-extensions: the record is there by itself, too, and so is a base of C++.
    "a part whose record has a tag is left": (struct("any", BEFORE, BY_TAG), set()),
}


@pytest.mark.parametrize("case", CASES)
def test_moves_within_parts_that_make_the_record_smaller(case: str) -> None:
    layout, expected = CASES[case]
    assert found(layout, HOLEY, MIDDLE, OTHER, SMALL, LARGE, TAGGED) == expected


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
    ("kind", "members", "moved"),
    [
        (FactKind.POSITIONAL, ("behind",), set()),
        (FactKind.POSITIONAL, ("before", "behind"), set()),
        (FactKind.RANGE, ("tail", "behind"), set()),
        (FactKind.TOGETHER, ("before", "head"), set()),
        (FactKind.OFFSET, ("l", "tail"), set()),
        (FactKind.POSITIONAL, ("before",), MOVED),
        (FactKind.RANGE, ("before", "behind"), MOVED),
    ],
)
def test_what_the_source_relies_on_stays_and_the_rest_moves(
    kind: FactKind, members: tuple[str, ...], moved: set[str]
) -> None:
    assert found(AROUND, HOLEY, facts=(SourceFact(kind, members, "because"),)) == moved


PARTS = st.sampled_from(
    ("struct {{ {} }};", "union {{ struct {{ {} }}; long other; }};", "struct {{ struct {{ {} }}; }};")
)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@settings(max_examples=6)
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


def names(move: ShrinkingMove) -> list[str]:
    return [member.name for member in move.single.order]
