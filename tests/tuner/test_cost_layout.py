# SPDX-License-Identifier: GPL-2.0-or-later
"""All that a layout costs: contended accesses with limits, memory, proofs over the phases, lines of functions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, hot, meeting, scalar, struct, table

from linesmith.analyzer.model import (
    Bounds,
    ConflictPair,
    Finding,
    Layout,
    LineCost,
    LineMember,
    MemberFunction,
    SharingCost,
    Side,
    SlabMachine,
)
from linesmith.analyzer.slab import Kernel
from linesmith.tuner.cost.layout_cost import layout_cost
from linesmith.tuner.cost.noise import deviation, difference
from linesmith.tuner.cost.proofs import proofs
from linesmith.tuner.cost.saving import noise_floor, saving
from linesmith.tuner.premises import Premises
from linesmith.tuner.subject import Subject, subject

KERNEL = Kernel(SlabMachine(cpus=8, release=(6, 1)))


def row() -> Layout:
    """Three members on one line, 64 bytes of others, and room for one of them behind."""
    return struct("row", scalar("reader"), scalar("writer"), scalar("other"), scalar("rest", 104))


def shared(*amounts: tuple[str, str, float, float], exact: bool = False, removable: Bounds | None = None) -> LineCost:
    """A line's cost from (victim, writer, least, most) contended accesses of 400; each takes 100 cycles."""
    sharings = tuple(
        SharingCost(Side(victim, 1, 0), Side(writer, 0, 1), Bounds(least, most), Bounds(least * 100, most * 100))
        for victim, writer, least, most in amounts
    )
    whole = removable or Bounds(sum(one[2] for one in amounts), sum(one[3] for one in amounts))
    return LineCost(400, 40_000, sharings=sharings, removable=whole, exact=exact)


def line(cost: LineCost, pairs: list[ConflictPair], reads: int = 400) -> Finding:
    layout = row()
    seen = [hot("reader", 0, 8, reads=reads), hot("writer", 8, 8, writes=500), hot("other", 16, 8, writes=500)]
    return replace(finding(layout, seen, pairs), cost=cost)


def two_writers(cost: LineCost) -> Subject:
    """A reader beside two writers."""
    pairs = [ConflictPair("reader", "writer", "writer", 200), ConflictPair("reader", "other", "other", 200)]
    layout = row()
    found = line(cost, pairs)
    target = replace(found.objects[0], layout=layout.id)
    return subject(replace(found, objects=(target,)), table(layout))


# 200 accesses each, as sampled stores have it; both gone, all 400 are.
BOTH_WRITE = shared(("reader", "writer", 170, 230), ("reader", "other", 170, 230), removable=Bounds(400, 400))
# Without the other writer, and without both, in the phase of the profile; nobody else comes near.
ONE_AWAY, BOTH_AWAY = [0, 8, 64, 24], [0, 64, 72, 24]
# Where they never meet, which takes a larger record.
NEVER = [0, 120, 128, 8]


def nearly(found: Bounds, least: float, most: float) -> bool:
    """Whether the limits are these, but for the little that ``rest`` may cost, which meets a writer more often."""
    return least - 8 <= found.least <= least and most <= found.most <= most + 8


def test_the_limits_hold_what_counting_leaves_to_chance() -> None:
    target = two_writers(shared(("reader", "writer", 400, 400)))
    now = layout_cost(target, target.starts, 128, 8)
    assert now.here == Bounds(400 - deviation(400), 400 + deviation(400))
    assert round(deviation(400), 1) == 45.7


def test_nothing_is_left_where_nobody_meets_in_any_phase() -> None:
    target = two_writers(shared(("reader", "writer", 400, 400)))
    parted = layout_cost(target, NEVER, 136, 8)
    assert (parted.contended, parted.here, parted.likely) == (Bounds(), Bounds(), 0)


def test_a_writer_that_stays_may_take_over_what_the_other_did() -> None:
    target = two_writers(BOTH_WRITE)
    left = layout_cost(target, ONE_AWAY, 128, 8)
    # At least what the one that stays is to blame for, at most all 400.
    assert nearly(left.here, 170 - deviation(170), 400 + deviation(400))


def test_a_victim_that_is_written_itself_may_wait_as_long_without_the_others() -> None:
    written = shared(("reader", "writer", 170, 230), ("reader", "reader", 150, 250), removable=Bounds(0, 250))
    parted = layout_cost(two_writers(written), BOTH_AWAY, 128, 8)
    assert nearly(parted.here, 150 - deviation(150), 400 + deviation(400))


def test_misses_of_a_recording_count_as_far_as_a_layout_can_remove_them() -> None:
    cost = shared(("reader", "writer", 300, 300), exact=True, removable=Bounds(150, 240))
    parted = layout_cost(two_writers(cost), BOTH_AWAY, 128, 8)
    assert nearly(parted.here, 160 - deviation(160), 250 + deviation(250))


def test_cycles_are_those_of_the_profile() -> None:
    target = two_writers(shared(("reader", "writer", 400, 400)))
    found = saving(target, NEVER, 136, 8)
    assert (found.cycles.most, found.likely_cycles, found.cycles_before) == (40_000, 40_000, 40_000)


@pytest.mark.parametrize("starts", [ONE_AWAY, BOTH_AWAY])
def test_cycles_have_the_limits_of_the_accesses(starts: list[int]) -> None:
    """A loss that a member without samples, or chance, can bring is one of cycles too: 100 for each access here."""
    found = saving(two_writers(BOTH_WRITE), starts, 128, 8)
    assert (found.cycles.least, found.cycles.most) == pytest.approx(
        (100 * found.contended.least, 100 * found.contended.most)
    )
    assert found.cycles.least <= found.likely_cycles == 100 * found.likely <= found.cycles.most
    assert saving(two_writers(BOTH_WRITE), ONE_AWAY, 128, 8).cycles.least < 0


def test_what_is_saved_has_limits_on_both_sides() -> None:
    target = two_writers(BOTH_WRITE)
    found = saving(target, ONE_AWAY, 128, 8)
    assert nearly(found.contended, 0 - found.noise, 230 + found.noise)
    assert found.likely == 200


def test_a_layout_that_changes_nothing_saves_nothing() -> None:
    target = two_writers(BOTH_WRITE)
    found = saving(target, target.starts, 128, 8)
    assert (found.contended, found.likely, found.tells) == (Bounds(-found.noise, found.noise), 0, False)


def test_seven_samples_are_below_the_noise_eight_are_not() -> None:
    layout = row()
    few, enough = (subject(meeting(layout, "writer", "reader", samples=n), table(layout)) for n in (7, 8))
    assert [saving(one, NEVER, 136, 8).tells for one in (few, enough)] == [False, True]
    assert (noise_floor(few) > 7, noise_floor(enough) < 8) == (True, True)


def test_of_many_samples_less_than_runs_differ_by_tells_nothing() -> None:
    assert difference(1_000_000) == pytest.approx(83_200, rel=1e-3)


def test_members_that_never_met_may_cost_nothing_or_all_they_wait_for() -> None:
    layout = struct("s", scalar("reader"), scalar("writer"), scalar("gap", 112), scalar("far"))
    there = finding(layout, [hot("far", 128, 8, reads=80)], rank=1)
    target = subject(meeting(layout, "writer", "reader"), table(layout), [there])
    found = saving(target, [128, 120, 0, 136], 144, 8)
    # In 1 of 8 phases the reader no longer meets the writer; in 6 of 8 the one that was far now does.
    assert found.contended.least == pytest.approx(100 / 8 - 80 * 6 / 8 - found.noise)
    assert found.likely == pytest.approx(100 / 8 - 0.25 * 80 * 6 / 8)


def test_memory_is_that_of_the_slab_of_the_new_size() -> None:
    layout = struct("vm_area_struct", scalar("reader"), scalar("writer"), scalar("rest", 144))
    target = subject(meeting(layout, "writer", "reader"), table(layout), premises=Premises(kernel=KERNEL))
    (now,) = layout_cost(target, target.starts, 160, 8).memory
    (grown,) = layout_cost(target, target.starts, 192, 64).memory
    assert (now.cache, now.stride, now.pages_per_1000) == ("vm_area_struct", 160, 40)
    assert (grown.object_bytes, grown.stride, grown.pages_per_1000, grown.bytes_per_100000) == (
        192, 192, 48, 19_505_152,
    )  # fmt: skip


def test_a_proof_tells_each_place_and_every_start() -> None:
    layout = struct("vm_area_struct", scalar("reader"), scalar("gap", 40), scalar("writer"), scalar("rest", 104))
    target = subject(meeting(layout, "writer", "reader"), table(layout), premises=Premises(kernel=KERNEL))
    found = proofs(target.heat, target.starts, granule=8)
    # 160 bytes apart, objects begin at two phases; both members are on one line in the one at its beginning.
    assert [(one.place, one.line_bytes, one.together, one.phases, round(one.share, 2)) for one in found] == [
        ("vm_area_struct", 64, 1, 2, 0.52),
        ("", 64, 2, 8, 0.25),
        ("vm_area_struct", 128, 3, 4, 0.76),
        ("", 128, 10, 16, 0.62),
    ]


def test_members_56_bytes_apart_never_meet_wherever_the_object_starts() -> None:
    layout = row()
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    (never, pair) = proofs(target.heat, [0, 64, 8, 16], granule=8)
    assert (never.place, never.together, never.phases, pair.together) == ("", 0, 8, 8)


def test_a_pair_of_lines_counts_apart() -> None:
    layout = row()
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    beside = layout_cost(target, [0, 64, 8, 24], 128, 8)
    assert nearly(beside.contended, 0, 0)
    assert beside.adjacent == Bounds(0, 50)


def test_a_function_touches_fewer_lines_when_its_members_are_together() -> None:
    layout = struct("s", scalar("a"), scalar("gap", 120), scalar("b"), scalar("rest", 56))

    def used(name: str, offset: int) -> LineMember:
        return replace(hot(name, offset, 8, reads=50, writes=5), functions=(MemberFunction("walk", 50, 5),))

    here = finding(layout, [used("a", 0)], [])
    there = finding(layout, [used("b", 128)], [], rank=1)
    target = subject(here, table(layout), [there])
    far, near = (layout_cost(target, starts, 192, 8).co_access for starts in (target.starts, [0, 16, 8, 136]))
    assert [(one.function, one.members, one.weight, one.lines) for one in far] == [("walk", ("a", "b"), 110.0, 2.0)]
    assert near[0].lines == 9 / 8


def test_accesses_to_a_member_on_two_lines_are_told() -> None:
    layout = struct("s", scalar("reader"), scalar("gap", 40), scalar("writer", 16), scalar("rest", 64))
    target = subject(meeting(layout, "writer", "reader", samples=80), table(layout))
    assert layout_cost(target, target.starts, 128, 64).straddling == 0
    assert layout_cost(target, [0, 8, 56, 72], 128, 64).straddling == 80


def test_a_member_without_samples_may_be_as_hot_as_any_that_was_seen() -> None:
    layout = struct("s", scalar("quiet"), scalar("gap", 120), scalar("reader"), scalar("writer"), scalar("rest", 112))
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    beside_quiet = saving(target, [0, 24, 144, 8, 152], 256, 8)
    alone = saving(target, [0, 8, 144, 208, 96], 256, 8)
    assert beside_quiet.contended.least < alone.contended.least - 20
    assert beside_quiet.contended.most == alone.contended.most == 100


def test_a_lock_is_held_for_longer_by_who_waits_for_its_neighbours() -> None:
    layout = struct("maps", scalar("entries"), scalar("lock"), scalar("rest", 112))
    reader = replace(hot("entries", 0, 8, reads=60), functions=(MemberFunction("find", 60, 0),))
    waiting = MemberFunction("queued_spin_lock_slowpath", 400, 300)
    lock = replace(hot("lock", 8, 8, reads=400, writes=300, lock=True), functions=(waiting,))
    target = subject(finding(layout, [reader, lock], [ConflictPair("entries", "lock", "lock", 60)]), table(layout))
    assert target.heat.waited_for == {"lock"}
    # Turns alone see the reader's line freed, and the lock as before; what its holder waits comes on top.
    parted = saving(target, [0, 64, 8], 128, 8)
    assert parted.likely >= 60
    assert parted.before == 460


def test_nobody_knows_of_losses_larger_than_all_that_is_contended() -> None:
    layout = struct("s", scalar("reader"), scalar("writer"), scalar("gap", 112), scalar("far"))
    here = [hot("reader", 0, 8, reads=100), hot("writer", 8, 8, writes=9000)]
    there = replace(finding(layout, [hot("far", 128, 8, reads=9000)], rank=1), contended=10)
    pairs = [ConflictPair("reader", "writer", "writer", 100)]
    target = subject(finding(layout, here, pairs), table(layout), [there])
    beside_far = saving(target, [0, 136, 8, 128], 144, 8)
    assert (beside_far.contended.least, beside_far.before) == (-110, 110)
