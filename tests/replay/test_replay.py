# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans replayed on traces written by hand, and the interval of a change from windows of one trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import held, scalar, struct, table
from proposals_by_hand import moved
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.base.errors import TraceError
from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.model import Interval, Layout, Misses, ObjectArea, ObjectKind
from linesmith.tuner.replay.plan import ReplayPlan, in_all_phases, plan_for, unchanged
from linesmith.tuner.replay.replayer import Replay, change_interval, open_trace
from linesmith.tuner.replay.runs import RecordRuns
from linesmith.tuner.replay.scene import TraceScene, scene

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
        return plan_for(self.here, replace(moved(), before=MAPPING, after=APART), table(MAPPING, INODE))

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
