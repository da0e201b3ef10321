# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge of candidates finds each kind of wrong one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import bits, flexible, held, meeting, scalar, struct, table
from legality.checker import violations
from legality.random_heat import Case

from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import Candidate, FactKind, Layout, Move, SourceFact

A, B, C, D = scalar("a"), scalar("b"), scalar("c"), scalar("d")
BASE = struct("base", A, B)
BEGIN, END, MARK = (
    replace(scalar(name, 1), size=0, dimensions=(0,))
    for name in ("__cacheline_group_begin__rx", "__cacheline_group_end__rx", "mark")
)
ABCD, SMALL = struct("s", A, B, C, D), struct("s", scalar("x", 4), scalar("y", 4), A)
FIELDS = struct("s", A, bits("x", 3), B, bits("y", 4), C)
RUN = struct("s", bits("x", 3), bits("y", 4), scalar("n", 4))
GROUP = struct("s", A, BEGIN, B, C, END, D)


def violated(
    before: Layout, after: Layout, *moves: Move, facts: tuple[SourceFact, ...] = (), growth: int | None = None
) -> list[str]:
    candidate = Candidate(before.name, before, after, moves, (), 1)
    line = meeting(before, before.members[0].name, before.members[1].name)
    return violations(Case(before, (line,), facts, growth), candidate, table(before, BASE))


def said(layout: Layout, order: str, *facts: SourceFact, growth: int | None = None) -> list[str]:
    """What is wrong with the members in this order, placed by C's rules; the moves are left to another test."""
    by_name = {member.name: member for member in layout.members}
    after = lay_out(layout, tuple(by_name[name] for name in order.split()))
    return [one for one in violated(layout, after, facts=facts, growth=growth) if "its moves" not in one]


@pytest.mark.parametrize(
    ("layout", "order", "complaint"),
    [
        (ABCD, "d a b c", None),
        (ABCD, "a c d", "members are lost or new"),
        (FIELDS, "a x b y c", None),
        (RUN, "x n y", "y is torn from the bit-field before it"),
        (FIELDS, "a b x y c", "y stands beside bit-fields that it was apart from"),
        (struct("s", A, B, flexible("rest")), "a rest b", "rest does not end the record any more"),
        (struct("s", held("base", BASE), C), "c base", "base does not begin the record any more"),
        (GROUP, f"{BEGIN.name} c b {END.name} a d", None),
        (GROUP, f"a {BEGIN.name} c {END.name} b d", "something has left or entered the group begin__rx"),
        (struct("s", A, MARK, B), "b mark a", "something has crossed mark"),
        (replace(BASE, file="include/uapi/linux/s.h"), "b a", "base is rearranged"),
        (SMALL, "x a y", "grows by 8 where 0 are allowed"),
    ],
)
def test_what_is_wrong_with_an_order(layout: Layout, order: str, complaint: str | None) -> None:
    told = said(layout, order, growth=0)
    assert complaint in told if complaint else told == []


@pytest.mark.parametrize(
    ("order", "kind", "members"),
    [
        ("b a c d", FactKind.OFFSET, "a"),
        ("b a c d", FactKind.FIRST, "a"),
        ("b a c d", FactKind.POSITIONAL, "b"),
        ("a c b d", FactKind.RANGE, "a b"),
        ("a c b d", FactKind.TOGETHER, "b c"),
        ("a b d c", FactKind.LAST, "d"),
        ("a b d c", FactKind.WALL, "d"),
        ("a b c d", FactKind.APART, "a d"),
    ],
)
def test_each_broken_fact_is_found(order: str, kind: FactKind, members: str) -> None:
    fact = SourceFact(kind, tuple(members.split()), "so it is")
    assert said(ABCD, order, fact) == [f"{kind} of {', '.join(fact.members)} is broken"]
