# SPDX-License-Identifier: GPL-2.0-or-later
"""What the source forbids: facts as they bind a record, and the one predicate that all who search ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hand_made import bits, finding, flexible, held, hot, meeting, scalar, struct, table, union

from linesmith.analyzer.geometry.atoms import Atom, atoms
from linesmith.analyzer.geometry.placement import BYTE, place
from linesmith.analyzer.model import ConflictPair, FactKind, Layout, SourceFact, SourceFacts
from linesmith.tuner.arrangement import swaps, unchanged
from linesmith.tuner.candidates import propose
from linesmith.tuner.constraints import ConstraintKind, Freedom, facts_within, freedom
from linesmith.tuner.premises import Premises
from linesmith.tuner.subject import subject

A, B, C, D = scalar("a"), scalar("b"), scalar("c"), scalar("d")


def fact(kind: FactKind, *members: str, size: int | None = None) -> SourceFact:
    return SourceFact(kind, members, "so it is", "fs/file.c:7", size)


def parts(layout: Layout, *facts: SourceFact, inner: Sequence[Layout] = ()) -> tuple[Atom, ...]:
    return atoms(layout, table(layout, *inner), facts)


def limits(layout: Layout, *facts: SourceFact, inner: Sequence[Layout] = ()) -> Freedom:
    return freedom(layout, parts(layout, *facts, inner=inner), table(layout, *inner), facts)


def refused(layout: Layout, names: str, *facts: SourceFact, inner: Sequence[Layout] = ()) -> str | None:
    """What forbids the members in this order (by first name in their atom), placed by C's rules."""
    pieces = parts(layout, *facts, inner=inner)
    order = [[atom.name for atom in pieces].index(name) for name in names.split()]
    members = [member for atom in order for member in pieces[atom].members]
    placed = place(members, layout.alignment)
    starts = [0] * len(members)
    for member, bit in zip(members, placed.starts, strict=True):
        starts[layout.members.index(next(one for one in layout.members if one.name == member.name))] = bit // BYTE
    found = limits(layout, *facts, inner=inner).refuses(order, starts, placed.size)
    return None if found is None else str(found)


def test_without_facts_any_order_is_legal() -> None:
    assert refused(struct("s", A, B, C), "c a b") is None


def test_what_the_layout_holds_in_place_is_refused_elsewhere() -> None:
    layout = struct("s", A, B, flexible("rest"))
    assert refused(layout, "a rest b") == "rest stays last: a flexible array ends the struct"
    assert refused(layout, "b a rest") is None


def test_an_offset_that_is_asserted_stays() -> None:
    layout = struct("s", A, B, C, D)
    asserted = fact(FactKind.OFFSET, "c")
    assert refused(layout, "b a c d", asserted) is None
    assert refused(layout, "a c b d", asserted) == "c keeps its offset: so it is"
    assert limits(layout, asserted).pinned == {2: 16}


def test_members_may_change_around_an_offset_that_stays() -> None:
    layout = struct("s", scalar("x", 4), scalar("y", 4), A, B)
    assert refused(layout, "b a x y", fact(FactKind.OFFSET, "a")) is None


def test_a_member_of_an_anonymous_record_pins_all_of_it() -> None:
    either = union("", A, B)
    layout = struct("s", C, held("", either), D)
    assert limits(layout, fact(FactKind.OFFSET, "b"), inner=[either]).pinned == {1: 8}


def test_what_is_cast_to_the_record_stays_in_front() -> None:
    assert refused(struct("s", A, B), "b a", fact(FactKind.FIRST, "a")) == "a stays first: so it is"


def test_a_range_is_one_atom() -> None:
    layout = struct("s", A, B, C, D)
    cleared = fact(FactKind.RANGE, "b", "c")
    assert [atom.name for atom in parts(layout, cleared)] == ["a", "b", "d"]
    assert refused(layout, "d b a", cleared) is None
    assert [str(one) for one in limits(layout, cleared).constraints] == ["b moves with its range: so it is"]


def test_ranges_that_overlap_are_one_atom() -> None:
    layout = struct("s", A, B, C, D)
    pieces = parts(layout, fact(FactKind.RANGE, "a", "b"), fact(FactKind.RANGE, "b", "c"))
    assert [[member.name for member in atom.members] for atom in pieces] == [["a", "b", "c"], ["d"]]


def test_a_block_takes_the_whole_run_of_bit_fields_that_it_cuts() -> None:
    layout = struct("s", A, bits("x", 3), bits("y", 4), B)
    pieces = parts(layout, fact(FactKind.TOGETHER, "y", "b"))
    assert [[member.name for member in atom.members] for atom in pieces] == [["a"], ["x", "y", "b"]]


def test_a_block_of_one_member_that_this_build_has_is_none() -> None:
    layout = struct("s", A, B)
    assert limits(layout, fact(FactKind.TOGETHER, "b", "only_with_debugging")).constraints == ()


def test_members_up_to_the_last_that_is_initialised_by_position_keep_their_turn() -> None:
    layout = struct("s", A, B, C, D)
    listed = fact(FactKind.POSITIONAL, "b")
    assert refused(layout, "a b d c", listed) is None
    assert refused(layout, "b a c d", listed) == "a keeps its turn: so it is"
    assert refused(layout, "a d b c", listed) == "b keeps its turn: so it is"


def test_members_that_an_assertion_parts_stay_apart() -> None:
    layout = struct("s", A, scalar("wide", 64), B)
    parted = fact(FactKind.APART, "a", "b", size=64)
    assert refused(layout, "b wide a", parted) is None
    assert refused(layout, "a b wide", parted) == "a stays on another line: so it is"


def test_lines_of_another_length_count() -> None:
    layout = struct("s", A, scalar("wide", 64), B)
    assert refused(layout, "a wide b", fact(FactKind.APART, "a", "b", size=128)) is not None


def test_a_record_may_not_exceed_its_limit() -> None:
    layout = struct("s", scalar("x", 4), scalar("y", 4), A)
    assert refused(layout, "x a y", fact(FactKind.SIZE, size=16)) == "struct s is limited in size: so it is"
    assert refused(layout, "x a y", fact(FactKind.SIZE, size=24)) is None
    assert limits(layout, fact(FactKind.SIZE, size=24)).ceiling == 24


def test_a_limit_without_bytes_means_the_present_size() -> None:
    assert limits(struct("s", A, B), fact(FactKind.SIZE)).ceiling == 16


def test_a_record_that_is_above_its_limit_already_may_stay_as_large() -> None:
    assert limits(struct("s", A, B), fact(FactKind.SIZE, size=8)).ceiling == 16


def test_a_record_that_may_be_shuffled_is_free_but_it_is_told() -> None:
    layout = struct("s", A, B)
    assert refused(layout, "b a", fact(FactKind.RANDOMIZED)) is None
    (told,) = limits(layout, fact(FactKind.RANDOMIZED)).constraints
    assert str(told) == ("struct s may be shuffled: so it is; an order counts only in builds without CONFIG_RANDSTRUCT")


def test_a_constraint_says_where_the_fact_is_from() -> None:
    (told,) = limits(struct("s", A, B), fact(FactKind.OFFSET, "a")).constraints
    assert told.source == "fs/file.c:7"


def within(*facts: SourceFact) -> list[tuple[FactKind, tuple[str, ...]]]:
    """The facts of ``s { a; struct { b; c; }; d; }`` as they bind the struct inside."""
    inner = struct("", B, C)
    outer = struct("s", A, held("", inner), D)
    return [(one.kind, one.members) for one in facts_within(facts, outer, inner, table(outer, inner))]


def test_an_initialiser_that_ends_behind_an_anonymous_struct_gives_all_of_it_by_position() -> None:
    assert within(fact(FactKind.POSITIONAL, "d")) == [(FactKind.POSITIONAL, ("b", "c"))]


def test_an_initialiser_that_ends_before_it_leaves_it_free() -> None:
    assert within(fact(FactKind.POSITIONAL, "a")) == []


def test_a_range_around_an_anonymous_struct_leaves_it_free() -> None:
    assert within(fact(FactKind.RANGE, "a", "d")) == [(FactKind.RANGE, ())]


def test_a_range_that_begins_in_an_anonymous_struct_holds_its_members() -> None:
    assert within(fact(FactKind.RANGE, "c", "d")) == [(FactKind.OFFSET, ("b", "c"))]


def test_an_anonymous_struct_keeps_its_size() -> None:
    inner = struct("", scalar("x", 4), scalar("y", 4), B)
    found = freedom(inner, atoms(inner, table(inner)), table(inner), (), base=8)
    assert (found.floor, found.ceiling) == (16, 16)
    told = found.refuses((0, 2, 1), (8, 24, 16), 24)
    assert told is not None
    assert told.kind is ConstraintKind.SIZE


def test_an_anonymous_struct_that_is_all_of_the_record_may_change_its_size() -> None:
    inner = struct("", scalar("x", 4), scalar("y", 4), B)
    outer = struct("s", held("", inner), flexible("rest"))
    found = freedom(inner, atoms(inner, table(inner)), table(inner, outer), (), 0, outer)
    assert found.ceiling is None
    longer = struct("s", held("", inner), D)
    kept = freedom(inner, atoms(inner, table(inner)), table(inner, longer), (), 0, longer)
    assert kept.ceiling == 16
    assert within(fact(FactKind.SIZE, size=40)) == [(FactKind.SIZE, ())]


def test_members_of_such_a_struct_are_aligned_too() -> None:
    inner = struct("", A, B, C)
    outer = struct("s", held("", inner), flexible("rest"))
    line = finding(outer, [hot("a", 0, 8, 90, 90), hot("b", 8, 8, 90)], [ConflictPair("b", "a", "a", 90)])
    target = subject(line, table(outer, inner))
    assert (target.layout.name, target.may_resize) == ("", True)
    limited = SourceFacts((("s", (fact(FactKind.SIZE, size=64),)),))
    assert subject(line, table(outer, inner), (), Premises(limited)).freedom.ceiling == 64


def test_a_finding_is_answered_within_the_facts_of_its_record() -> None:
    layout = struct("s", A, B, C)
    known = SourceFacts((("s", (fact(FactKind.OFFSET, "a"),)), ("t", (fact(FactKind.OFFSET, "b"),))))
    target = subject(meeting(layout, "a", "b"), table(layout), (), Premises(known))
    assert target.freedom.pinned == {0: 0}


def test_a_block_changes_places_with_nothing_for_a_swap_names_one_member() -> None:
    layout = struct("s", A, B, C, D)
    blocked = SourceFacts((("s", (fact(FactKind.TOGETHER, "a", "b"),)),))
    target = subject(meeting(layout, "a", "c"), table(layout), (), Premises(blocked))
    swapped = {
        frozenset((one.moves[0].member, one.moves[0].partner)) for one in swaps(target, unchanged(target), [0, 1])
    }
    assert swapped == {frozenset(("c", "d"))}


def test_a_block_that_passes_one_member_is_told_as_the_move_of_that_member() -> None:
    layout = struct(
        "s", scalar("head", 200), scalar("a", 56), scalar("w"), scalar("r", 16), scalar("rest", 64), align=64
    )
    together = fact(FactKind.TOGETHER, "a", "w")
    blocked = SourceFacts((("s", (fact(FactKind.FIRST, "head"), together)),))
    found = propose(meeting(layout, "w", "r"), table(layout), premises=Premises(blocked))
    orders = {tuple(member.name for member in one.after.members): one for one in found}
    passing = orders["head", "r", "a", "w", "rest"]
    assert [(move.member, move.after) for move in passing.moves] == [("r", "head")]
    assert passing.churn.members == 1


def test_members_that_meet_within_a_range_change_places_inside_it() -> None:
    layout = struct("s", A, B, C, D, *(scalar(f"cold{number}") for number in range(8)))
    cleared = SourceFacts((("s", (fact(FactKind.RANGE, "a", "cold7"), fact(FactKind.RANGE, "b", "c"))),))
    inside = subject(meeting(layout, "b", "d"), table(layout), (), Premises(cleared))
    assert [atom.names for atom in inside.parts[:3]] == [("a",), ("b", "c"), ("d",)]
    assert [list(inside.freedom.places(atom)) for atom in (0, 1, 10)] == [[0], list(range(1, 10)), [10]]


def test_a_range_in_which_nothing_meets_moves_as_one() -> None:
    layout = struct("s", A, B, C, D)
    cleared = SourceFacts((("s", (fact(FactKind.RANGE, "b", "c"),)),))
    target = subject(meeting(layout, "a", "b"), table(layout), (), Premises(cleared))
    assert [atom.names for atom in target.parts] == [("a",), ("b", "c"), ("d",)]


def test_members_that_meet_within_a_group_change_places_inside_it() -> None:
    begin, end = (
        replace(scalar(f"__cacheline_group_{one}__rx", 1), size=0, dimensions=(0,)) for one in ("begin", "end")
    )
    layout = struct("s", A, begin, B, C, *(scalar(f"cold{number}") for number in range(8)), end, D)
    inside = subject(meeting(layout, "b", "c"), table(layout))
    assert [list(inside.freedom.places(atom)) for atom in (0, 1, 2, 12)] == [[0], [1], list(range(2, 12)), [12]]
    assert str(inside.freedom.fixed[1]) == (
        "__cacheline_group_begin__rx stays between the same members: "
        "its group is asserted at compile time: what is in it stays in it"
    )
    around = subject(meeting(layout, "a", "b"), table(layout))
    assert [atom.name for atom in around.parts] == ["a", begin.name, "d"]


def test_a_candidate_says_that_facts_were_kept_to() -> None:
    layout = struct("s", A, B, *(scalar(f"cold{number}") for number in range(14)))
    known = Premises(SourceFacts((("s", (fact(FactKind.OFFSET, "a"),)),)))
    rest = "#if blocks, offset assertions, initialisers by position and memset ranges are in the source."
    line = meeting(layout, "a", "b")
    assert (
        f"Only the layout and the facts given were checked: {rest}"
        in propose(line, table(layout), 1, (), known)[0].notes
    )
    assert f"Only the layout was checked: {rest}" in propose(line, table(layout), 1)[0].notes
