# SPDX-License-Identifier: GPL-2.0-or-later
"""Members whose move makes a record smaller: what is found, what is left alone, and that C agrees."""

from __future__ import annotations

import shutil
from dataclasses import replace

import c_layouts
import pytest
from c_source import compiled
from hand_made import bits, flexible, held, scalar, struct, table, union
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.gaps import with_inferred_alignment
from linesmith.analyzer.layouts.leaves import nameable
from linesmith.analyzer.layouts.placement import place, refusal
from linesmith.analyzer.layouts.single_moves import ShrinkingMove
from linesmith.analyzer.layouts.single_moves import moves as shrinking_moves
from linesmith.analyzer.model import FactKind, Layout, Member, RecordKind, SourceFact

INT, LONG = scalar("i", 4), scalar("l")
TAIL = scalar("tail", 4)


def moves(layout: Layout, *others: Layout, facts: tuple[SourceFact, ...] = (), kept: tuple[str, ...] = ()) -> set[str]:
    found = shrinking_moves(layout, table(layout, *others), facts, kept)
    return {f"{one.name} behind {one.after}: {one.size}" for one in found}


def holey(*between: Member) -> Layout:
    """``head`` and a hole of four bytes, then ``l``; the padding behind ``tail`` is what a move gives back."""
    return struct("holey", scalar("head", 4), *between, LONG, TAIL)


MARK = scalar("mark", 0, dimensions=(0,))
HEAD = scalar("head", 4)
OPEN = struct("part", scalar("n", 4), scalar("flags", 4), flexible("rest"))
MARKED = struct("part", scalar("n", 4), MARK, scalar("flags", 4))
UNION = union("", scalar("x", 4), scalar("y", 2))
BEGIN, END = scalar("__cacheline_group_begin__tx", 0), scalar("__cacheline_group_end__tx", 0)
PACKED = Layout(1, "packed", RecordKind.STRUCT, 15, (*holey().members[:2], scalar("t", 3)))

# Name of the case: the members, and each move with the size it leads to.
CASES: dict[str, tuple[list[Member], set[str]]] = {
    "a hole is filled from behind or closed": ([HEAD, LONG, TAIL], {"tail behind head: 16", "l behind tail: 16"}),
    "a member beside a hole moves to the end": (
        [LONG, scalar("first", 4), scalar("second"), TAIL],
        {"tail behind first: 24", "first behind tail: 24", "second behind tail: 24", "second behind l: 24"},
    ),
    "a member behind a hole moves to where there is none": (
        [scalar("a", 1), scalar("moved"), scalar("c", 1), scalar("d", 4)],
        {"moved behind d: 16"},
    ),
    "a record without holes is left": ([scalar("a"), scalar("b")], set()),
    "the first member stays": (
        [scalar("first", 4), LONG, scalar("b"), scalar("c", 4), scalar("d")],
        {"c behind first: 32"},
    ),
    "nothing moves behind an open array": (
        [LONG, scalar("middle", 4), scalar("b"), scalar("n", 4), flexible("rest", 1)],
        {"n behind middle: 24", "b behind l: 24", "b behind n: 24"},
    ),
    "a move may end in front of a marker": (
        [HEAD, LONG, TAIL, MARK, scalar("b")],
        {"tail behind head: 24", "l behind tail: 24"},
    ),
    "no hole in front of a marker is filled from behind": ([HEAD, MARK, LONG, TAIL], set()),
    "nothing moves past a record that ends in an open array": ([HEAD, LONG, held("part", OPEN), TAIL], set()),
    "a marker inside a record does not keep others from passing it": (
        [HEAD, LONG, held("part", MARKED), TAIL],
        {"tail behind head: 32"},
    ),
    "nothing moves into a cacheline group": ([LONG, BEGIN, scalar("x", 4), scalar("y"), END, TAIL], set()),
}


@pytest.mark.parametrize("case", CASES)
def test_moves_that_make_a_record_smaller(case: str) -> None:
    members, expected = CASES[case]
    assert moves(struct("any", *members), OPEN, MARKED) == expected


def test_a_hole_that_alignment_alone_fills_again_is_left() -> None:
    """The padding of a record that is aligned to a line stays, wherever the last member stands."""
    assert moves(struct("any", HEAD, LONG, TAIL, align=64)) == set()


@pytest.mark.parametrize(
    "wall", [scalar("hot", 8, align=64), MARK, bits("flags", 3)], ids=["line", "marker", "bit-field"]
)
def test_nothing_moves_past_what_parts_a_record(wall: Member) -> None:
    layout = struct("any", HEAD, LONG, wall, scalar("b"), TAIL, scalar("e"))
    assert all("behind head" not in move and not move.startswith("l ") for move in moves(layout))


def test_what_the_user_or_the_source_keeps_stays_and_is_passed() -> None:
    assert moves(holey(), kept=("tail", "l")) == set()
    assert moves(holey(), kept=("l",)) == {"tail behind head: 16"}
    for kind, members in ((FactKind.OFFSET, ("l",)), (FactKind.POSITIONAL, ("tail",)), (FactKind.RANGE, ("l", "tail"))):
        assert moves(holey(), facts=(SourceFact(kind, members, "because"),)) == set()
    first = SourceFact(FactKind.POSITIONAL, ("head",), "an initialiser without names")
    assert moves(holey(), facts=(first,)) == moves(holey())


def test_unions_packed_records_and_those_of_user_space_are_left() -> None:
    shared = replace(holey(), file="include/uapi/linux/any.h")
    assert [moves(one) for one in (union("any", INT, LONG), PACKED, shared)] == [set()] * 3


def test_an_anonymous_union_is_passed_but_not_moved() -> None:
    layout = struct("any", HEAD, LONG, held("", UNION), TAIL, scalar("late"), scalar("more", 4))
    assert {move.split()[0] for move in moves(layout, UNION)} <= {"tail", "more"}


def every_single_move(layout: Layout) -> list[int]:
    """Sizes that all moves of one plain member, but for the first, to any place but the front give, by brute force."""
    members = with_inferred_alignment(layout).members
    orders = (_moved(members, moved, spot) for moved in range(1, len(members)) for spot in range(1, len(members)))
    return [place(order, layout.alignment).size for order in orders]


def _moved(members: tuple[Member, ...], moved: int, spot: int) -> list[Member]:
    rest = [member for number, member in enumerate(members) if number != moved]
    return [*rest[:spot], members[moved], *rest[spot:]]


@given(c_layouts.structs)
def test_each_move_is_what_the_rules_of_c_give(layout: Layout) -> None:
    for move in shrinking_moves(layout, table(layout)):
        result, _ = move.result
        names = [member.name for member in result.members]
        assert sorted(names) == sorted(member.name for member in layout.members)
        assert names[names.index(move.after) + 1] == move.name
        assert names[0] == layout.members[0].name
        assert result.size == move.size < layout.size
        assert refusal(result) is None


@given(c_layouts.lists_of_plain.map(c_layouts.struct))
def test_no_smaller_size_is_missed(layout: Layout) -> None:
    found = [move.size for move in shrinking_moves(layout, table(layout))]
    assert min(found, default=layout.size) == min([layout.size, *every_single_move(layout)])


# Moves within a part without a name

WORD, LATE = scalar("l"), scalar("tail", 4)
HOLEY = struct("", scalar("head", 4), WORD, LATE)
BEFORE, BEHIND = scalar("before"), scalar("behind")
AROUND = struct("any", BEFORE, held("", HOLEY), BEHIND)


MOVED = {"tail behind head: 32", "l behind tail: 32"}
SMALLER = {"tail behind head: 24", "l behind tail: 24"}
MIDDLE = struct("", scalar("outer"), held("", HOLEY))
OTHER = struct("", scalar("x", 16), scalar("y"))
SMALL, LARGE = union("", held("", HOLEY), scalar("word")), union("", held("", HOLEY), held("", OTHER))
TAGGED = struct("tagged", scalar("head", 4), WORD, LATE)
BY_TAG = replace(held("", TAGGED), type="struct tagged")

# Name of the case: the record, and each move with the size it leads to.
IN_PARTS: dict[str, tuple[Layout, set[str]]] = {
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


@pytest.mark.parametrize("case", IN_PARTS)
def test_moves_within_parts_that_make_the_record_smaller(case: str) -> None:
    layout, expected = IN_PARTS[case]
    assert moves(layout, HOLEY, MIDDLE, OTHER, SMALL, LARGE, TAGGED) == expected


def test_the_result_has_all_members_and_the_part_as_it_is_then() -> None:
    one = next(iter(shrinking_moves(AROUND, table(AROUND, HOLEY))))
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
def test_what_the_source_relies_on_stays(kind: FactKind, members: tuple[str, ...], moved: set[str]) -> None:
    assert moves(AROUND, HOLEY, facts=(SourceFact(kind, members, "because"),)) == moved


PARTS = st.sampled_from(
    ("struct {{ {} }};", "union {{ struct {{ {} }}; long other; }};", "struct {{ struct {{ {} }}; }};")
)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@settings(max_examples=6)
@given(c_layouts.lists_of_plain, PARTS)
def test_a_compiler_gives_the_size(
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
    every = [one for one in shrinking_moves(layout, layouts) if one.part]
    if every:
        assert [each.size for each, _ in sized([names(one) for one in every])] == [one.size for one in every]


def names(move: ShrinkingMove) -> list[str]:
    return [member.name for member in move.single.order]
