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
    Interval,
    Layout,
    LineCost,
    LineMember,
    MemberFunction,
    Misses,
    ReplayedSaving,
    Saving,
    SharingCost,
    Side,
    SimulatedLines,
    Simulation,
    SlabMachine,
)
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.tuner.constraints.facts import Premises
from linesmith.tuner.cost.layout_cost import layout_cost
from linesmith.tuner.cost.meetings import proofs
from linesmith.tuner.cost.saving import replayed_saving, saving
from linesmith.tuner.propose.subject import ContendedRecord, subject

KERNEL = Premises(kernel=Kernel(SlabMachine(cpus=8, release=(6, 1))))


def members(name: str, **sizes: int) -> Layout:
    return struct(name, *(scalar(one, size) for one, size in sizes.items()))


# Three members on one line, 64 bytes of others, and room for one of them behind.
ROW = members("row", reader=8, writer=8, other=8, rest=104)


def met(layout: Layout, samples: int = 100, *others: Finding, premises: Premises | None = None) -> ContendedRecord:
    """The record of a line on which its reader meets its writer."""
    line = meeting(layout, "writer", "reader", samples=samples)
    return subject(line, table(layout), others, *([premises] if premises else []))


def shared(
    *amounts: tuple[str, str, float, float], exact: bool = False, removable: Bounds | None = None
) -> ContendedRecord:
    """A reader beside two writers, on a line that costs (victim, writer, least, most) contended accesses of 400.

    Each takes 100 cycles.
    """
    sharings = tuple(
        SharingCost(Side(victim, 1, 0), Side(writer, 0, 1), Bounds(least, most), Bounds(least * 100, most * 100))
        for victim, writer, least, most in amounts
    )
    whole = removable or Bounds(sum(one[2] for one in amounts), sum(one[3] for one in amounts))
    cost = LineCost(400, 40_000, sharings=sharings, removable=whole, exact=exact)
    seen = [hot("reader", 0, 8, reads=400), hot("writer", 8, 8, writes=500), hot("other", 16, 8, writes=500)]
    pairs = [ConflictPair("reader", "writer", "writer", 200), ConflictPair("reader", "other", "other", 200)]
    return subject(replace(finding(ROW, seen, pairs), cost=cost), table(ROW))


ONE_WRITES = shared(("reader", "writer", 400, 400))
# 200 accesses each, as sampled stores have it; both gone, all 400 are.
BOTH_WRITE = shared(("reader", "writer", 170, 230), ("reader", "other", 170, 230), removable=Bounds(400, 400))
WRITTEN_ITSELF = shared(("reader", "writer", 170, 230), ("reader", "reader", 150, 250), removable=Bounds(0, 250))
RECORDED = shared(("reader", "writer", 300, 300), exact=True, removable=Bounds(150, 240))
# Without the other writer, and without both, in the phase of the profile; nobody else comes near.
ONE_AWAY, BOTH_AWAY = [0, 8, 64, 24], [0, 64, 72, 24]
# Where they never meet, which takes a larger record.
NEVER = [0, 120, 128, 8]


def nearly(found: Bounds, least: float, most: float) -> bool:
    """Whether the limits are these, but for the little that ``rest`` may cost, which meets a writer more often."""
    return least - 8 <= found.least <= least and most <= found.most <= most + 8


@pytest.mark.parametrize(
    ("target", "starts", "least", "most"),
    [
        pytest.param(ONE_WRITES, ONE_WRITES.starts, 354.3, 445.7, id="what counting leaves to chance"),
        pytest.param(BOTH_WRITE, ONE_AWAY, 142.6, 445.8, id="the writer that stays may take over what the other did"),
        pytest.param(WRITTEN_ITSELF, BOTH_AWAY, 124.5, 445.7, id="a victim that is written itself may wait as long"),
        pytest.param(RECORDED, BOTH_AWAY, 133.5, 284.3, id="misses of a recording, as far as a layout removes them"),
    ],
)
def test_the_limits_of_the_accesses(target: ContendedRecord, starts: list[int], least: float, most: float) -> None:
    found = layout_cost(target, starts, 128, 8).here
    assert nearly(found, least, most)


def test_nothing_is_left_where_nobody_meets_in_any_phase() -> None:
    left = layout_cost(ONE_WRITES, NEVER, 136, 8)
    assert (left.contended, left.here, left.likely) == (Bounds(), Bounds(), 0)
    found = saving(ONE_WRITES, NEVER, 136, 8)
    assert (found.cycles.most, found.likely_cycles, found.cycles_before) == (40_000, 40_000, 40_000)


def test_what_is_saved_has_limits_on_both_sides() -> None:
    found = saving(BOTH_WRITE, ONE_AWAY, 128, 8)
    assert nearly(found.contended, 0 - found.noise, 230 + found.noise)
    assert (found.likely, found.cycles.least < 0) == (200, True)
    nothing = saving(BOTH_WRITE, BOTH_WRITE.starts, 128, 8)
    assert (nothing.contended, nothing.likely, nothing.tells) == (Bounds(-nothing.noise, nothing.noise), 0, False)


def test_seven_samples_are_below_the_noise_eight_are_not() -> None:
    few, enough = met(ROW, 7), met(ROW, 8)
    assert [saving(one, NEVER, 136, 8).tells for one in (few, enough)] == [False, True]
    many = saving(met(ROW, 1_000_000), NEVER, 136, 8)
    assert many.noise == pytest.approx(83_200, rel=1e-3), "of many samples, what runs differ by"


def test_members_that_never_met_may_cost_nothing_or_all_they_wait_for() -> None:
    layout = members("s", reader=8, writer=8, gap=112, far=8)
    found = saving(
        met(layout, 100, finding(layout, [hot("far", 128, 8, reads=80)], rank=1)), [128, 120, 0, 136], 144, 8
    )
    # In 1 of 8 phases the reader no longer meets the writer; in 6 of 8 the one that was far now does.
    assert found.contended.least == pytest.approx(100 / 8 - 80 * 6 / 8 - found.noise)
    assert found.likely == pytest.approx(100 / 8 - 0.25 * 80 * 6 / 8)


def test_nobody_knows_of_losses_larger_than_all_that_is_contended() -> None:
    layout = members("s", reader=8, writer=8, gap=112, far=8)
    here = [hot("reader", 0, 8, reads=100), hot("writer", 8, 8, writes=9000)]
    there = replace(finding(layout, [hot("far", 128, 8, reads=9000)], rank=1), contended=10)
    pairs = [ConflictPair("reader", "writer", "writer", 100)]
    beside_far = saving(subject(finding(layout, here, pairs), table(layout), [there]), [0, 136, 8, 128], 144, 8)
    assert (beside_far.contended.least, beside_far.before) == (-110, 110)


def test_a_member_without_samples_may_be_as_hot_as_any_that_was_seen() -> None:
    target = met(members("s", quiet=8, gap=120, reader=8, writer=8, rest=112))
    beside_quiet = saving(target, [0, 24, 144, 8, 152], 256, 8)
    alone = saving(target, [0, 8, 144, 208, 96], 256, 8)
    assert beside_quiet.contended.least < alone.contended.least - 20
    assert beside_quiet.contended.most == alone.contended.most == 100


def test_memory_is_that_of_the_slab_of_the_new_size() -> None:
    target = met(members("vm_area_struct", reader=8, writer=8, rest=144), premises=KERNEL)
    (now,) = layout_cost(target, target.starts, 160, 8).memory
    (grown,) = layout_cost(target, target.starts, 192, 64).memory
    assert (now.cache, now.stride, now.pages_per_1000) == ("vm_area_struct", 160, 40)
    assert (grown.object_bytes, grown.stride, grown.pages_per_1000) == (192, 192, 48)
    assert grown.bytes_per_100000 == 19_505_152


def test_members_56_bytes_apart_never_meet_but_may_share_a_pair_of_lines() -> None:
    target = met(ROW)
    (never, pair) = proofs(target.heat, [0, 64, 8, 16], granule=8)
    assert (never.place, never.together, never.phases, pair.together) == ("", 0, 8, 8)
    beside = layout_cost(target, [0, 64, 8, 24], 128, 8)
    assert nearly(beside.contended, 0, 0)
    assert beside.adjacent == Bounds(0, 50)


def test_a_function_touches_fewer_lines_when_its_members_are_together() -> None:
    layout = members("s", a=8, gap=120, b=8, rest=56)

    def used(name: str, offset: int) -> LineMember:
        return replace(hot(name, offset, 8, reads=50, writes=5), functions=(MemberFunction("walk", 50, 5),))

    there = finding(layout, [used("b", 128)], [], rank=1)
    target = subject(finding(layout, [used("a", 0)], []), table(layout), [there])
    far, near = (layout_cost(target, starts, 192, 8).co_access for starts in (target.starts, [0, 16, 8, 136]))
    assert [(one.function, one.members, one.weight, one.lines) for one in far] == [("walk", ("a", "b"), 110.0, 2.0)]
    assert near[0].lines == 9 / 8
    target = met(members("s", reader=8, gap=40, writer=16, rest=64), 80)
    assert [layout_cost(target, at, 128, 64).straddling for at in (target.starts, [0, 8, 56, 72])] == [0, 80]


def test_a_lock_is_held_for_longer_by_who_waits_for_its_neighbours() -> None:
    layout = members("maps", entries=8, lock=8, rest=112)
    reader = replace(hot("entries", 0, 8, reads=60), functions=(MemberFunction("find", 60, 0),))
    waiting = MemberFunction("queued_spin_lock_slowpath", 400, 300)
    lock = replace(hot("lock", 8, 8, reads=400, writes=300, lock=True), functions=(waiting,))
    target = subject(finding(layout, [reader, lock], [ConflictPair("entries", "lock", "lock", 60)]), table(layout))
    assert target.heat.waited_for == {"lock"}
    # Turns alone see the reader's line freed, and the lock as before; what its holder waits comes on top.
    parted = saving(target, [0, 64, 8], 128, 8)
    assert (parted.likely >= 60, parted.before) == (True, 460)


# A recording blames a miss on the last store before it: another to the same line would have taken the line, too.
# Lookups read the seed; inserts take the lock, and write the count before they release it.
FLOWS = members("flows", seed=8, lock=8, count=8, rest=104)
LOCK_AWAY, LOCK_AND_COUNT_AWAY, COUNT_AWAY = [0, 64, 8, 16], [0, 64, 72, 8], [0, 8, 64, 16]


def by(function: str, cpus: int, member: LineMember) -> LineMember:
    """The member as this function was seen on it."""
    seen = member.functions[0]
    return replace(member, functions=(MemberFunction(function, seen.contended, seen.stores, cpus=cpus),))


def recorded(counted: int, counter: str = "insert", readers: int = 4) -> Finding:
    """300 misses, all blamed on the last store of an insertion; before it the count was stored ``counted`` times."""
    seen = [
        by("find", readers, hot("seed", 0, 8, reads=300)),
        by("insert", 1, hot("lock", 8, 8, writes=500)),
        by(counter, 1, hot("count", 16, 8, writes=counted)),
    ]
    misses = Bounds(300, 300)
    sharing = SharingCost(Side("seed", 300, 0), Side("lock", 0, 500), misses, misses.times(120))
    cost = LineCost(300, 36_000, sharings=(sharing,), removable=misses, exact=True)
    return replace(finding(FLOWS, seen, [ConflictPair("seed", "lock", "lock", 300)]), cost=cost)


@pytest.mark.parametrize(
    ("line", "starts", "likely"),
    [
        pytest.param(recorded(100), LOCK_AWAY, 0, id="the count takes over what the lock did"),
        pytest.param(recorded(100), LOCK_AND_COUNT_AWAY, 300, id="both away"),
        pytest.param(recorded(5), LOCK_AWAY, 280, id="each of 5 stores takes the line once from each of 4 CPUs"),
        pytest.param(recorded(100), COUNT_AWAY, 0, id="what no miss is blamed on saves nothing when it leaves"),
        pytest.param(recorded(100, "find", 1), LOCK_AWAY, 300, id="a CPU takes no line from itself"),
    ],
)
def test_other_stores_of_the_same_turn_take_over_the_misses(line: Finding, starts: list[int], likely: float) -> None:
    found = saving(subject(line, table(FLOWS)), starts, 128, 8)
    assert found.likely == pytest.approx(likely)
    assert found.contended.least <= likely - found.noise
    assert found.contended.most == 300 or not likely


PREDICTED = Saving(Bounds(100, 300), likely=250, before=1000)


def simulated(before: int, after: int, phases: int = 1) -> SimulatedLines:
    return SimulatedLines(64, Misses(shared=before), Misses(shared=after), 10_000, Interval(0, 0), phases=phases)


def test_a_prediction_beside_a_replay_is_told_in_shares_of_what_there_was() -> None:
    found = replayed_saving(PREDICTED, Simulation((simulated(4000, 3200),)))
    assert found == ReplayedSaving(Bounds(0.1, 0.3), likely=0.25, replayed=0.2, apart=0.04999999999999999, holds=True)
    beyond = replayed_saving(PREDICTED, Simulation((simulated(4000, 4200),)))
    phases = replayed_saving(PREDICTED, Simulation((simulated(4000, 3600), simulated(4000, 800, phases=8))))
    assert beyond is not None
    assert phases is not None
    assert (beyond.replayed, beyond.holds) == (-0.05, False)
    assert phases.replayed == 0.1, "objects count where the trace had them, not in all phases"
    assert replayed_saving(PREDICTED, Simulation(refusal="no objects")) is None
    assert replayed_saving(PREDICTED, Simulation((simulated(0, 0),))) is None
    assert replayed_saving(Saving(), Simulation((simulated(10, 5),))) is None
