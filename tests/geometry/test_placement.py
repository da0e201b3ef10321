# SPDX-License-Identifier: GPL-2.0-or-later
"""Where C puts members, and which of them move as one."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import bits, flexible, held, offsets, scalar, struct, table, union
from legality.compiled import compiled, says

from linesmith.analyzer.layouts.gaps import with_inferred_alignment
from linesmith.analyzer.layouts.placement import MemberPlace, atoms, place, refusal, visible_places
from linesmith.analyzer.model import FactKind, Layout, Member, SourceFact

CHAR, INT, LONG = (scalar(name, size) for name, size in (("c", 1), ("i", 4), ("l", 8)))


# Name of the rule: the members in order, their first bits, the size of the record in bytes.
RULES: dict[str, tuple[list[Member], tuple[int, ...], int]] = {
    "a multiple of the member's alignment": ([CHAR, INT, CHAR, LONG], (0, 32, 64, 128), 24),
    "the size is a multiple of the largest alignment": ([LONG, CHAR], (0, 64), 16),
    "the order decides the size": ([CHAR, LONG, CHAR], (0, 64, 128), 24),
    "an explicit alignment rounds the record too": ([LONG, scalar("lock", 4, align=64), INT], (0, 512, 544), 128),
    "bit-fields share a storage unit": ([bits("a", 3), bits("b", 5), bits("c", 24)], (0, 3, 8), 4),
    "what would cross its unit starts the next one": ([bits("a", 30), bits("b", 3)], (0, 32), 8),
    "a bit-field may share the unit of the member before it": ([CHAR, bits("a", 8)], (0, 8), 4),
    "a member may follow within the unit of a bit-field": ([bits("a", 3), CHAR], (0, 8), 4),
    "an aligned bit-field aligns the record": ([LONG, replace(bits("a", 3), alignment=32)], (0, 256), 64),
    "an empty member takes no room but is aligned": ([CHAR, scalar("marker", 0, align=8), INT], (0, 64, 64), 16),
    "a flexible array counts for alignment only": ([INT, flexible("rest", 8)], (0, 64), 8),
    "a struct of nothing has no size": ([], (), 0),
}


@pytest.mark.parametrize("rule", RULES)
def test_members_are_placed_by_the_rules_of_c(rule: str) -> None:
    members, starts, size = RULES[rule]
    placed = place(members)
    assert (placed.starts, placed.size) == (starts, size)
    assert refusal(struct("s", *members)) is None


def test_an_alignment_of_the_record_pads_its_end_only() -> None:
    assert place([INT, INT], record_alignment=64).size == 64
    assert offsets(struct("s", INT, held("inside", struct("inner", CHAR, LONG))))["inside"] == 8


def moved(layout: Layout, number: int, offset: int) -> Layout:
    members = list(layout.members)
    members[number] = replace(members[number], offset=offset)
    return replace(layout, members=tuple(members))


LATE, TWO = struct("s", CHAR, replace(INT, name="late")), struct("s", INT, replace(INT, name="j"))


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (union("u", INT, LONG), "union"),
        (replace(moved(LATE, 1, 1), size=5), "packed"),
        (replace(struct("s", INT, CHAR), size=5), "packed"),
        (moved(TWO, 1, 0), "j overlaps the member before it"),
        (moved(struct("s", INT, CHAR, LONG), 1, 6), "c is not at the offset that C's rules give"),
        (replace(struct("s", INT), size=32), "its size is 32 bytes where C's rules give 4"),
    ],
    ids=["a union", "packed", "packed at its end", "an overlap", "a hole without a rule", "a size without a rule"],
)
def test_what_no_rule_explains_is_refused(layout: Layout, reason: str) -> None:
    assert reason in (refusal(layout) or "")


KINDS = (
    *(scalar("m", size) for size in (0, 1, 2, 4, 6, 8, 12, 13, 16)),
    *(scalar("m", 4, align=64), scalar("m", 1, align=16)),
    *(bits("b", width, size) for width, size in ((3, 4), (17, 4), (5, 1), (1, 1), (9, 2), (40, 8))),
)


def test_random_structs_are_placed_as_the_compiler_places_them(tmp_path: Path) -> None:
    """Each of them in two orders."""
    choice = random.Random(64)  # noqa: S311 - repeatable on purpose
    picked = [choice.choices(KINDS, k=choice.randint(1, 9)) for _ in range(75)]
    structs = [struct("s", *order) for one in picked for order in (one, one[::-1])]
    assert compiled(structs, tmp_path) == [says(one) for one in structs]


def test_an_alignment_that_the_producer_did_not_state_shows_by_the_hole() -> None:
    """Also a bit-field of width zero without a name, by the next unit."""
    lock = struct("s", LONG, scalar("lock", 4, align=64))
    field = struct("s", bits("a", 3), replace(bits("b", 1), alignment=4), INT)
    for layout, alignment in ((lock, 64), (field, None)):
        members = (layout.members[0], replace(layout.members[1], alignment=None), *layout.members[2:])
        silent = replace(layout, members=members)
        assert refusal(silent) == f"{members[1].name} is not at the offset that C's rules give"
        inferred = with_inferred_alignment(silent)
        assert refusal(inferred) is None
        assert alignment in (None, inferred.members[1].alignment)


# Which members of a record move as one, by the layout and by what the source says

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
