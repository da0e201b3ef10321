# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge of candidates finds each kind of wrong one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hand_made import bits, flexible, held, meeting, scalar, struct, table
from legality.checker import violations
from legality.compiled import compiled, says, told_alignments
from legality.random_heat import Case

from linesmith.analyzer.geometry.placement import lay_out
from linesmith.analyzer.model import Candidate, FactKind, Layout, Member, Move, MoveKind, Prediction, SourceFact

A, B, C, D = scalar("a"), scalar("b"), scalar("c"), scalar("d")


def changed(before: Layout, after: Layout, *moves: Move) -> Candidate:
    return Candidate(before.name, before, after, moves, (), Prediction(1, 0, 1, 1), 1)


def said(
    layout: Layout, order: str, *facts: SourceFact, growth: int | None = None, inner: Sequence[Layout] = ()
) -> list[str]:
    """What is wrong with the members in this order, placed by C's rules; the moves are left to another test."""
    by_name = {member.name: member for member in layout.members}
    after = lay_out(layout, tuple(by_name[name] for name in order.split()))
    case = Case(layout, (meeting(layout, layout.members[0].name, layout.members[1].name),), facts, growth)
    return [one for one in violations(case, changed(layout, after), table(layout, *inner)) if "its moves" not in one]


def fact(kind: FactKind, *members: str, size: int | None = None) -> SourceFact:
    return SourceFact(kind, members, "so it is", bytes=size)


def test_a_legal_order_is_not_complained_about() -> None:
    assert said(struct("s", A, B, C, D), "d a b c") == []


def test_a_lost_member_is_found() -> None:
    assert said(struct("s", A, B, C), "a c") == ["members are lost or new"]


def test_moves_that_do_not_lead_to_the_layout_are_found() -> None:
    before = struct("s", A, B, C)
    after = lay_out(before, (B, C, A))
    case = Case(before, (), (), None)
    right, wrong = Move(MoveKind.MOVE, "a", after="c"), Move(MoveKind.MOVE, "a", after="b")
    assert violations(case, changed(before, after, right), table(before)) == []
    assert violations(case, changed(before, after, wrong), table(before)) == ["its moves do not lead to its layout"]


def test_bit_fields_that_come_to_share_memory_are_found() -> None:
    layout = struct("s", A, bits("x", 3), B, bits("y", 4), C)
    assert said(layout, "a x b y c") == []
    assert "y stands beside bit-fields that it was apart from" in said(layout, "a b x y c")


def test_growth_is_found() -> None:
    small = struct("s", scalar("x", 4), scalar("y", 4), A)
    assert said(small, "x a y", growth=0) == ["grows by 8 where 0 are allowed"]
    assert said(small, "x a y", fact(FactKind.SIZE, size=16)) == ["size of  is broken"]
    assert said(small, "x a y") == []


def test_what_does_not_end_or_begin_the_record_is_found() -> None:
    assert said(struct("s", A, B, flexible("rest")), "a rest b") == ["rest does not end the record any more"]
    base = struct("base", A, B)
    outer = struct("s", held("base", base), C)
    assert said(outer, "c base", inner=[base]) == ["base does not begin the record any more"]


def test_a_torn_run_is_found() -> None:
    layout = struct("s", bits("x", 3), bits("y", 4), scalar("n", 4))
    assert said(layout, "x n y") == ["y is torn from the bit-field before it"]


def test_what_leaves_a_group_is_found() -> None:
    begin, end = (
        replace(scalar(f"__cacheline_group_{one}__rx", 1), size=0, dimensions=(0,)) for one in ("begin", "end")
    )
    layout = struct("s", A, begin, B, C, end, D)
    assert said(layout, f"{begin.name} c b {end.name} a d") == []
    assert said(layout, f"a {begin.name} c {end.name} b d") == ["something has left or entered the group begin__rx"]


def test_a_crossed_marker_is_found() -> None:
    mark = replace(scalar("mark", 1), size=0, dimensions=(0,))
    assert said(struct("s", A, mark, B), "b mark a") == ["something has crossed mark"]


def test_a_lost_alignment_is_found() -> None:
    layout = struct("s", A, scalar("lock", 8, align=64))
    bare = replace(lay_out(layout, (A, scalar("lock"))), size=layout.size)
    case = Case(layout, (), (), None)
    assert violations(case, changed(layout, bare), table(layout)) == ["lock loses its alignment"]
    aligned = lay_out(layout, (replace(A, alignment=32), layout.members[1]))
    assert violations(case, changed(layout, aligned), table(layout)) == ["a gets an alignment that no move says"]
    move = Move(MoveKind.ALIGN, "a", align=32)
    assert violations(case, changed(layout, aligned, move), table(layout)) == []


def test_each_broken_fact_is_found() -> None:
    layout = struct("s", A, B, C, D)
    broken = {
        "b a c d": [fact(FactKind.OFFSET, "a"), fact(FactKind.FIRST, "a"), fact(FactKind.POSITIONAL, "b")],
        "a c b d": [fact(FactKind.RANGE, "a", "b"), fact(FactKind.TOGETHER, "b", "c"), fact(FactKind.APART, "a", "d")],
        "a b d c": [fact(FactKind.LAST, "d"), fact(FactKind.WALL, "d")],
    }
    for order, facts in broken.items():
        for one in facts:
            assert said(layout, order, one) == [f"{one.kind} of {', '.join(one.members)} is broken"]
            assert said(layout, "a b c d", one) == ([] if one.kind is not FactKind.APART else said(layout, order, one))


def test_members_of_a_range_may_change_places_inside_it() -> None:
    layout = struct("s", A, B, C, D)
    assert said(layout, "a c b d", fact(FactKind.RANGE, "a", "d")) == []
    assert said(layout, "a c b d", fact(FactKind.RANGE, "b", "d")) == ["range of b, d is broken"]


def test_a_record_of_user_space_that_changes_is_found() -> None:
    layout = replace(struct("s", A, B), file="include/uapi/linux/s.h")
    assert said(layout, "b a") == ["s is rearranged"]


def test_gcc_places_members_of_every_kind(tmp_path: Path) -> None:
    members: tuple[Member, ...] = (
        scalar("one", 1),
        bits("x", 3),
        bits("y", 30),
        scalar("lock", 4, align=64),
        scalar("wide", 24),
        flexible("rest"),
    )
    layout = struct("s", *members)
    (found,) = compiled([layout], tmp_path)
    assert found == says(layout)
    assert (found.size, found.alignment, found.starts) == (128, 64, (0, 8, 32, 512, 576, 768))


def test_gcc_disagrees_with_a_layout_that_is_wrong(tmp_path: Path) -> None:
    layout = struct("s", scalar("small", 4), A)
    wrong = replace(layout, members=(layout.members[0], replace(layout.members[1], offset=4)))
    (found,) = compiled([wrong], tmp_path)
    assert found != says(wrong)


def test_a_bit_field_behind_an_unnamed_one_of_no_width_opens_a_unit(tmp_path: Path) -> None:
    layout = struct("s", bits("x", 3), bits("y", 4))
    opened = replace(layout, members=(layout.members[0], replace(layout.members[1], offset=4, bit_offset=32)), size=8)
    (found,) = compiled([told_alignments(opened)], tmp_path)
    assert found == says(opened)
