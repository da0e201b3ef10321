# SPDX-License-Identifier: GPL-2.0-or-later
"""Records packed anew: what the solver says of an order is what the rest of the tuner says of it."""

from __future__ import annotations

import pytest
from hand_made import bits, flexible, held, meeting, scalar, struct, table
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.model import FactKind, Layout, MoveKind, SourceFact, SourceFacts
from linesmith.tuner.packing.packed import packed
from linesmith.tuner.premises import NO_PREMISES, Premises
from linesmith.tuner.search import price
from linesmith.tuner.subject import Subject, subject

COLD = tuple(scalar(f"cold{number}") for number in range(14))
QUEUE = struct("s", scalar("head"), scalar("tail"), scalar("flags", 4), scalar("mode", 1), *COLD)


def of(layout: Layout, writer: str, *readers: str, apart: tuple[str, str] | None = None) -> Subject:
    """The record of a line, of which two members may have to be apart."""
    facts = SourceFacts((("s", (SourceFact(FactKind.APART, apart, "so it is"),)),)) if apart else None
    premises = Premises(facts) if facts else NO_PREMISES
    return subject(meeting(layout, writer, *readers), table(layout), (), premises)


def test_one_move_is_enough_where_only_two_members_meet() -> None:
    (only,) = packed(of(QUEUE, "head", "tail"))
    assert (only.optimality.cost, only.optimality.bound, only.optimality.proven) == (0.0, 0.0, True)
    assert [(move.kind, move.member) for move in only.arrangement.moves] == [(MoveKind.MOVE, "tail")]


def test_the_moves_lead_from_the_present_order_to_the_new_one() -> None:
    target = of(QUEUE, "head", "tail", "flags")
    answers = packed(target)
    assert answers
    for answer in answers:
        order = [part.name for part in target.parts]
        for move in answer.arrangement.moves:
            order.remove(move.member)
            order.insert(order.index(move.after) + 1 if move.after else 0, move.member)
        assert order == [target.parts[atom].name for atom in answer.arrangement.order]


def test_what_cannot_be_packed_anew() -> None:
    three = struct("s", scalar("a"), scalar("b"), scalar("c"))
    long = struct("s", scalar("a"), scalar("b"), scalar("buffer", 1 << 17))
    assert packed(of(struct("pair", scalar("a"), scalar("b")), "a", "b")) == (), "what cannot be better"
    assert packed(of(three, "a", "b", apart=("a", "c"))) == (), "where no order is legal"
    assert packed(of(long, "a", "b", apart=("a", "buffer"))) == (), "long members that must be apart"


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


def legal(target: Subject) -> int:
    """How many answers there are; each is legal, costs what was said, and less than the one before."""
    last = float("inf")
    answers = packed(target)
    for answer in answers:
        option = price(target, answer.arrangement)
        assert sorted(answer.arrangement.order) == list(range(len(target.parts)))
        assert target.freedom.refuses(answer.arrangement.order, option.starts, option.size) is None
        assert option.size <= target.layout.size
        assert option.cost.here + option.cost.anywhere == pytest.approx(answer.optimality.cost, abs=1e-6)
        assert answer.optimality.bound <= answer.optimality.cost < last
        last = answer.optimality.cost
    return len(answers)


@settings(max_examples=25)
@given(hot_records())
def test_packed_orders_are_legal_cheaper_and_cost_what_was_said(target: Subject) -> None:
    legal(target)


def test_what_the_source_keeps_apart_stays_apart() -> None:
    """The member that would move alone may not come to the line of the last one; then the other one moves."""
    layout = struct("s", scalar("a"), scalar("b"), *COLD, align=64)
    (free,) = packed(of(layout, "a", "b"))
    (move,) = free.arrangement.moves
    assert legal(of(layout, "a", "b", apart=(move.member, "cold13")))
