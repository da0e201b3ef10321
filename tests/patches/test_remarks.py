# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of the comment beside a moved member; where it stands is in ``cases/remarks.txt``."""

from __future__ import annotations

from dataclasses import replace

import pytest
from patch_cases import behind, candidate, finding, ordered

from linesmith.analyzer.model import (
    Candidate,
    Finding,
    LineMember,
    LineObject,
    MemberFunction,
    Move,
    MoveKind,
    Outcome,
    Residual,
)
from linesmith.patches.message.paragraphs import remarks_on


def line_of(**written: bool) -> Finding:
    """A hot line of members that are read, some of them ``written``."""
    members = tuple(LineMember(name, 0, 0, 8, 5, 3 * stores, ()) for name, stores in written.items())
    return replace(finding(), members=members)


def change(order: str, move: Move, *pairs: tuple[str, str], after: float = 0.0) -> Candidate:
    """A change of ``a b c`` to ``order`` that parts the members of each pair."""
    parted = [Residual(*pair, 64, 1.0, after) for pair in pairs]
    return candidate(ordered(" ".join(sorted(order.split()))), ordered(order), [move], parted)


MOVED = change("b c a", behind("a", "c"), ("a", "c"))
NEARER = change("b c a", behind("a", "c"), ("a", "c"), after=0.5)
SWAPPED = change("c b a", Move(MoveKind.SWAP, "a", partner="c"), ("a", "c"), ("c", "b"))
BETWEEN = change("b a c", behind("a", "b"), ("b", "c"))
NESTED = change("c a", behind("a", "c"), ("a.x", "c[0]"), ("a.y", "c.z"))
ALIGNED = change("a b", Move(MoveKind.ALIGN, "a", align=64), ("a", "b"), ("c", "a"), ("a", "d"), ("a", "e"))
OFF = "Off the cache line of c"
AWAY = "Starts a cache line, off that of b, c, d and 1 more, written often."
CALLS = (MemberFunction("take", 0, 9), MemberFunction("look", 40, 0), MemberFunction("drop", 0, 3))
CALLED = replace(line_of(), members=(LineMember("a", 0, 0, 8, 5, 12, CALLS),))


@pytest.mark.parametrize(
    ("proposal", "line", "said"),
    [
        (MOVED, line_of(a=True, c=False), {"a": "Written often; off the cache line of c."}),
        (MOVED, line_of(a=False, c=True), {"a": f"{OFF}, written often."}),
        (NEARER, line_of(a=False, c=True), {"a": "Away from c, written often."}),
        (MOVED, line_of(a=False), {"a": f"{OFF}."}),
        (MOVED, CALLED, {"a": "Written by take() etc.; off the cache line of c."}),
        (BETWEEN, CALLED, {"a": "Keeps c off the cache line of b."}),
        (BETWEEN, line_of(b=True), {"a": "Keeps b, written often, off the cache line of c."}),
        (SWAPPED, line_of(a=True), {"a": "Written often; off the cache line of c."}),
        (NESTED, finding(), {"a": f"{OFF}."}),
        (ALIGNED, line_of(b=True), {"a": AWAY}),
        (change("b a", behind("a", "b")), finding(), {}),
    ],
)
def test_it_says_who_writes_and_whose_line_it_is_off(proposal: Candidate, line: Finding, said: dict[str, str]) -> None:
    assert remarks_on(proposal, line) == said


def test_of_a_record_in_doubt_it_says_only_where_the_member_stands() -> None:
    """Who reads and who writes is then perhaps said of other members."""
    seen = LineObject("s", 1, 0, 0, 1.0, Outcome.RESOLVED, doubt="what is touched at 0x8 hardly fits it")
    assert remarks_on(MOVED, replace(line_of(a=True, c=False), objects=(seen,))) == {"a": f"{OFF}."}
