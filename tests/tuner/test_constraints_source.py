# SPDX-License-Identifier: GPL-2.0-or-later
"""What the source and other configurations forbid: facts as they bind a record, and changes made there too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hand_made import bits, finding, flexible, held, hot, meeting, scalar, struct, table, union

from linesmith.analyzer.layouts.placement import BYTE, LayoutAtom, atoms, place, spoken_name
from linesmith.analyzer.model import (
    Candidate,
    ConflictPair,
    FactKind,
    Layout,
    Member,
    Move,
    MoveKind,
    SourceFact,
    SourceFacts,
)
from linesmith.tuner.constraints.elsewhere import Elsewhere, elsewhere, facts_within
from linesmith.tuner.constraints.freedom import ConfiguredBuild, Freedom, Premises
from linesmith.tuner.constraints.rules import freedom
from linesmith.tuner.propose.arrangement import swaps, unchanged
from linesmith.tuner.propose.candidates import propose
from linesmith.tuner.propose.subject import ContendedRecord, subject

A, B, C, D = scalar("a"), scalar("b"), scalar("c"), scalar("d")
X, Y, WIDE, REST = scalar("x", 4), scalar("y", 4), scalar("wide", 64), flexible("rest")
COLD = tuple(scalar(f"cold{number}") for number in range(8))
ABCD = struct("s", A, B, C, D)
AB = struct("s", A, B)
TWO_WORDS = struct("s", X, Y, A)
APART = struct("s", A, WIDE, B)


def fact(kind: FactKind, *members: str, size: int | None = None) -> SourceFact:
    return SourceFact(kind, members, "so it is", "fs/file.c:7", size)


def parts(layout: Layout, *facts: SourceFact, inner: Sequence[Layout] = ()) -> tuple[LayoutAtom, ...]:
    return atoms(layout, table(layout, *inner), facts)


def limits(layout: Layout, *facts: SourceFact, inner: Sequence[Layout] = ()) -> Freedom:
    return freedom(layout, parts(layout, *facts, inner=inner), table(layout, *inner), facts)


def knowing(*facts: SourceFact) -> Premises:
    """What is known of the struct ``s``."""
    return Premises(SourceFacts((("s", facts),)))


def told_of(layout: Layout, *facts: SourceFact) -> list[str]:
    return [str(one) for one in limits(layout, *facts).constraints]


@pytest.mark.parametrize(
    ("layout", "known", "order", "refusal"),
    [
        (ABCD, None, "c a b d", None),
        (struct("s", A, B, REST), None, "a rest b", "rest stays last: a flexible array ends the struct"),
        (struct("s", A, B, REST), None, "b a rest", None),
        (ABCD, fact(FactKind.OFFSET, "c"), "b a c d", None),
        (ABCD, fact(FactKind.OFFSET, "c"), "a c b d", "c keeps its offset: so it is"),
        (struct("s", X, Y, A, B), fact(FactKind.OFFSET, "a"), "b a x y", None),
        (AB, fact(FactKind.FIRST, "a"), "b a", "a stays first: so it is"),
        (ABCD, fact(FactKind.RANGE, "b", "c"), "d b a", None),
        (ABCD, fact(FactKind.POSITIONAL, "b"), "a b d c", None),
        (ABCD, fact(FactKind.POSITIONAL, "b"), "b a c d", "a keeps its turn: so it is"),
        (ABCD, fact(FactKind.POSITIONAL, "b"), "a d b c", "b keeps its turn: so it is"),
        (APART, fact(FactKind.APART, "a", "b", size=64), "b wide a", None),
        (APART, fact(FactKind.APART, "a", "b", size=64), "a b wide", "a stays on another line: so it is"),
        (APART, fact(FactKind.APART, "a", "b", size=128), "a wide b", "a stays on another line: so it is"),
        (TWO_WORDS, fact(FactKind.SIZE, size=16), "x a y", "struct s is limited in size: so it is"),
        (TWO_WORDS, fact(FactKind.SIZE, size=24), "x a y", None),
        (AB, fact(FactKind.RANDOMIZED), "b a", None),
    ],
)
def test_an_order_is_refused_by_what_the_source_tells(
    layout: Layout, known: SourceFact | None, order: str, refusal: str | None
) -> None:
    """Members are named by the first of those that move with them, and placed by C's rules."""
    facts = (known,) if known else ()
    pieces = parts(layout, *facts)
    numbers = [[atom.name for atom in pieces].index(name) for name in order.split()]
    members = [member for atom in numbers for member in pieces[atom].members]
    placed = place(members, layout.alignment)
    by_name = {member.name: bit // BYTE for member, bit in zip(members, placed.starts, strict=True)}
    starts = [by_name[member.name] for member in layout.members]
    found = limits(layout, *facts).refuses(numbers, starts, placed.size)
    assert (None if found is None else str(found)) == refusal


def test_limits_of_a_record() -> None:
    either = union("", A, B)
    layout = struct("s", C, held("", either), D)
    assert limits(layout, fact(FactKind.OFFSET, "b"), inner=[either]).pinned == {1: 8}, "it pins all of the union"
    ceilings = [limits(AB, fact(FactKind.SIZE, size=size)).ceiling for size in (24, None, 8)]
    assert ceilings == [24, 16, 16], "without bytes, or below what it has, the present size is the limit"


def test_constraints_are_told_with_where_they_are_from() -> None:
    assert told_of(AB, fact(FactKind.TOGETHER, "b", "only_with_debugging")) == []
    assert told_of(ABCD, fact(FactKind.RANGE, "b", "c")) == ["b moves with its range: so it is"]
    assert told_of(AB, fact(FactKind.RANDOMIZED)) == [
        "struct s may be shuffled: so it is; an order counts only in builds without CONFIG_RANDSTRUCT"
    ]
    assert limits(AB, fact(FactKind.OFFSET, "a")).constraints[0].source == "fs/file.c:7"


@pytest.mark.parametrize(
    ("known", "inside"),
    [
        pytest.param(
            fact(FactKind.POSITIONAL, "d"), [(FactKind.POSITIONAL, ("b", "c"))], id="an initialiser behind it"
        ),
        pytest.param(fact(FactKind.POSITIONAL, "a"), [], id="an initialiser that ends before it"),
        pytest.param(fact(FactKind.RANGE, "a", "d"), [(FactKind.RANGE, ())], id="a range around it leaves it free"),
        pytest.param(fact(FactKind.RANGE, "c", "d"), [(FactKind.OFFSET, ("b", "c"))], id="a range that begins in it"),
        pytest.param(fact(FactKind.SIZE, size=40), [(FactKind.SIZE, ())], id="a limit of the size"),
    ],
)
def test_facts_as_they_bind_an_anonymous_struct(
    known: SourceFact, inside: list[tuple[FactKind, tuple[str, ...]]]
) -> None:
    inner = struct("", B, C)
    outer = struct("s", A, held("", inner), D)
    found = facts_within((known,), outer, inner, table(outer, inner))
    assert [(one.kind, one.members) for one in found] == inside


def test_an_anonymous_struct_keeps_its_size_unless_it_is_all_of_the_record() -> None:
    inner = struct("", X, Y, B)
    parts_ = atoms(inner, table(inner))
    found = freedom(inner, parts_, table(inner), (), base=8)
    assert (found.floor, found.ceiling) == (16, 16)
    told = found.refuses((0, 2, 1), (8, 24, 16), 24)
    assert told is not None
    assert str(told.kind) == "is limited in size"
    for behind, ceiling in ((REST, None), (D, 16)):
        outer = struct("s", held("", inner), behind)
        assert freedom(inner, parts_, table(inner, outer), (), 0, outer).ceiling == ceiling


def test_members_of_such_a_struct_are_aligned_too() -> None:
    inner = struct("", A, B, C)
    outer = struct("s", held("", inner), REST)
    line = finding(outer, [hot("a", 0, 8, 90, 90), hot("b", 8, 8, 90)], [ConflictPair("b", "a", "a", 90)])
    target = subject(line, table(outer, inner))
    assert (target.layout.name, target.may_resize) == ("", True)
    limited = subject(line, table(outer, inner), (), knowing(fact(FactKind.SIZE, size=64)))
    assert limited.freedom.ceiling == 64


def within(layout: Layout, writer: str, reader: str, *facts: SourceFact) -> ContendedRecord:
    return subject(meeting(layout, writer, reader), table(layout), (), knowing(*facts))


def names(target: ContendedRecord) -> list[tuple[str, ...]]:
    return [atom.names for atom in target.parts]


def test_a_block_changes_places_with_nothing_for_a_swap_names_one_member() -> None:
    target = within(ABCD, "a", "c", fact(FactKind.TOGETHER, "a", "b"))
    moves = [one.moves[0] for one in swaps(target, unchanged(target), [0, 1])]
    assert {frozenset((one.member, one.partner)) for one in moves} == {frozenset(("c", "d"))}


def test_a_block_that_passes_one_member_is_told_as_the_move_of_that_member() -> None:
    sizes = {"head": 200, "a": 56, "w": 8, "r": 16, "rest": 64}
    layout = struct("s", *(scalar(name, size) for name, size in sizes.items()), align=64)
    known = knowing(fact(FactKind.FIRST, "head"), fact(FactKind.TOGETHER, "a", "w"))
    found = propose(meeting(layout, "w", "r"), table(layout), premises=known)
    orders = {tuple(member.name for member in one.after.members): one for one in found}
    passing = orders["head", "r", "a", "w", "rest"]
    assert [(move.member, move.after) for move in passing.moves] == [("r", "head")]
    assert passing.churn.members == 1


def test_members_that_meet_within_a_range_change_places_inside_it_and_others_move_as_one() -> None:
    layout = struct("s", A, B, C, D, *COLD)
    inside = within(layout, "b", "d", fact(FactKind.RANGE, "a", "cold7"), fact(FactKind.RANGE, "b", "c"))
    assert names(inside)[:3] == [("a",), ("b", "c"), ("d",)]
    assert [list(inside.freedom.places(atom)) for atom in (0, 1, 10)] == [[0], list(range(1, 10)), [10]]
    assert names(within(ABCD, "a", "b", fact(FactKind.RANGE, "b", "c"))) == [("a",), ("b", "c"), ("d",)]


def test_members_that_meet_within_a_group_change_places_inside_it() -> None:
    begin, end = (
        replace(scalar(f"__cacheline_group_{one}__rx", 1), size=0, dimensions=(0,)) for one in ("begin", "end")
    )
    layout = struct("s", A, begin, B, C, *COLD, end, D)
    inside = within(layout, "b", "c")
    assert [list(inside.freedom.places(atom)) for atom in (0, 1, 2, 12)] == [[0], [1], list(range(2, 12)), [12]]
    assert str(inside.freedom.fixed[1]) == (
        "__cacheline_group_begin__rx stays between the same members: "
        "its group is asserted at compile time: what is in it stays in it"
    )
    assert [atom.name for atom in within(layout, "a", "b").parts] == ["a", begin.name, "d"]


def test_a_candidate_says_that_facts_were_kept_to() -> None:
    layout = struct("s", A, B, *COLD, *(scalar(f"more{number}") for number in range(6)))
    rest = "#if blocks, offset assertions, initialisers by position and memset ranges are in the source."
    kept, free = (
        propose(meeting(layout, "a", "b"), table(layout), 1, (), knowing(*facts))[0].notes
        for facts in ((fact(FactKind.OFFSET, "a"),), ())
    )
    assert f"Only the layout and the facts given were checked: {rest}" in kept
    assert f"Only the layout was checked: {rest}" in free


LONG, ONE, TWO = scalar("x"), scalar("one", 4), scalar("two", 4)
BIT, DEBUG_BIT = bits("x", 1), bits("debug", 1)
OURS, THEIRS = union("", A, B), union("", scalar("debug"), A)


def move(member: str, after: str) -> Move:
    return Move(MoveKind.MOVE, member, after=after)


def there(here: Layout, other: Layout, *moves: Move) -> Elsewhere:
    names = [spoken_name(member, table(here, OURS)) for member in here.members]
    found = elsewhere("s", names, moves, table(other, THEIRS))
    assert found is not None
    return found


def test_members_that_only_this_configuration_has_are_blocks() -> None:
    here = struct("s", A, LONG, scalar("y"), B, scalar("z"), C)
    small = Premises(configurations=(ConfiguredBuild("small", table(struct("s", A, B, C))),))
    found = subject(meeting(here, "a", "b"), table(here), (), small)
    assert names(found) == [("a",), ("x", "y"), ("b",), ("z",), ("c",)]
    assert elsewhere("s", ["a", "b"], [move("b", "a")], table()) is None


ALIGN = Move(MoveKind.ALIGN, "b", align=64)
SWAP = Move(MoveKind.SWAP, "a", partner="c")


@pytest.mark.parametrize(
    ("here", "other", "moves", "sizes"),
    [
        ((A, B, C), (A, B, scalar("debug", 4), C), [move("c", "a")], (32, 32)),
        ((A, ONE, B, C), (A, ONE, TWO, B, C), [move("one", "c")], (32, 40)),
        ((A, LONG, B, REST), (A, B, C, REST), [move("b", "a"), move("a", "x")], (24, 24)),
        ((A, B, C), (A, B, C, REST), [move("a", "c")], (24, 24)),
        ((A, B, C), (A, B, D, C), [SWAP, ALIGN], (32, 128)),
        ((held("", OURS), C, D), (held("", THEIRS), C, D), [move("a", "d")], (24, 24)),
    ],
    ids=(
        *("a move", "bytes that it costs there alone", "behind a member missing there is behind the one before it"),
        *("a flexible array there alone is not passed", "a swap and an alignment", "a union by any name inside it"),
    ),
)
def test_a_change_is_made_there_too(
    here: Sequence[Member], other: Sequence[Member], moves: list[Move], sizes: tuple[int, int]
) -> None:
    found = there(struct("s", *here), struct("s", *other), *moves)
    assert (found.layout.size, found.size, found.refused) == (*sizes, None)


def test_what_the_other_configuration_forbids() -> None:
    ends = there(struct("s", A, B), struct("s", A, flexible("b")), move("a", "b"))
    assert str(ends.refused) == "b stays last: a flexible array ends the struct"
    torn = there(struct("s", BIT, A, B), struct("s", BIT, DEBUG_BIT, A, B), move("x", "b"))
    assert str(torn.refused) == ("x moves as a whole: members that it moves together with there would be left behind")
    inner = struct("", scalar("x", 4), scalar("y", 4), B)
    found = elsewhere("s", ["x", "y", "b"], [move("y", "b")], table(struct("s", A, held("", inner)), inner))
    assert found is not None
    assert "another size would move what follows it" in str(found.refused)


def test_a_candidate_that_another_configuration_forbids_is_not_proposed() -> None:
    members = (A, B, *(scalar(f"cold{number}") for number in range(14)))
    here, small = struct("s", *members, scalar("tail")), struct("s", *members, scalar("tail", 8, dimensions=(0,)))
    alone = propose(meeting(here, "a", "b"), table(here), 20)
    premises = Premises(configurations=(ConfiguredBuild("small", table(small)),))
    both = propose(meeting(here, "a", "b"), table(here), 20, (), premises)
    assert (behind(alone), behind(both)) == ({"tail"}, {"cold13"})
    assert "Also legal in small, where struct s has 136 bytes: its size stays." in both[0].notes


def behind(found: Sequence[Candidate]) -> set[str | None]:
    return {one.moves[0].after for one in found if [move.kind for move in one.moves] == [MoveKind.MOVE]}
