# SPDX-License-Identifier: GPL-2.0-or-later
"""Records packed anew: what the solver says of an order is what the rest of the tuner says of it."""

from __future__ import annotations

import pytest
from hand_made import bits, flexible, held, meeting, scalar, struct, table
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.model import FactKind, Layout, MoveKind, SourceFact, SourceFacts
from linesmith.tuner.packing.packed import packed
from linesmith.tuner.premises import Premises
from linesmith.tuner.search import price
from linesmith.tuner.subject import Subject, subject

QUEUE = struct(
    "queue",
    scalar("head"),
    scalar("tail"),
    scalar("flags", 4),
    scalar("mode", 1),
    *(scalar(f"cold{number}") for number in range(14)),
)


def subject_of(layout: Layout, writer: str, *readers: str) -> Subject:
    return subject(meeting(layout, writer, *readers), table(layout))


def names(target: Subject, order: tuple[int, ...]) -> list[str]:
    return [target.parts[atom].name for atom in order]


def test_one_move_is_enough_where_only_two_members_meet() -> None:
    target = subject_of(QUEUE, "head", "tail")
    (only,) = packed(target)
    assert (only.optimality.cost, only.optimality.bound, only.optimality.proven) == (0.0, 0.0, True)
    assert [(move.kind, move.member) for move in only.arrangement.moves] == [(MoveKind.MOVE, "tail")]


def test_the_moves_lead_from_the_present_order_to_the_new_one() -> None:
    target = subject_of(QUEUE, "head", "tail", "flags")
    answers = packed(target)
    assert answers
    for answer in answers:
        order = names(target, tuple(range(len(target.parts))))
        for move in answer.arrangement.moves:
            order.remove(move.member)
            order.insert(order.index(move.after) + 1 if move.after else 0, move.member)
        assert order == names(target, answer.arrangement.order)


def test_what_cannot_be_better_is_not_packed_anew() -> None:
    assert packed(subject_of(struct("pair", scalar("a"), scalar("b")), "a", "b")) == ()


def test_where_no_order_is_legal_none_is_packed() -> None:
    layout = struct("s", scalar("a"), scalar("b"), scalar("c"))
    apart = SourceFacts((("s", (SourceFact(FactKind.APART, ("a", "c"), "so it is"),)),))
    assert packed(subject(meeting(layout, "a", "b"), table(layout), (), Premises(apart))) == ()


def test_long_members_that_must_be_apart_are_not_packed() -> None:
    layout = struct("s", scalar("a"), scalar("b"), scalar("buffer", 1 << 17))
    apart = SourceFacts((("s", (SourceFact(FactKind.APART, ("a", "buffer"), "so it is"),)),))
    assert packed(subject(meeting(layout, "a", "b"), table(layout), (), Premises(apart))) == ()


def test_a_base_and_a_flexible_array_stay_where_they_are() -> None:
    base = struct("base", scalar("next"), scalar("refs"))
    layout = struct("node", held("base", base), *QUEUE.members, flexible("data"))
    target = subject(meeting(layout, "head", "tail"), table(layout, base))
    (only,) = packed(target)
    assert (only.arrangement.order[0], only.arrangement.order[-1]) == (0, len(target.parts) - 1)


@st.composite
def hot_records(draw: st.DrawFn) -> Subject:
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8, 8, 16, 40]), min_size=3, max_size=12))
    members = [scalar(f"m{number}", size) for number, size in enumerate(sizes)]
    fields = [bits("low", 3), bits("high", 7)] if draw(st.booleans()) else []
    layout = struct("record", *members[:2], *fields, *members[2:], align=8)
    hot = draw(st.permutations([member.name for member in members]))
    phase = draw(st.sampled_from([0, 8, 40]))
    return subject(meeting(layout, hot[0], *hot[1 : draw(st.integers(2, 3))], phase=phase), table(layout))


@settings(max_examples=40)
@given(hot_records())
def test_packed_orders_are_legal_cheaper_and_cost_what_was_said(target: Subject) -> None:
    present = tuple(range(len(target.parts)))
    last = float("inf")
    for answer in packed(target):
        option = price(target, answer.arrangement)
        assert sorted(answer.arrangement.order) == list(present)
        assert target.freedom.refuses(answer.arrangement.order, option.starts, option.size) is None
        assert option.size <= target.layout.size
        assert option.cost.here + option.cost.anywhere == pytest.approx(answer.optimality.cost, abs=1e-6)
        assert answer.optimality.bound <= answer.optimality.cost < last
        last = answer.optimality.cost


def test_what_the_source_keeps_apart_stays_apart() -> None:
    """The member that would move alone may not come to the line of the last one; then the other one moves."""
    layout = struct("pair", scalar("a"), scalar("b"), *(scalar(f"cold{number}") for number in range(14)), align=64)
    line = meeting(layout, "a", "b")
    (free,) = packed(subject(line, table(layout)))
    (move,) = free.arrangement.moves
    apart = SourceFacts((("pair", (SourceFact(FactKind.APART, (move.member, "cold13"), "so it is"),)),))
    target = subject(line, table(layout), (), Premises(apart))
    answers = packed(target)
    assert answers
    for answer in answers:
        option = price(target, answer.arrangement)
        assert target.freedom.refuses(answer.arrangement.order, option.starts, option.size) is None
