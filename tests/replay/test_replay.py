# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans replayed on traces by hand, the interval of a change, changes of several moves, and shards of a lock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from access.hand_written import LAYOUTS, Code, raw
from hand_made import finding, held, hot, meeting, scalar, struct, table
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.store import build
from linesmith.analyzer.base.errors import TraceError
from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import (
    Gain,
    Interval,
    Layout,
    Misses,
    ObjectArea,
    ObjectKind,
    Profile,
    StructuralAdvice,
    StructureKind,
)
from linesmith.tuner.propose.candidates import after
from linesmith.tuner.propose.subject import ContendedRecord, subject
from linesmith.tuner.replay.climb import climbed
from linesmith.tuner.replay.plan import ReplayPlan, in_all_phases, relaid, unchanged
from linesmith.tuner.replay.recommend import traced
from linesmith.tuner.replay.replayer import Replay, change_interval, open_trace
from linesmith.tuner.replay.runs import RecordRuns
from linesmith.tuner.replay.scene import TraceScene, scene
from linesmith.tuner.structure.advise import AdvisedFinding, with_gains

KERNEL = 0xFFFF888000000000
ROUNDS = 100
# lock at 0, tree at 8, pages at 120
MAPPING = struct("mapping", scalar("lock"), scalar("tree"), scalar("cold", 104, dimensions=(13,)), scalar("pages"))
APART = lay_out(MAPPING, tuple(MAPPING.members[place] for place in (0, 3, 2, 1)))
INODE = struct("inode", scalar("number"), held("mapping", MAPPING))


def objects(layout: Layout = MAPPING, count: int = 32, stride: int = 128, address: int = KERNEL) -> ObjectArea:
    return ObjectArea(ObjectKind.SLAB, f"{layout.name}_cache", address, layout.size, stride, count, (layout.name,))


class Trace:
    """A trace of the steps, opened for the objects of one record."""

    def __init__(
        self,
        folder: Path,
        steps: list[Step],
        *areas: ObjectArea,
        nodes: tuple[int, ...] = (0, 0),
        record: Layout = MAPPING,
    ) -> None:
        self.here: TraceScene = scene(record, areas or (objects(record),), table(record, INODE))
        self.replay: Replay = open_trace(write_trace(folder / "trace", steps, nodes), [self.here])
        self.now: ReplayPlan = unchanged(self.here)

    @property
    def moved(self) -> ReplayPlan:
        return relaid(self.here, {MAPPING.id: APART}, table(MAPPING, INODE))

    def misses(self, plan: ReplayPlan | None = None, line_bytes: int = 64) -> Misses:
        return self.replay.run(0, plan or self.now, line_bytes).misses


def contended(stored: int, loaded: int) -> list[Step]:
    """CPU 0 stores to one byte of the first object, CPU 1 loads another, in turns."""
    return turns([Step(0, "S", KERNEL + stored), Step(1, "L", KERNEL + loaded)], ROUNDS)


def test_as_recorded_the_scene_has_all_misses_of_the_trace(tmp_path: Path) -> None:
    trace = Trace(tmp_path, contended(0, 8))
    found = trace.replay.run(0, trace.now)
    assert found.misses == Misses(hitm_local=ROUNDS, upgrade=ROUNDS - 1, cold=1)
    assert trace.replay.traced[64] == found.misses
    assert sum(found.windows) == found.misses.total


def test_a_move_removes_the_conflict_at_64_bytes_but_not_at_128(tmp_path: Path) -> None:
    trace = Trace(tmp_path, contended(0, 8))
    assert trace.misses(trace.moved).total == 0
    assert trace.misses(trace.moved, 128).hitm_local == ROUNDS
    trace = Trace(tmp_path, contended(8, 16), objects(INODE, 21, 192))
    assert (trace.misses().hitm_local, trace.misses(trace.moved).total) == (ROUNDS, 0)


def test_pairs_are_places_of_the_layout_recorded(tmp_path: Path) -> None:
    trace = Trace(tmp_path, contended(0, 120))
    pairs = trace.replay.run(0, trace.moved).pairs
    (pair,) = [one for one in pairs if one.victim_offset != one.writer_offset]
    assert trace.here.member(pair.victim_kind, pair.victim_offset, table(MAPPING)) == "pages"
    assert trace.here.member(pair.writer_kind, pair.writer_offset, table(MAPPING)) == "lock"
    assert (pair.true_sharing, pair.local, pair.remote) == (False, ROUNDS, 0)


def test_a_pair_that_only_the_change_brings_together_is_told(tmp_path: Path) -> None:
    trace = Trace(tmp_path, contended(0, 120))
    runs = RecordRuns([(trace.replay, 0)], table(MAPPING, INODE), 1000.0, 1000.0)
    (pair,) = runs.judgement(runs.under(lambda _: trace.moved)).pairs
    assert (pair.victim, pair.writer, pair.before, pair.after) == ("pages", "lock", 0, ROUNDS)


def test_misses_across_nodes_are_remote_and_cost_more(tmp_path: Path) -> None:
    near, far = (Trace(tmp_path, contended(0, 8), nodes=nodes).misses() for nodes in ((0, 0), (0, 1)))
    assert (near.hitm_local, far.hitm_remote) == (ROUNDS, ROUNDS)
    assert far.cycles() > near.cycles()


def test_a_phase_met_by_chance_is_followed_by_all_others(tmp_path: Path) -> None:
    """The first object begins with a line, where its members at 48 and 64 are apart; 32 bytes on they meet."""
    record = struct("record", *(scalar(f"w{number}") for number in range(20)))
    trace = Trace(tmp_path, contended(48, 64), objects(record, 25, 160), record=record)
    runs = [trace.replay.run(0, plan) for plan in in_all_phases(trace.now, trace.here)]
    assert [run.misses.hitm_local for run in runs] == [0, ROUNDS]
    judge = RecordRuns([(trace.replay, 0)], table(record), None, 0)
    assert (judge.phases, judge.now.total) == (2, sum(run.misses.total for run in runs) / 2)


def test_what_is_missing_of_a_trace_is_told(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", contended(0, 8), (0, 0), dropped=7)
    counts = open_trace(trace, []).counts
    assert (counts.seen, counts.kept, counts.slices, counts.dropped) == (2 * ROUNDS + 7, 2 * ROUNDS, 2 * ROUNDS, 7)
    trace = write_trace(tmp_path / "trace", contended(0, 8), (0, 0))
    for content in (trace.read_bytes()[:-10], b"no trace at all\n"):
        trace.write_bytes(content)
        with pytest.raises(TraceError, match=r"is no whole trace: .*; record it again"):
            open_trace(trace, [])


def test_lines_of_no_size_are_refused(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", contended(0, 8), (0, 0))
    with pytest.raises(TraceError, match="a line has 64, 128 or 256 bytes"):
        open_trace(trace, [scene(MAPPING, [objects()], table(MAPPING))], (0,))


def test_objects_that_cannot_be_followed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="rows of objects overlap"):
        Trace(tmp_path, contended(0, 8), objects(), objects(address=KERNEL + 128))
    with pytest.raises(TraceError, match=r"has 4,000,000,000 objects that hold a .*, but 67,108,864 can be followed"):
        Trace(tmp_path, contended(0, 8), objects(count=4_000_000_000))


def test_the_interval_of_a_change_is_as_wide_as_windows_differ() -> None:
    assert change_interval(((10, 20, 30),), ((5, 10, 15),)) == Interval(-0.5, -0.5), "all change alike"
    steady, halved = (100.0,) * 20, (0.0, 100.0) * 10
    found = change_interval((steady,), (halved,))
    assert -0.7 < found.low < -0.5 < found.high < -0.3
    assert found == change_interval((steady,), (halved,)), "the same windows give the same"
    assert change_interval(((0, 0),), ((0, 0),)) == Interval(0.0, 0.0)
    runs = change_interval((steady, steady), (steady, (0.0,) * 20))
    assert (runs.low, runs.high) == (-1.0, 0.0), "either run may have been the real one"


AT = 0xFFFF888000000000
# One CPU stores to ``sent`` and ``got``, the other loads the two members between them.
QUEUE = struct(
    "queue",
    *(scalar(name) for name in ("sent", "limit", "got", "table")),
    *(scalar(f"cold{number}") for number in range(12)),
    align=64,
)


def recorded(folder: Path, steps: list[Step], record: Layout = QUEUE) -> tuple[ContendedRecord, RecordRuns]:
    """The record of a profile that shows one of the pairs, and the run that has all of them."""
    area = ObjectArea(ObjectKind.SLAB, "queue_cache", AT, record.size, record.size, 32, (record.name,))
    replay = open_trace(write_trace(folder / "trace", steps, (0, 0)), [scene(record, [area], table(record))])
    runs = RecordRuns([(replay, 0)], table(record), None, replay.traced[64].total)
    return subject(meeting(record, "sent", "limit"), table(record)), runs


def test_a_change_of_several_moves_is_found_step_by_step(tmp_path: Path) -> None:
    steps = [Step(0, "S", AT), Step(1, "L", AT + 8), Step(0, "S", AT + 16), Step(1, "L", AT + 24)]
    target, runs = recorded(tmp_path, turns(steps, 100))
    found = climbed(target, runs, QUEUE)
    left = [runs.sketch({QUEUE.id: after(target, option, QUEUE)}).total for option in found]
    assert len(left) == 2
    assert runs.now.total > left[0] > left[1] == 0


def test_memory_beside_an_object_counts_on_the_lines_of_the_object_alone(tmp_path: Path) -> None:
    area = ObjectArea(ObjectKind.HEAP, "", AT, QUEUE.size, QUEUE.size, 1, (QUEUE.name,))
    own = [Step(0, "S", AT), Step(1, "L", AT + 8)]
    beside = [Step(0, "S", AT + QUEUE.size), Step(1, "L", AT + QUEUE.size)]
    totals = []
    for name, steps in ("alone", own), ("beside", [*own, *beside]):
        trace = write_trace(tmp_path / name, turns(steps, ROUNDS), (0, 0))
        runs = traced([QUEUE], Profile("test", "", "hitm", (), areas=(area,)), table(QUEUE), trace)[QUEUE.id]
        assert isinstance(runs, RecordRuns)
        totals.append(runs.now.total)
    assert totals[0] == totals[1] > ROUNDS


def test_nothing_is_searched_where_every_miss_is_of_one_member(tmp_path: Path) -> None:
    target, runs = recorded(tmp_path, turns([Step(0, "A", AT), Step(1, "A", AT)], 100))
    assert climbed(target, runs, QUEUE) == ()


GUARDED = struct("mapping", scalar("host"), scalar("lock"), scalar("tree"), scalar("rest", 40))
START = 0xFFFF888000100000
AREA = ObjectArea(ObjectKind.GLOBAL, "files", START, 64, 64, 1, ("mapping",))
LOCK, TREE = START + 8, START + 16
SHARD = StructuralAdvice(StructureKind.SHARD, "mapping", ("lock", "tree"), "shard lock", before=(GUARDED,))
SHARDED = AdvisedFinding(finding(GUARDED, [hot("lock", 8, 8, 100, 100)]), (SHARD,))


def replayed(
    folder: Path,
    taken: Sequence[Step],
    nodes: tuple[int, ...],
    advised: AdvisedFinding = SHARDED,
    area: ObjectArea = AREA,
    layouts: Sequence[Layout] = (GUARDED,),
    accesses: AccessMap | None = None,
) -> StructuralAdvice:
    """The advice with what a replay of the steps, 100 times over, says of it."""
    trace = write_trace(folder / "trace", turns(taken, 100), nodes)
    profile = Profile("c2c.txt", "", "hitm", (), areas=(area,))
    (told,) = with_gains([advised], profile, table(*layouts), trace, accesses)
    return told.advice[0]


def gains(folder: Path, nodes: tuple[int, ...], *others: Step, accesses: AccessMap | None = None) -> tuple[Gain, ...]:
    """What the replay says where every CPU takes the lock in turn, changes the tree, and does ``others``."""
    taken = [step for cpu in range(len(nodes)) for step in (Step(cpu, "A", LOCK), Step(cpu, "S", TREE))]
    return replayed(folder, [*taken, *others], nodes, accesses=accesses).gains


@pytest.mark.parametrize(
    ("nodes", "by", "after"),
    [((0, 0, 1, 1, 2, 2, 3, 3), "node", {1: 799, 2: 798, 4: 796}), ((0, 0, 0), "cpu", {1: 299, 2: 199, 3: 0})],
)
def test_as_many_copies_as_nodes_or_on_one_node_as_cpus(
    tmp_path: Path, nodes: tuple[int, ...], by: str, after: dict[int, int]
) -> None:
    found = gains(tmp_path, nodes)
    assert {one.ways: one.after for one in found} == after
    assert {(one.by, one.before) for one in found} == {(by, 100 * len(nodes) - 1)}


def test_what_a_line_of_its_own_saves_is_told_apart_from_what_copies_save(tmp_path: Path) -> None:
    alone, copies = gains(tmp_path, (0, 1), Step(0, "L", START), Step(1, "L", START))
    assert alone.basis == "a line of its own; objects as placed"
    assert (alone.before, alone.after, copies.after) == (299, 200, 1)
    assert copies.low <= (copies.after - copies.before) / copies.before <= copies.high


def test_who_takes_the_lock_for_reading_goes_through_every_copy(tmp_path: Path) -> None:
    code = build(raw((), (Code("down_write", 0x1000, 0x1010), Code("down_read.isra.0", 0x2000, 0x2010))), LAYOUTS)
    *_, best, walking = gains(tmp_path, (0, 1), Step(0, "A", LOCK, code=0x2004), accesses=code)
    assert (best.ways, best.after, best.basis) == (2, 0, "if each access needs one copy only; objects as placed")
    assert (walking.ways, walking.basis) == (2, "who only reads takes every copy; objects as placed")
    assert walking.after > 0


def test_a_trace_without_these_objects_is_said(tmp_path: Path) -> None:
    told = replayed(tmp_path, [Step(0, "S", 0x800000), Step(1, "L", 0x800000)], (0, 1))
    assert told.gains == ()
    assert told.notes[0].startswith("Not replayed: the trace has no access to any of the 1 objects")


def test_objects_to_be_pulled_in_are_replayed_each_on_a_line_of_its_own(tmp_path: Path) -> None:
    lock, area = struct("lock", scalar("word", 40)), struct("area", scalar("lock"))
    slab = ObjectArea(ObjectKind.SLAB, "lock", START, 40, 40, 100, ("lock",))
    pull_in = StructuralAdvice(StructureKind.PULL_IN, "area", ("lock",), "pull lock in", before=(area, lock))
    advised = AdvisedFinding(finding(lock, [hot("word", 0, 8, 100, 100)]), (pull_in,))
    taken = [Step(0, "A", START), Step(1, "A", START + 40)]
    (gain,) = replayed(tmp_path, taken, (0, 0), advised, slab, (lock, area)).gains
    assert (gain.by, gain.after, gain.basis) == ("line", 0, "each on lines of its own; mean of all offsets in a line")
    assert gain.before > 0


def test_a_lock_in_an_anonymous_struct_is_found(tmp_path: Path) -> None:
    inner = struct("", scalar("lock"), scalar("users"))
    outer = struct("mm", scalar("count"), held("", inner))
    shard = StructuralAdvice(StructureKind.SHARD, "mm", ("lock",), "shard lock", before=(outer,))
    advised = AdvisedFinding(finding(outer, [hot("lock", 8, 8, 100, 100)]), (shard,))
    area = ObjectArea(ObjectKind.GLOBAL, "init_mm", START, 24, 24, 1, ("mm",))
    found = replayed(tmp_path, [Step(0, "A", LOCK), Step(1, "A", LOCK)], (0, 1), advised, area, (outer, inner)).gains
    assert [(one.ways, one.after) for one in found] == [(1, 199), (2, 0)]
