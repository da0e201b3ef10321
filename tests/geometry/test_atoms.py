# SPDX-License-Identifier: GPL-2.0-or-later
"""Which members of a record move as one, by the layout and by what the source says."""

from __future__ import annotations

import pytest
from hand_made import bits, held, scalar, struct, table, union

from linesmith.analyzer.layouts.placement import MemberPlace, anonymous_struct, atoms, visible_places
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


def between(begin: str, end: str) -> tuple[SourceFact, ...]:
    return (fact(FactKind.RANGE, begin, end),)


BEGIN, END, PAD, ALIEN = marker("begin"), marker("end"), marker("pad"), marker("pad", "rx")
WALL = (fact(FactKind.WALL, "__cacheline_group_begin__tx"),)
# Name of the case: members, facts of the source, the names of each atom.
CASES: dict[str, tuple[tuple[Member, ...], tuple[SourceFact, ...], list[str]]] = {
    "neighbouring bit-fields are one": (
        (scalar("a"), bits("x", 3), bits("y", 4), scalar("b"), bits("z", 1)),
        (),
        ["a", "x y", "b", "z"],
    ),
    "a marked group is one with its padding": (
        (BEGIN, *LETTERS[:2], END, PAD, *LETTERS[2:]),
        (),
        ["begin a b end pad", "c", "d", "e"],
    ),
    "the padding of another group is no part of it": ((BEGIN, scalar("a"), END, ALIEN), (), ["begin a end", "pad__rx"]),
    "a group whose marker is a wall is open": ((BEGIN, *LETTERS[:2], END), WALL, ["begin", "a", "b", "end"]),
    "what lies in a range moves with it": (LETTERS, between("b", "d"), ["a", "b c d", "e"]),
    "what lies in a block moves with it": (LETTERS, (fact(FactKind.TOGETHER, "b", "d"),), ["a", "b c d", "e"]),
    "ranges that overlap are one": (LETTERS, between("a", "c") + between("c", "d"), ["a b c d", "e"]),
    "neighbouring ranges are two": (LETTERS, between("a", "b") + between("c", "d"), ["a b", "c d", "e"]),
    "a block takes the whole run of bit-fields that it cuts": (
        (scalar("a"), bits("x", 3), bits("y", 4), scalar("b")),
        (fact(FactKind.TOGETHER, "y", "b"),),
        ["a", "x y b"],
    ),
    "a range of absent members joins nothing": (LETTERS[:2], between("x", "y"), ["a", "b"]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_moves_as_one(case: str) -> None:
    members, facts, expected = CASES[case]
    assert runs(struct("any", *members), *facts) == expected


def test_an_empty_group_is_a_group_and_a_lone_marker_is_none() -> None:
    layout = struct("any", BEGIN, END, BEGIN)
    assert [one.is_group for one in atoms(layout, table(layout))] == [True, False]


def test_members_of_a_part_without_a_name_are_reached_by_their_own() -> None:
    part = struct("", scalar("inner", 4), scalar("late", 4))
    layout = struct("any", scalar("a"), held("", part))
    assert visible_places(layout, table(layout, part)) == {
        "a": MemberPlace(0, 0, 8),
        "inner": MemberPlace(1, 0, 4),
        "late": MemberPlace(1, 4, 4),
    }


def test_only_a_struct_without_a_name_and_a_tag_can_be_rearranged() -> None:
    part, tagged, either = struct("", scalar("x")), struct("tagged", scalar("x")), union("", scalar("x"))
    layouts = table(part, tagged, either)
    assert anonymous_struct(held("", part), layouts) == part
    others = (scalar("word"), held("named", part), held("", tagged), held("", either))
    assert [anonymous_struct(one, layouts) for one in others] == [None] * 4
