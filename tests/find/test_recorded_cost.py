# SPDX-License-Identifier: GPL-2.0-or-later
"""What a line of a recording costs: every miss names its writer, so that most of it is counted, not bounded."""

from __future__ import annotations

from linesmith.analyzer.findings import findings
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Access, Bounds, Conflict, LineCost, Profile, SharedLine
from linesmith.analyzer.sharing.recorded_cost import removable_limit


def cost_of(*conflicts: Conflict) -> LineCost:
    accesses = tuple(Access(offset, f"at_{offset}", hitm_local=10, stores_l1_hit=10) for offset in (0, 8))
    line = SharedLine(0, 0x1000, accesses, hitm_local=20, conflicts=conflicts)
    return findings(Profile("test", "", "hitm", (line,)), LayoutTable([]), ())[0].cost


def conflict(victim: int, writer: int, true_sharing: bool, local: int, remote: int = 0, shadowed: int = 0) -> Conflict:
    return Conflict(victim, 8, "v", writer, 8, "w", true_sharing, local, remote, shadowed=shadowed)


def test_misses_for_nothing_between_two_members_can_be_removed() -> None:
    cost = cost_of(conflict(0, 8, False, 60), conflict(0, 8, True, 30), conflict(0, 0, True, 10))
    assert (cost.contended, cost.removable) == (100, Bounds(60, 60))
    assert cost.exact


def test_misses_within_one_member_stay_even_if_they_are_for_nothing() -> None:
    assert cost_of(conflict(0, 0, False, 60)).removable == Bounds(0, 0)


def test_a_miss_that_also_brought_news_may_only_move_to_another_member() -> None:
    cost = cost_of(conflict(0, 8, False, 60), conflict(8, 8, True, 0, shadowed=45))
    assert cost.removable == Bounds(15, 60)
    assert "up to 45 of these misses also brought bytes written elsewhere" in cost.notes[0]


def test_misses_across_nodes_cost_more() -> None:
    assert cost_of(conflict(0, 8, False, 10, 10)).removable_cycles == Bounds(4200, 4200)


def test_members_are_named_by_victim_and_writer() -> None:
    cost = cost_of(conflict(0, 8, False, 60), conflict(8, 0, False, 20))
    assert [(one.victim.member, one.writer.member, one.contended.most) for one in cost.sharings] == [
        ("0x0", "0x8", 60),
        ("0x8", "0x0", 20),
    ]


def test_the_limit_without_types_takes_every_offset_for_a_member() -> None:
    conflicts = (conflict(0, 4, False, 60), conflict(0, 8, True, 30), conflict(0, 0, False, 10))
    assert removable_limit(SharedLine(0, 0x1000, (), conflicts=conflicts)) == 60 * 120
