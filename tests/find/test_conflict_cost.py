# SPDX-License-Identifier: GPL-2.0-or-later
"""What a line costs by its samples: who can have made whom wait, and how much a layout can remove."""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.findings import findings
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Access, Bounds, CpuCounts, LineCost, Profile, SharedLine


def line_of(*accesses: Access, address: int = 0x1000, line_bytes: int = 64, hitm: int | None = None) -> SharedLine:
    contended = sum(access.contended for access in accesses)
    stores = sum(access.stores for access in accesses)
    return SharedLine(0, address, accesses, line_bytes, 0, contended if hitm is None else hitm, stores_l1_hit=stores)


def cost_of(line: SharedLine, *others: SharedLine, events: tuple[str, ...] = ()) -> LineCost:
    profile = Profile("test", "", "hitm", (line, *others), events=events)
    return findings(profile, LayoutTable([]), ())[0].cost


def read(offset: int, hitm: int, cpus: int | None = None) -> Access:
    return Access(offset, f"read_{offset}", hitm_local=hitm, cycles_local=200, cpus=cpus)


def write(offset: int, stores: int) -> Access:
    return Access(offset, f"write_{offset}", stores_l1_hit=stores)


def exactly(count: float) -> Bounds:
    return Bounds(count, count)


def blames(cost: LineCost) -> list[tuple[str, str, Bounds]]:
    return [(one.victim.member, one.writer.member, one.contended) for one in cost.sharings]


def test_all_that_a_member_nobody_writes_waits_for_another_can_be_removed() -> None:
    cost = cost_of(line_of(read(0, 100), write(8, 50)))
    assert (cost.removable, cost.removable_cycles, cost.share) == (exactly(100), exactly(20_000), exactly(1))


def test_nothing_can_be_removed_where_one_member_waits_for_itself() -> None:
    cost = cost_of(line_of(read(0, 100), write(0, 50)))
    assert (cost.removable, cost.removable_cycles) == (exactly(0), exactly(0))
    assert blames(cost) == [("0x0", "0x0", exactly(100))]


def test_a_member_written_itself_may_gain_the_share_of_the_others_stores_and_nothing_for_sure() -> None:
    cost = cost_of(line_of(read(0, 1000), write(0, 9000), write(8, 1000)))
    assert cost.removable.least == 0
    assert 100 < cost.removable.most < 107  # a tenth of the stores, and what sampling 10,000 leaves open
    assert "may have been written itself" in cost.notes[0]


def test_without_sampled_stores_a_member_written_itself_may_gain_all_or_nothing() -> None:
    locks = (Access(0, "queued_spin_lock_slowpath", hitm_local=60), Access(8, "mutex_lock", hitm_local=40))
    assert cost_of(line_of(*locks)).removable == exactly(0)  # without a type, a line has one lock
    updates = (read(0, 60), read(8, 40))
    assert cost_of(line_of(*updates), events=("ibs_op//",)).removable == Bounds(0, 100)


def test_of_two_writers_each_is_to_blame_by_its_share_of_the_stores() -> None:
    cost = cost_of(line_of(read(0, 1000), write(8, 7500), write(16, 2500)))
    first, second = (one.contended for one in cost.sharings)
    assert first.least < 750 < first.most < 760
    assert 240 < second.least < 250 < second.most
    assert cost.removable == exactly(1000)


def test_two_accesses_of_one_cpu_never_conflict() -> None:
    own = Access(0, "update", hitm_local=10, stores_l1_hit=90, by_cpu=(CpuCounts(3, 0, stores=90, contended=10),))
    other = Access(8, "write", stores_l1_hit=10, by_cpu=(CpuCounts(5, 1, stores=10),))
    cost = cost_of(line_of(own, other))
    assert blames(cost) == [("0x0", "0x8", exactly(10))]
    assert (cost.sharings[0].victim.cpus, cost.sharings[0].writer.nodes) == ((3,), (1,))


def test_a_list_of_cpus_tells_as_much_as_samples_one_by_one() -> None:
    own = Access(0, "update", hitm_local=10, stores_l1_hit=90, nodes="0{3}")
    other = Access(8, "write", stores_l1_hit=10, nodes="0{0-2} 1{5}")
    assert blames(cost_of(line_of(own, other))) == [("0x0", "0x8", exactly(10))]


def test_cpus_that_are_only_counted_may_be_the_same_or_not() -> None:
    cost = cost_of(line_of(read(0, 10, cpus=1), Access(0, "write", stores_l1_hit=5, cpus=1)))
    assert blames(cost) == [("0x0", "0x0", exactly(10))]


def test_slow_loads_that_were_no_hitm_count_in_the_upper_limit_only() -> None:
    slow = replace(read(0, 100), records=300, cycles_load=105)
    cost = cost_of(line_of(slow, write(8, 50)))
    assert (cost.cycles, cost.slow_cycles) == (20_000, 20_000)
    assert cost.removable_cycles == Bounds(20_000, 40_000)


def test_without_latencies_a_remote_hitm_is_taken_to_cost_more_than_a_local_one() -> None:
    cost = cost_of(line_of(Access(0, "read", hitm_remote=10, hitm_local=10), write(8, 5)))
    assert (cost.cycles, cost.timed) == (10 * 300 + 10 * 120, False)


def test_who_waits_without_a_writer_may_wait_for_a_member_that_was_not_sampled() -> None:
    cost = cost_of(line_of(read(0, 100)))
    assert cost.removable == Bounds(0, 100)
    assert "100 contended accesses waited: a member that was not sampled may" in cost.notes[0]


def test_a_writer_in_the_other_half_of_the_pair_is_told_apart() -> None:
    cost = cost_of(line_of(read(0, 100)), line_of(write(8, 50), address=0x1040))
    assert cost.adjacent == Bounds(0, 100)
    assert [(one.writer.member, one.span) for one in cost.sharings] == [("0x8 of line 0", 128)]


def test_where_the_line_has_a_writer_of_its_own_the_other_half_is_not_blamed() -> None:
    cost = cost_of(line_of(read(0, 100), write(16, 1)), line_of(write(8, 50), address=0x1040))
    assert (cost.adjacent, cost.removable) == (exactly(0), exactly(100))


def test_a_double_line_has_two_halves() -> None:
    cost = cost_of(line_of(read(0, 100), write(72, 50), line_bytes=128))
    assert (cost.adjacent, cost.sharings[0].span) == (Bounds(0, 100), 128)


def test_rows_that_were_not_pasted_may_be_of_any_member() -> None:
    cost = cost_of(line_of(read(0, 100), write(8, 50), hitm=180))
    assert (cost.contended, cost.removable) == (180, Bounds(100, 180))
    assert "80 contended accesses stand in no row" in cost.notes[0]
    one = cost_of(line_of(read(0, 10), write(8, 50), Access(None, "far", hitm_local=1)))
    assert one.notes[0] == "1 contended access stands in no row of the profile: it may be of any member"


def test_the_share_is_of_all_cycles_of_the_profile() -> None:
    elsewhere = line_of(Access(0, "read", hitm_local=100, cycles_local=600), address=0x8000)
    assert cost_of(line_of(read(0, 100), write(8, 50)), elsewhere).share == exactly(0.25)


def test_who_waits_for_a_lock_waits_longer_for_its_neighbours() -> None:
    lock = Access(8, "queued_spin_lock_slowpath", hitm_local=80, stores_l1_hit=50)
    alone = cost_of(line_of(lock))
    beside = cost_of(line_of(lock, read(0, 20)))
    assert (alone.removable, beside.removable) == (exactly(0), Bounds(20, 100))
    assert "who holds the lock waits for its neighbours" in beside.notes[0]


def test_lines_of_a_text_without_counts_are_weighed_by_their_own_share() -> None:
    line = replace(line_of(read(0, 100), write(8, 50)), nominal=True, share=0.3)
    assert cost_of(line).share == exactly(0.3)
