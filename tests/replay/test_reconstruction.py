# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs made up from a profile: that they show what it shows, and what they say of another layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from access.programs import compiled
from hand_made import finding, held, hot, scalar, struct, table
from proposals_by_hand import moved

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import (
    Access,
    CacheLine,
    Conflict,
    Finding,
    Interval,
    LineCost,
    Misses,
    ObjectArea,
    ObjectKind,
    Profile,
    Recording,
)
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.candidates import Suggestion
from linesmith.tuner.replay.by_code import evidence, with_locks
from linesmith.tuner.replay.draw import drawn
from linesmith.tuner.replay.plan import relaid, unchanged
from linesmith.tuner.replay.recommend import sampled
from linesmith.tuner.replay.reconstructed import Fitting, reconstructed
from linesmith.tuner.replay.replayer import MadeRun, Replay, RunStep, RunTask, SiteCounts, TurnPart
from linesmith.tuner.replay.runs import RecordRuns, widened
from linesmith.tuner.replay.sampled import MOST_TOUCHES, PERHAPS, SampledTouch, SampledTouches, TouchKind
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
    plan = relaid(here, {POOL.id: APART}, LAYOUTS)
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


def recorded(rows: tuple[Access, ...], conflicts: tuple[Conflict, ...]) -> Profile:
    line = CacheLine(0, LINE, rows, conflicts=conflicts, misses=Misses(hitm_local=800))
    return replace(profile(), lines=(line,), recording=Recording("qemu", (), (0,) * 8, "x86_64"))


def test_the_misses_of_a_recording_without_its_trace_are_those_that_hot_counts() -> None:
    """Also what waited where no member is known, and of a record of which not all lines were explained."""
    known = Conflict(8, 8, "check", 0, 8, "add", False, local=900)
    conflicts = known, replace(known, offset=64, writer_offset=72, local=100)
    source = recorded(READ_BESIDE_STORES.lines[0].accesses, conflicts)
    line = replace(found(), share=0.5, cost=LineCost(400))
    answer = Suggestion(line, (replace(moved(), before=POOL),))
    (runs,) = sampled((answer,), (line,), source, LAYOUTS, Premises(shares={line.rank: 0.8})).values()
    assert isinstance(runs, RecordRuns)
    told = runs.judgement(runs.now)
    assert (told.whole, round(told.before)) == (1000, 800)


def test_what_one_cpu_does_in_a_recording_shares_nothing() -> None:
    def access(offset: int, function: str, code: int, cpu: int, loads: int = 0) -> Access:
        seen = Access(offset, function, cpus=1, nodes=f"0{{{cpu}}}", code_address=code, width=8)
        return replace(seen, hitm_local=loads, stores_l1_miss=0 if loads else 400, records=400)

    def lost(victim: Access, writer: Access, misses: int) -> Conflict:
        places = victim.offset or 0, 8, victim.function, writer.offset or 0, 8, writer.function
        codes = victim.code_address, writer.code_address
        return Conflict(*places, False, misses, 0, victim.stores > 0, 400 - misses, *codes)

    # One CPU stores at 0 and at 16, another loads at 8 and stores at 24: two sides, each with a store.
    add, note = access(0, "add", 1, 2), access(16, "note", 2, 2)
    check, answer = access(8, "check", 3, 5, loads=400), access(24, "answer", 4, 5)
    conflicts = lost(check, add, 400), lost(answer, add, 0), lost(add, answer, 400), lost(note, answer, 0)
    here, draws = replays(recorded((add, note, check, answer), conflicts))
    pairs = [pair for one in draws for pair in one.run(0, unchanged(here)).pairs]
    assert pairs
    assert not [pair for pair in pairs if {pair.victim_offset, pair.writer_offset} in ({0, 16}, {8, 24})]


def test_a_lock_of_which_only_the_release_was_seen_is_accessed() -> None:
    place = LINE, LINE, 1, "_raw_spin_unlock", TouchKind.STORE
    seen = SampledTouches((SampledTouch(*place, stores=90.0, cpus=2, lock=LINE, word=True),), (0, 0), {})
    fit = Fitting(drawn(seen, 0), seen)
    fit.advance(2)
    assert fit.run().counts(1)[0].total > 0


@pytest.mark.parametrize(("takers", "possible"), [(1, False), (3, True)])
def test_a_function_holds_no_lock_that_fewer_cpus_take(takers: int, possible: bool) -> None:
    lock = SampledTouch(LINE, LINE, 4, "take", TouchKind.ATOMIC, stores=90.0, cpus=takers, lock=LINE, word=True)
    push = SampledTouch(LINE, LINE + 8, 8, "push", TouchKind.ATOMIC, stores=300.0, cpus=3, lock=PERHAPS)
    seen = SampledTouches((lock, push), (0,) * 8, {})
    tasks = [task for seed in range(40) for task in drawn(seen, seed).tasks if 1 in task.touches]
    assert (LINE in {task.lock for task in tasks}) == possible


def test_what_few_cpus_do_to_an_object_is_mostly_done_by_the_same_ones() -> None:
    touches = [
        SampledTouch(LINE, LINE + offset, 8, f"f{cpus}", TouchKind.LOAD, loads=300.0, stores=0.0, cpus=cpus)
        for offset, cpus in ((0, 1), (8, 4))
    ]
    seen = SampledTouches(tuple(touches), (0,) * 32, {})
    apart = [tasks for seed in range(400) if len(tasks := drawn(seen, seed).tasks) == 2]
    within = sum(set(one.cpus) <= set(other.cpus) for one, other in apart)
    assert len(apart) > 50
    assert 0.6 < within / len(apart) < 0.9


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


def test_who_is_overtaken_at_a_lock_goes_on_waiting() -> None:
    """A fast CPU waits for a lock that a slow one takes in between: it sleeps again, and does not use up the run."""
    quick = RunTask((3,), 10.0, 1, (RunStep(LINE, 8, 0, 0, 0.5),))
    waits = RunTask((3,), 0.4, 2, (RunStep(LINE + 8, 8, 0, 1, 8.0, TurnPart.TRY), RunStep(LINE, 8, 1, 2, 1.0)), 0.6)
    slow = replace(waits, cpus=(0, 1, 2), share=0.01)
    for seed in range(30):
        assert MadeRun((0,) * 4, [quick, waits, slow], 0.8, 0.3, 20_000, seed).counts(3)[2].total > 0


def spin_lock(*others: SampledTouch) -> tuple[SampledTouch, ...]:
    """A lock at the begin of the line that four CPUs take and nobody was seen to wait for, and what is under it."""
    word = SampledTouch(LINE, LINE, 4, "_raw_spin_lock", TouchKind.ATOMIC, 300.0, 300.0, 1.0, 4, lock=LINE, word=True)
    return word, *(replace(one, cpus=4, lock=LINE) for one in others)


def fitted_counts(touches: tuple[SampledTouch, ...]) -> list[list[SiteCounts]]:
    seen = SampledTouches(touches, (0,) * 8, {})
    fits = [Fitting(drawn(seen, seed), seen) for seed in range(6)]
    for one in fits:
        one.advance(4)
    return [one.run().counts(len(touches)) for one in fits]


def test_a_lock_that_nobody_was_seen_to_wait_for_is_free_when_somebody_comes() -> None:
    under = SampledTouch(LINE, LINE + 8, 8, "add", TouchKind.STORE, stores=300.0, missed=0.0)
    for taken, added in fitted_counts(spin_lock(under)):
        assert taken.missed > 10 * (added.missed + added.upgrades)  # what is under it came with the line of the lock


def test_who_looks_before_taking_the_lock_waits_twice() -> None:
    look = SampledTouch(LINE, LINE + 8, 8, "send", TouchKind.LOAD, loads=300.0, stores=0.0, early=True)
    word, looks = spin_lock(look)
    seen = SampledTouches((replace(word, loads=0.0, missed=0.0), looks), (0,) * 8, {})
    for seed in range(6):
        draw = drawn(seen, seed)
        once = tuple(replace(task, often=1.0) for task in draw.tasks)
        fit = Fitting(replace(draw, tasks=once, targets=((0.0, 300.0), (300.0, 0.0)), handover=0.1), seen)
        fit.advance(4)
        taken, looked = fit.run().counts(2)
        assert taken.upgrades > 0.9 * looked.missed > 3 * taken.missed


SENDING = """
extern void _raw_spin_lock(struct lock *), _raw_spin_unlock(struct lock *);
void send(struct node *one) {
    if (one->total == 7) return;
    _raw_spin_lock(&one->guard);
    one->count++;
    _raw_spin_unlock(&one->guard);
}
"""


def test_what_code_reads_before_it_calls_for_the_lock_is_early(tmp_path: Path) -> None:
    unit = compiled(tmp_path, SENDING)
    layouts = read_layouts(unit).layouts
    node = layouts.variants("node")[0]
    at = {member.name: member.offset for member in node.members}
    word = SampledTouch(0, at["guard"], 4, "_raw_spin_lock", TouchKind.ATOMIC, stores=9.0)
    loads = (SampledTouch(0, at[name], 4, "send", TouchKind.LOAD, loads=9.0) for name in ("total", "count"))
    seen = SampledTouches((word, *loads), (0,), {0: node})
    _, total, count = with_locks(seen, (), layouts, read_accesses(unit).accesses).touches
    assert (total.lock, total.early, count.lock, count.early) == (at["guard"], True, at["guard"], False)


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


def test_objects_that_are_taken_as_one_keep_their_two_sides() -> None:
    """One CPU stores to the front of an object, another to its back; of another object of the kind other CPUs do."""
    half = MOST_TOUCHES // 4 + 1

    def line(address: int, front: int, back: int) -> CacheLine:
        sides = [(f"front_{number}", front) for number in range(half)] + [(f"back_{n}", back) for n in range(half)]
        rows = (
            replace(row(name, at % 64, stores=9, missed=9, cpus=1), nodes=f"0{{{cpu}}}", code_address=at)
            for at, (name, cpu) in enumerate(sides)
        )
        return CacheLine(0, address, tuple(rows))

    pool = ObjectArea(ObjectKind.SLAB, "pool", LINE, 128, 128, 32, ("pool",))
    lines = line(LINE, 1, 2), line(LINE + 256, 6, 1)
    seen = replace(recorded((), ()), lines=lines, areas=(pool,))
    found = evidence((), seen, LAYOUTS, None, scene(POOL, seen.areas, LAYOUTS))
    assert {one.base for one in found.touches} == {LINE}
    sides = {(one.function.partition("_")[0], one.on) for one in found.touches}
    assert sides == {("front", frozenset({1})), ("back", frozenset({2}))}


def test_nobody_comes_between_two_accesses_without_a_gap() -> None:
    first, second = RunStep(LINE, 8, 0, 0, 1.0), RunStep(LINE + 8, 8, 0, 1, 1.0)
    stores = RunTask((1,), 1.0, 0, (RunStep(LINE + 16, 8, 1, 2, 1.0),))

    def missed(gap: float) -> int:
        reads = RunTask((0,), 1.0, 0, (first, replace(second, gap=gap)))
        return MadeRun((0, 0), [reads, stores], 0.5, 1.0, 5000, 1).counts(3)[1].missed

    assert missed(1.0) > missed(0.5) > missed(0.0) == 0


def test_what_a_lock_guards_is_done_though_its_word_stays_in_a_cache() -> None:
    """A recording counts what misses: of a lock that one CPU takes again and again nearly nothing."""
    word, guarded = spin_lock(SampledTouch(LINE, LINE + 64, 8, "add", TouchKind.ATOMIC, 0.0, 300.0, 1.0))
    other = SampledTouch(LINE, LINE + 64, 8, "check", TouchKind.LOAD, 300.0, 0.0, 1.0, 4)
    seen = SampledTouches((replace(word, loads=0.0, stores=1.0), guarded, other), (0,) * 8, {}, exact=True)
    for seed in range(6):
        fit = Fitting(drawn(seen, seed), seen)
        fit.advance(4)
        _, added, checked = fit.run().counts(3)
        assert added.total > 0.1 * checked.total
