# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members of a record move as one, by the layout and by what the source says."""

from __future__ import annotations

import pytest
from hand_made import bits, held, scalar, struct, table, union

from linesmith.analyzer.geometry.atoms import Place, anonymous_struct, atoms, visible_places
from linesmith.analyzer.model import FactKind, Layout, Member, SourceFact

LETTERS = tuple(scalar(name) for name in "abcde")


def marker(kind: str, group: str = "tx") -> Member:
    return scalar(f"__cacheline_group_{kind}__{group}", 0)


def runs(layout: Layout, *facts: SourceFact) -> list[str]:
    """The names of each atom, without the marks of groups."""
    names = (" ".join(atom.names) for atom in atoms(layout, table(layout), facts))
    return [one.replace("__cacheline_group_", "").replace("__tx", "") for one in names]


def fact(kind: FactKind, *members: str) -> SourceFact:
    return SourceFact(kind, members, "because")


def test_neighbouring_bit_fields_are_one() -> None:
    layout = struct("any", scalar("a"), bits("x", 3), bits("y", 4), scalar("b"), bits("z", 1))
    assert runs(layout) == ["a", "x y", "b", "z"]


def test_a_marked_group_is_one_with_its_padding() -> None:
    layout = struct("any", marker("begin"), *LETTERS[:2], marker("end"), marker("pad"), *LETTERS[2:])
    assert runs(layout) == ["begin a b end pad", "c", "d", "e"]


def test_the_padding_of_another_group_is_no_part_of_it() -> None:
    layout = struct("any", marker("begin"), scalar("a"), marker("end"), marker("pad", "rx"))
    assert runs(layout) == ["begin a end", "pad__rx"]


def test_an_empty_group_is_a_group_and_a_lone_marker_is_none() -> None:
    group, lone = atoms(*(lambda one: (one, table(one)))(struct("any", *map(marker, ("begin", "end", "begin")))))
    assert (group.is_group, lone.is_group) == (True, False)


def test_a_group_whose_marker_is_a_wall_is_open() -> None:
    layout = struct("any", marker("begin"), *LETTERS[:2], marker("end"))
    assert runs(layout, fact(FactKind.WALL, "__cacheline_group_begin__tx")) == ["begin", "a", "b", "end"]


@pytest.mark.parametrize("kind", [FactKind.RANGE, FactKind.TOGETHER])
def test_what_lies_between_members_of_a_range_or_block_moves_with_them(kind: FactKind) -> None:
    assert runs(struct("any", *LETTERS), fact(kind, "b", "d")) == ["a", "b c d", "e"]


def test_ranges_that_overlap_are_one_and_neighbours_are_not() -> None:
    layout = struct("any", *LETTERS)
    assert runs(layout, fact(FactKind.RANGE, "a", "c"), fact(FactKind.RANGE, "c", "d")) == ["a b c d", "e"]
    assert runs(layout, fact(FactKind.RANGE, "a", "b"), fact(FactKind.RANGE, "c", "d")) == ["a b", "c d", "e"]


def test_a_range_of_members_that_are_not_there_joins_nothing() -> None:
    assert runs(struct("any", *LETTERS[:2]), fact(FactKind.RANGE, "x", "y")) == ["a", "b"]


def test_members_of_a_part_without_a_name_are_reached_by_their_own() -> None:
    part = struct("", scalar("inner", 4), scalar("late", 4))
    layout = struct("any", scalar("a"), held("", part))
    assert visible_places(layout, table(layout, part)) == {
        "a": Place(0, 0, 8),
        "inner": Place(1, 0, 4),
        "late": Place(1, 4, 4),
    }


def test_only_a_struct_without_a_name_and_a_tag_can_be_rearranged() -> None:
    part, tagged, either = struct("", scalar("x")), struct("tagged", scalar("x")), union("", scalar("x"))
    layouts = table(part, tagged, either)
    assert anonymous_struct(held("", part), layouts) == part
    others = (scalar("word"), held("named", part), held("", tagged), held("", either))
    assert [anonymous_struct(one, layouts) for one in others] == [None] * 4
