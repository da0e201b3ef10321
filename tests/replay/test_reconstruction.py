# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs made up from a profile: that they show what it shows, and what they say of another layout."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import pytest
from hand_made import finding, held, hot, scalar, struct, table
from proposals_by_hand import moved

from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import (
    Access,
    CacheLine,
    Conflict,
    Finding,
    Interval,
    Misses,
    ObjectArea,
    ObjectKind,
    Profile,
    Recording,
)
from linesmith.tuner.reconstruction.by_code import evidence
from linesmith.tuner.reconstruction.reconstructed import reconstructed
from linesmith.tuner.reconstruction.sampled import MOST_TOUCHES
from linesmith.tuner.replay.plan import plan_for, unchanged
from linesmith.tuner.replay.replayer import MadeRun, Replay, RunStep, RunTask, TurnPart
from linesmith.tuner.replay.runs import widened
from linesmith.tuner.replay.scene import TraceScene, sampled_scene, scene

# count at 0, limit at 8, cold behind them
POOL = struct("pool", scalar("count"), scalar("limit"), scalar("cold", 112, dimensions=(14,)))
APART = lay_out(POOL, (POOL.members[1], POOL.members[2], POOL.members[0]))
LAYOUTS = table(POOL)
LINE = 0xFFFF888012340000
DRAWS = 8


def row(function: str, offset: int, loads: int = 0, stores: int = 0, missed: int = 0, cpus: int = 4) -> Access:
    return Access(
        offset, function, hitm_local=loads, stores_l1_hit=stores - missed, stores_l1_miss=missed, cpus=cpus, nodes="0"
    )


def profile(*rows: Access) -> Profile:
    return Profile("report", "", "hitm", (CacheLine(0, LINE, rows),))


def found() -> Finding:
    members = (hot("count", 0, 8, writes=100), hot("limit", 8, 8, reads=100))
    return replace(finding(POOL, members), address=LINE, rank=0)


def replays(source: Profile, seed: int = 0) -> tuple[TraceScene, tuple[Replay, ...]]:
    here = sampled_scene((found(),), POOL, LAYOUTS, None, source.areas)
    return here, reconstructed((found(),), source, LAYOUTS, None, here, DRAWS, seed)


def change(source: Profile) -> float:
    """The mean change of misses when ``count`` goes to the end of the record."""
    here, draws = replays(source)
    plan = plan_for(here, replace(moved(), before=POOL, after=APART), LAYOUTS)
    return mean(one.run(0, plan).misses.total / one.run(0, unchanged(here)).misses.total - 1 for one in draws)


READ_BESIDE_STORES = profile(row("add", 0, loads=90, stores=300, missed=250, cpus=2), row("check", 8, loads=400))


def test_a_reader_that_waits_for_stores_beside_it_waits_no_more_elsewhere() -> None:
    assert change(READ_BESIDE_STORES) < -0.4


def test_a_member_that_waits_for_itself_waits_wherever_it_is() -> None:
    assert abs(change(profile(row("add", 0, loads=300, stores=500, missed=450)))) < 0.05


def test_runs_have_the_misses_where_the_profile_has_its_samples() -> None:
    seldom = profile(row("add", 0, loads=90, stores=300, missed=250, cpus=2), row("check", 8, loads=20))
    shares = []
    for source in (READ_BESIDE_STORES, seldom):
        here, draws = replays(source)
        pairs = [pair for one in draws for pair in one.run(0, unchanged(here)).pairs]
        waiting = sum(pair.local + pair.remote for pair in pairs if pair.victim_offset == 8)
        shares.append(waiting / sum(pair.local + pair.remote for pair in pairs))
    assert shares[0] > 0.5 > 0.2 > shares[1]


def test_the_seed_decides_everything() -> None:
    first, again, other = (
        [one.run(0, unchanged(here)).misses for one in draws]
        for here, draws in (replays(READ_BESIDE_STORES), replays(READ_BESIDE_STORES), replays(READ_BESIDE_STORES, 1))
    )
    assert first == again != other


def test_without_offsets_there_is_nothing_to_run() -> None:
    assert replays(profile(replace(row("add", 0, loads=9), offset=None)))[1] == ()


GLOBAL = ObjectArea(ObjectKind.GLOBAL, "jobs", LINE - 4096, 4, 4, 1, ("int",))


@pytest.mark.parametrize("areas", [(), (GLOBAL,)], ids=["no objects known", "an object of the heap"])
def test_a_recording_gives_runs_with_about_as_many_misses(areas: tuple[ObjectArea, ...]) -> None:
    rows = (
        Access(0, "add", stores_l1_hit=0, stores_l1_miss=500, records=500, cpus=2, code_address=1, width=8, taken=200),
        Access(8, "check", hitm_local=400, records=900, cpus=4, code_address=2, width=8, taken=0),
    )
    conflicts = (
        Conflict(8, 8, "check", 0, 8, "add", False, 400, code_address=2, writer_code_address=1),
        Conflict(0, 8, "add", 0, 8, "add", True, 200, stores=True, code_address=1, writer_code_address=1),
    )
    line = CacheLine(0, LINE, rows, conflicts=conflicts, misses=Misses(hitm_local=400, upgrade=300, taken_local=200))
    recording = Recording("qemu", (), (0, 0, 0, 0), "x86_64")
    here, draws = replays(replace(profile(), lines=(line,), recording=recording, areas=areas))
    assert 0.5 < mean(one.run(0, unchanged(here)).misses.total for one in draws) / 900 < 2


def test_what_a_lock_guards_misses_with_it_and_once_more_elsewhere() -> None:
    def access(offset: int, function: str, code: int, missed: int) -> Access:
        return Access(
            offset, function, stores_l1_hit=400 - missed, stores_l1_miss=missed, cpus=4, code_address=code, width=8
        )

    def conflict(offset: int, function: str, code: int, misses: int) -> Conflict:
        shadowed = 400 - misses
        return Conflict(offset, 8, function, 0, 8, "_raw_spin_lock", True, misses, 0, True, shadowed, code, 1)

    rows = access(0, "_raw_spin_lock", 1, 400), access(8, "add", 2, 0), access(0, "_raw_spin_unlock", 3, 0)
    conflicts = conflict(0, "_raw_spin_lock", 1, 400), conflict(8, "add", 2, 0), conflict(0, "_raw_spin_unlock", 3, 0)
    line = CacheLine(0, LINE, rows, conflicts=conflicts, misses=Misses(taken_local=400))
    recording = Recording("qemu", (), (0, 0, 0, 0), "x86_64")
    assert change(replace(profile(), lines=(line,), recording=recording)) > 0.1


def test_a_made_run_is_counted_as_it_is_replayed() -> None:
    here = sampled_scene((found(),), POOL, LAYOUTS, None)
    store, load = RunStep(LINE, 8, 1, 0, 1.0), RunStep(LINE + 8, 8, 0, 1, 2.5)
    spin = replace(load, part=TurnPart.SPIN)
    tasks = [RunTask((0, 1), 1.0, 1, (store, spin), 0.5), RunTask((1, 2), 0.5, 0, (load,))]
    run = MadeRun((0, 1, 0), tasks, 0.3, 1.0, 5000, 7)
    stores, loads = run.counts(2)
    replay = run.open((0, 0), (here,))
    misses = replay.run(0, unchanged(here)).misses
    assert stores.total + loads.total == replay.accesses(0) == 5000
    assert misses.hitm_local + misses.hitm_remote + misses.taken_local + misses.taken_remote == (
        stores.modified + loads.modified
    )
    assert replay.traced[64] == misses


@pytest.mark.parametrize(
    ("tasks", "handover", "why"),
    [
        ([], 0.5, "no CPU has anything to do"),
        ([RunTask((0,), 1.0, 0, ())], 0.5, "the tasks make too few accesses"),
        ([RunTask((0,), 1.0, 0, (RunStep(LINE, 8, 0, 0, 1.0),))], 0.0, "the handover is no probability"),
    ],
)
def test_a_run_that_nobody_can_do_is_refused(tasks: list[RunTask], handover: float, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        MadeRun((0,), tasks, handover, 0.5, 100, 1)


def test_who_waits_for_a_lock_disturbs_its_line() -> None:
    taking = RunStep(LINE, 8, 2, 0, 1.0, TurnPart.TRY)
    looking = RunStep(LINE, 8, 0, 1, 1.0, TurnPart.SPIN)
    guarded = RunStep(LINE + 8, 8, 2, 2, 1.0)
    releasing = RunStep(LINE, 8, 1, 3, 1.0)
    task = RunTask((0, 1, 2, 3), 1.0, 1, (taking, looking, guarded, releasing), 0.6)
    run = MadeRun((0,) * 4, [task], 0.5, 1.0, 5000, 1)
    taken, looked, inside, released = run.counts(4)
    assert taken.total >= inside.total >= released.total > taken.total - 5
    assert looked.total > taken.total  # over and over
    assert released.upgrades + released.missed > released.total / 2  # who looks has a copy


def test_an_interval_is_widened_unless_nothing_changes() -> None:
    assert widened(Interval(0.0, 0.0), 0.0) == Interval(0.0, 0.0)
    wide = widened(Interval(-0.5, -0.3), -0.4)
    assert wide.low < -0.5 < -0.3 < wide.high


def test_of_too_many_touches_those_of_one_kind_of_object_are_taken_as_of_one() -> None:
    """A mapping is at the begin of one kind of inode and behind 64 bytes of another: both begin with a line."""
    mapping = struct("mapping", *(scalar(f"m{number}") for number in range(8)))
    front = struct("front_inode", held("map", mapping), scalar("rest", 64))
    back = struct("back_inode", scalar("rest", 64), held("map", mapping))
    layouts = table(mapping, front, back)
    areas = tuple(
        ObjectArea(ObjectKind.SLAB, one.name, address, 128, 128, 32, (one.name,))
        for one, address in ((front, 0x100000), (back, 0x200000))
    )

    def line(rank: int, address: int, function: str, loads: int) -> CacheLine:
        seen = (row(f"{function}_{number}", 8 * (number % 8), loads) for number in range(MOST_TOUCHES // 2 + 1))
        return CacheLine(rank, address, tuple(seen))

    lines = line(0, 0x100000, "first", 9), line(1, 0x200040, "second", 5)
    profile = Profile("test", "", "hitm", lines, areas=areas)
    found = evidence((), profile, layouts, None, scene(mapping, areas, layouts))
    assert {one.base for one in found.touches if one.function.startswith("second")} <= {0x200000}
