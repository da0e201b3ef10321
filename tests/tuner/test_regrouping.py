# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hot members part and come together when a record is laid out anew, phase by phase."""

from __future__ import annotations

from hand_made import finding, hot, scalar, struct, table

from linesmith.analyzer.model import ConflictPair
from linesmith.tuner.cost.placed import Placed
from linesmith.tuner.cost.regrouping import Regroupings
from linesmith.tuner.subject import subject


def laid_out(*starts: int) -> tuple[Placed, Placed]:
    """Three words in a row, each hot, and the same three at ``starts``."""
    layout = struct("s", scalar("a"), scalar("b"), scalar("c"))
    seen = [hot("a", 0, 8, reads=60, writes=5), hot("b", 8, 8, reads=40, writes=5), hot("c", 16, 8, writes=5)]
    pairs = [ConflictPair("a", "b", "a", 100), ConflictPair("b", "c", "c", 40), ConflictPair("a", "c", "c", 60)]
    heat = subject(finding(layout, seen, pairs), table(layout)).heat
    return Placed(heat, (0, 8, 16), 64), Placed(heat, starts, 64)


def test_where_all_stay_together_nothing_changes() -> None:
    found = Regroupings(*laid_out(16, 0, 8)).between(0, 0)
    assert (found.parted, found.joined, found.members, found.contacts) == (frozenset(), frozenset(), frozenset(), ())


def test_a_member_that_leaves_parts_from_both_in_the_order_of_the_contacts() -> None:
    before, after = laid_out(0, 8, 64)
    found = Regroupings(before, after).between(0, 0)
    assert found.parted == {frozenset("ac"), frozenset("bc")}
    assert found.joined == frozenset()
    assert found.members == frozenset("abc")
    assert found.contacts == tuple(one for one in before.heat.contacts if "c" in one.names)


def test_what_comes_together_is_told_apart_from_what_parts() -> None:
    before, after = laid_out(0, 64, 72)
    found = Regroupings(after, before).between(0, 0)
    assert found.joined == {frozenset("ab"), frozenset("ac")}
    assert found.parted == frozenset()


def test_each_phase_is_regrouped_by_itself() -> None:
    regroupings = Regroupings(*laid_out(0, 8, 16))
    assert regroupings.between(0, 48).parted == {frozenset("ac"), frozenset("bc")}
    assert regroupings.between(48, 0).joined == {frozenset("ac"), frozenset("bc")}
