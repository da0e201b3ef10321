# SPDX-License-Identifier: GPL-2.0-or-later
"""Members whose move makes a record smaller: what is found, what is left alone, and that C agrees."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import c_layouts
import pytest
from hand_made import bits, flexible, held, scalar, struct, table, union
from hypothesis import given, settings

from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import place, refusal
from linesmith.analyzer.geometry.single_move import SingleMove, shrinking_moves
from linesmith.analyzer.model import FactKind, Layout, Member, SourceFact

CHAR, INT, LONG = scalar("c", 1), scalar("i", 4), scalar("l")
TAIL = scalar("tail", 4)


def moves(layout: Layout, *others: Layout, facts: tuple[SourceFact, ...] = (), kept: tuple[str, ...] = ()) -> set[str]:
    found = shrinking_moves(layout, table(layout, *others), facts, kept)
    return {f"{one.name} behind {one.after}: {one.size}" for one in found}


def holey(*between: Member) -> Layout:
    """``head`` and a hole of four bytes, then ``l``; the padding behind ``tail`` is what a move gives back."""
    return struct("holey", scalar("head", 4), *between, LONG, TAIL)


def test_a_hole_is_filled_from_behind_or_closed() -> None:
    assert moves(holey()) == {"tail behind head: 16", "l behind tail: 16"}


def test_a_member_beside_a_hole_moves_to_the_end() -> None:
    layout = struct("any", LONG, scalar("first", 4), scalar("second"), TAIL)
    assert moves(layout) == {
        "tail behind first: 24", "first behind tail: 24", "second behind tail: 24", "second behind l: 24",
    }  # fmt: skip


def test_a_member_behind_a_hole_moves_to_where_there_is_none() -> None:
    layout = struct("any", scalar("a", 1), scalar("moved"), scalar("c", 1), scalar("d", 4), scalar("e"))
    assert "moved behind d: 24" in moves(layout)
    assert moves(struct("any", *layout.members[:-1])) == {"moved behind d: 16"}


def test_a_record_without_holes_is_left() -> None:
    assert moves(struct("any", scalar("a"), scalar("b"))) == set()


def test_a_hole_that_alignment_alone_fills_again_is_left() -> None:
    """The padding of a record that is aligned to a line stays, wherever the last member stands."""
    assert moves(struct("any", scalar("head", 4), LONG, TAIL, align=64)) == set()


def test_the_first_member_stays() -> None:
    assert moves(struct("any", scalar("first", 4), LONG, scalar("b"), scalar("c", 4), scalar("d"))) == {
        "c behind first: 32"
    }


@pytest.mark.parametrize(
    "wall",
    [scalar("hot", 8, align=64), scalar("mark", 0, dimensions=(0,)), bits("flags", 3)],
    ids=["line", "marker", "bit-field"],
)
def test_nothing_moves_past_what_parts_a_record(wall: Member) -> None:
    layout = struct("any", scalar("head", 4), LONG, wall, scalar("b"), TAIL, scalar("e"))
    assert all("behind head" not in move and not move.startswith("l ") for move in moves(layout))


def test_nothing_moves_behind_an_open_array() -> None:
    layout = struct("any", LONG, scalar("middle", 4), scalar("b"), scalar("n", 4), flexible("rest", 1))
    assert "n behind middle: 24" in moves(layout)
    assert all("behind rest" not in move for move in moves(layout))


def test_a_move_may_end_in_front_of_what_parts_a_record() -> None:
    mark = scalar("mark", 0, dimensions=(0,))
    assert "l behind tail: 24" in moves(struct("any", scalar("head", 4), LONG, TAIL, mark, scalar("b")))


def test_no_hole_in_front_of_what_parts_a_record_is_filled_from_behind() -> None:
    mark = scalar("mark", 0, dimensions=(0,))
    assert moves(struct("any", scalar("head", 4), mark, LONG, TAIL)) == set()


def test_nothing_moves_past_a_record_that_ends_in_an_open_array() -> None:
    part = struct("part", scalar("n", 4), scalar("flags", 4), flexible("rest"))
    assert moves(struct("any", scalar("head", 4), LONG, held("part", part), TAIL), part) == set()


def test_a_marker_inside_a_record_does_not_keep_others_from_passing_it() -> None:
    part = struct("part", scalar("n", 4), scalar("mark", 0, dimensions=(0,)), scalar("flags", 4))
    layout = struct("any", scalar("head", 4), LONG, held("part", part), TAIL)
    assert moves(layout, part) == {"tail behind head: 32"}


def test_nothing_moves_into_a_cacheline_group() -> None:
    begin, end = scalar("__cacheline_group_begin__tx", 0), scalar("__cacheline_group_end__tx", 0)
    layout = struct("any", LONG, begin, scalar("x", 4), scalar("y"), end, TAIL)
    assert moves(layout) == set()


def test_members_that_somebody_keeps_stay_and_are_passed() -> None:
    assert moves(holey(), kept=("tail", "l")) == set()
    assert moves(holey(), kept=("l",)) == {"tail behind head: 16"}


def test_facts_of_the_source_keep_members() -> None:
    fixed = SourceFact(FactKind.OFFSET, ("l",), "asserted")
    assert moves(holey(), facts=(fixed,)) == set()
    ordered = SourceFact(FactKind.POSITIONAL, ("tail",), "an initialiser without names")
    assert moves(holey(), facts=(ordered,)) == set()
    together = SourceFact(FactKind.RANGE, ("l", "tail"), "cleared as one")
    assert moves(holey(), facts=(together,)) == set()


def test_an_initialiser_of_the_first_members_alone_keeps_these_alone() -> None:
    ordered = SourceFact(FactKind.POSITIONAL, ("head",), "an initialiser without names")
    assert moves(holey(), facts=(ordered,)) == moves(holey())


def test_unions_packed_records_and_those_of_user_space_are_left() -> None:
    assert moves(union("any", INT, LONG)) == set()
    assert moves(Layout(1, "packed", holey().kind, 15, (*holey().members[:2], scalar("t", 3)))) == set()
    shared = holey()
    assert (
        moves(Layout(1, "any", shared.kind, shared.size, shared.members, 8, file="include/uapi/linux/any.h")) == set()
    )


def test_an_anonymous_union_is_passed_but_not_moved() -> None:
    inner = union("", scalar("x", 4), scalar("y", 2))
    layout = struct("any", scalar("head", 4), LONG, held("", inner), TAIL, scalar("late"), scalar("more", 4))
    assert all(move.split()[0] in ("tail", "more") for move in moves(layout, inner))


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
        names = [member.name for member in move.layout.members]
        assert sorted(names) == sorted(member.name for member in layout.members)
        assert names[names.index(move.after) + 1] == move.name
        assert names[0] == layout.members[0].name
        assert move.layout.size == move.size < layout.size
        assert refusal(move.layout) is None


@given(c_layouts.lists_of_plain.map(c_layouts.struct))
def test_no_smaller_size_is_missed(layout: Layout) -> None:
    found = [move.size for move in shrinking_moves(layout, table(layout))]
    assert min(found, default=layout.size) == min([layout.size, *every_single_move(layout)])


@given(c_layouts.structs)
def test_members_kept_stay_in_their_order(layout: Layout) -> None:
    kept = tuple(member.name for member in layout.members[::2])
    for move in shrinking_moves(layout, table(layout), (), kept):
        assert [member.name for member in move.layout.members if member.name in kept] == list(kept)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@settings(max_examples=20)
@given(c_layouts.lists_of_plain.map(c_layouts.struct))
def test_a_compiler_gives_the_size_that_is_promised(tmp_path_factory: pytest.TempPathFactory, layout: Layout) -> None:
    found = list(shrinking_moves(layout, table(layout)))
    if found:
        assert compiled_sizes(tmp_path_factory.mktemp("c"), found) == [move.size for move in found]


def compiled_sizes(folder: Path, found: list[SingleMove]) -> list[int]:
    """What ``sizeof`` says of each layout, asserted by gcc at compile time and read from its constants."""
    records = [_declared(f"r{number}", move.layout) for number, move in enumerate(found)]
    sizes = ", ".join(f"sizeof(struct r{number})" for number in range(len(found)))
    source = folder / "moves.c"
    source.write_text("".join(records) + f"const unsigned long sizes[] = {{ {sizes} }};\n")
    subprocess.run(["gcc", "-S", "-o", folder / "moves.s", source], check=True)
    lines = (folder / "moves.s").read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.split()[:1] == [".quad"]]


def _declared(name: str, layout: Layout) -> str:
    members = "".join(f"\t{member.type} {member.name}{_shape(member)};\n" for member in layout.members)
    return f"struct {name} {{\n{members}}};\n"


def _shape(member: Member) -> str:
    return "".join(f"[{extent}]" for extent in member.dimensions)
