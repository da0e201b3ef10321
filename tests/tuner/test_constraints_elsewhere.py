# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change makes of the same record in another configuration."""

from __future__ import annotations

from collections.abc import Sequence

from hand_made import bits, flexible, held, meeting, scalar, struct, table, union

from linesmith.analyzer.geometry.atoms import spoken_name
from linesmith.analyzer.model import Candidate, FactKind, Layout, Move, MoveKind, SourceFact
from linesmith.tuner.candidates import propose
from linesmith.tuner.constraints.elsewhere import Elsewhere, elsewhere, only_here
from linesmith.tuner.premises import Configuration, Premises

A, B, C, D = scalar("a"), scalar("b"), scalar("c"), scalar("d")


def move(member: str, after: str | None) -> Move:
    return Move(MoveKind.MOVE, member, after=after)


def there(here: Layout, other: Layout, *moves: Move, inner: Sequence[Layout] = ()) -> Elsewhere | None:
    names = [spoken_name(member, table(here, *inner)) for member in here.members]
    return elsewhere("s", names, moves, table(other, *inner))


def test_members_that_only_this_configuration_has_are_blocks() -> None:
    here = struct("s", A, scalar("x"), scalar("y"), B, scalar("z"), C)
    assert only_here(here, table(here), table(struct("s", A, B, C)), "the small kernel") == (
        SourceFact(FactKind.TOGETHER, ("x", "y"), "the small kernel does not have them, so they stand within #if"),
    )


def test_a_record_that_the_other_configuration_does_not_have_tells_nothing() -> None:
    here = struct("s", A, B)
    assert only_here(here, table(here), table(), "other") == ()
    assert elsewhere("s", ["a", "b"], [move("b", None)], table()) is None


def test_a_move_is_made_there_too() -> None:
    found = there(struct("s", A, B, C), struct("s", A, B, scalar("debug", 4), C), move("c", "a"))
    assert found is not None
    assert (found.layout.size, found.size, found.refused) == (32, 32, None)


def test_a_move_may_cost_bytes_there_alone() -> None:
    one, two = scalar("one", 4), scalar("two", 4)
    here, other = struct("s", A, one, B, C), struct("s", A, one, two, B, C)
    found = there(here, other, move("one", "c"))
    assert found is not None
    assert (found.layout.size, found.size) == (32, 40)


def test_behind_a_member_that_is_missing_there_means_behind_what_is_before_it() -> None:
    here = struct("s", A, scalar("x"), B, flexible("rest"))
    other = struct("s", A, B, C, flexible("rest"))
    found = there(here, other, move("b", None), move("a", "x"))
    assert found is not None
    assert found.refused is None


def test_what_ends_the_record_there_alone_is_not_passed() -> None:
    found = there(struct("s", A, B, C), struct("s", A, B, C, flexible("rest")), move("a", "c"))
    assert found is not None
    assert found.refused is None
    last = struct("s", A, flexible("b"))
    found = there(struct("s", A, B), last, move("a", "b"))
    assert found is not None
    assert str(found.refused) == "b stays last: a flexible array ends the struct"


def test_bit_fields_that_are_there_alone_are_not_torn_apart() -> None:
    here = struct("s", bits("x", 1), A, B)
    other = struct("s", bits("x", 1), bits("debug", 1), A, B)
    found = there(here, other, move("x", "b"))
    assert found is not None
    assert str(found.refused) == "x moves as a whole: members that it moves together with there would be left behind"


def test_a_swap_and_an_alignment_are_made_there_too() -> None:
    here, other = struct("s", A, B, C), struct("s", A, B, D, C)
    swap = Move(MoveKind.SWAP, "a", partner="c")
    align = Move(MoveKind.ALIGN, "b", align=64)
    found = there(here, other, swap, align)
    assert found is not None
    assert (found.size, found.refused) == (128, None)


def test_members_of_an_anonymous_struct_are_moved_inside_it() -> None:
    inner = struct("", scalar("x", 4), scalar("y", 4), B)
    other = struct("s", A, held("", inner))
    found = elsewhere("s", ["x", "y", "b"], [move("y", "b")], table(other, inner))
    assert found is not None
    assert found.refused is not None
    assert "another size would move what follows it" in str(found.refused)


def test_an_anonymous_union_goes_by_any_name_inside_it() -> None:
    ours, theirs = union("", A, B), union("", scalar("debug"), A)
    here = struct("s", held("", ours), C, D)
    other = struct("s", held("", theirs), C, D)
    names = [spoken_name(member, table(here, ours)) for member in here.members]
    assert names == ["a", "c", "d"]
    found = elsewhere("s", names, [move("a", "d")], table(other, theirs))
    assert found is not None
    assert found.layout.name == "s"


def test_a_candidate_that_another_configuration_forbids_is_not_proposed() -> None:
    here = struct("s", A, B, *(scalar(f"cold{number}") for number in range(14)), scalar("tail"))
    there = struct("s", A, B, *(scalar(f"cold{number}") for number in range(14)), scalar("tail", 8, dimensions=(0,)))
    alone = propose(meeting(here, "a", "b"), table(here), 20)
    both = propose(meeting(here, "a", "b"), table(here), 20, (), with_configuration(there))
    assert behind(alone) == {"tail"}
    assert behind(both) == {"cold13"}
    assert "Also legal in small, where struct s has 136 bytes: its size stays." in both[0].notes


def with_configuration(other: Layout) -> Premises:
    return Premises(configurations=(Configuration("small", table(other)),))


def behind(found: Sequence[Candidate]) -> set[str | None]:
    return {one.moves[0].after for one in found if [move.kind for move in one.moves] == [MoveKind.MOVE]}
