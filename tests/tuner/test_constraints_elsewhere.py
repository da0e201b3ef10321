# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change makes of the same record in another configuration."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hand_made import bits, flexible, held, meeting, scalar, struct, table, union

from linesmith.analyzer.geometry.atoms import spoken_name
from linesmith.analyzer.model import Candidate, FactKind, Layout, Member, Move, MoveKind, SourceFact
from linesmith.tuner.candidates import propose
from linesmith.tuner.constraints.elsewhere import Elsewhere, elsewhere, only_here
from linesmith.tuner.premises import Configuration, Premises

A, B, C, D = scalar("a"), scalar("b"), scalar("c"), scalar("d")
X, ONE, TWO, REST = scalar("x"), scalar("one", 4), scalar("two", 4), flexible("rest")
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
    here = struct("s", A, X, scalar("y"), B, scalar("z"), C)
    said = "the small kernel does not have them, so they stand within #if"
    block = SourceFact(FactKind.TOGETHER, ("x", "y"), said)
    assert only_here(here, table(here), table(struct("s", A, B, C)), "the small kernel") == (block,)


def test_a_record_that_the_other_configuration_does_not_have_tells_nothing() -> None:
    here = struct("s", A, B)
    assert only_here(here, table(here), table(), "other") == ()
    assert elsewhere("s", ["a", "b"], [move("b", "a")], table()) is None


ALIGN = Move(MoveKind.ALIGN, "b", align=64)
SWAP = Move(MoveKind.SWAP, "a", partner="c")


@pytest.mark.parametrize(
    ("here", "other", "moves", "sizes"),
    [
        ((A, B, C), (A, B, scalar("debug", 4), C), [move("c", "a")], (32, 32)),
        ((A, ONE, B, C), (A, ONE, TWO, B, C), [move("one", "c")], (32, 40)),
        ((A, X, B, REST), (A, B, C, REST), [move("b", "a"), move("a", "x")], (24, 24)),
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
    premises = Premises(configurations=(Configuration("small", table(small)),))
    both = propose(meeting(here, "a", "b"), table(here), 20, (), premises)
    assert (behind(alone), behind(both)) == ({"tail"}, {"cold13"})
    assert "Also legal in small, where struct s has 136 bytes: its size stays." in both[0].notes


def behind(found: Sequence[Candidate]) -> set[str | None]:
    return {one.moves[0].after for one in found if [move.kind for move in one.moves] == [MoveKind.MOVE]}
