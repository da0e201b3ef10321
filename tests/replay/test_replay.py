# SPDX-License-Identifier: GPL-2.0-or-later
"""Plans replayed on traces written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_made import held, scalar, struct, table
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.errors import TraceError
from linesmith.analyzer.geometry.placement import lay_out
from linesmith.analyzer.model import Layout, Misses, ObjectArea, ObjectKind
from linesmith.tuner.plan import KindPlan, Plan, ShardBy, Sharding, aligned, in_all_phases, relaid, unchanged
from linesmith.tuner.replay import Replay, mean, open_trace
from linesmith.tuner.scene import Scene, scene

KERNEL = 0xFFFF888000000000
ROUNDS = 100
# lock at 0, tree at 8, pages at 120
MAPPING = struct("mapping", scalar("lock"), scalar("tree"), scalar("cold", 104, dimensions=(13,)), scalar("pages"))
APART = lay_out(MAPPING, tuple(MAPPING.members[place] for place in (0, 3, 2, 1)))


def objects(layout: Layout = MAPPING, count: int = 32, stride: int = 128, address: int = KERNEL) -> ObjectArea:
    return ObjectArea(ObjectKind.SLAB, "mapping_cache", address, layout.size, stride, count, (layout.name,))


def opened(tmp_path: Path, steps: list[Step], nodes: tuple[int, ...] = (0, 0), *areas: ObjectArea) -> Replay:
    here = scene(MAPPING, areas or (objects(),), table(MAPPING))
    return open_trace(write_trace(tmp_path / "trace", steps, nodes), [here])


def moved(here: Scene) -> Plan:
    return relaid(here, {MAPPING.id: APART}, table(MAPPING))


def contended(stored: int, loaded: int) -> list[Step]:
    """CPU 0 stores to one byte of the first object, CPU 1 loads another, in turns."""
    return turns([Step(0, "S", KERNEL + stored), Step(1, "L", KERNEL + loaded)], ROUNDS)


def test_as_recorded_the_scene_has_all_misses_of_the_trace(tmp_path: Path) -> None:
    replay = opened(tmp_path, contended(0, 8))
    found = replay.run(0, unchanged(replay.scenes[0]))
    assert found.misses == Misses(hitm_local=ROUNDS, upgrade=ROUNDS - 1, cold=1)
    assert replay.traced[64] == found.misses


def test_a_move_removes_the_conflict_at_64_bytes_but_not_at_128(tmp_path: Path) -> None:
    replay = opened(tmp_path, contended(0, 8))
    plan = moved(replay.scenes[0])
    assert replay.run(0, plan, 64).misses.total == 0
    assert replay.run(0, plan, 128).misses.hitm_local == ROUNDS


def test_pairs_are_places_of_the_layout_recorded(tmp_path: Path) -> None:
    replay = opened(tmp_path, contended(0, 120))
    (pair,) = [one for one in replay.run(0, moved(replay.scenes[0])).pairs if one.victim_offset != one.writer_offset]
    here = replay.scenes[0]
    assert here.member(pair.victim_kind, pair.victim_offset, table(MAPPING)) == "pages"
    assert here.member(pair.writer_kind, pair.writer_offset, table(MAPPING)) == "lock"
    assert (pair.true_sharing, pair.local, pair.remote) == (False, ROUNDS, 0)


def test_misses_across_nodes_are_remote_and_cost_more(tmp_path: Path) -> None:
    near = opened(tmp_path, contended(0, 8), (0, 0)).run(0, Plan((KindPlan(),))).misses
    far = opened(tmp_path, contended(0, 8), (0, 1)).run(0, Plan((KindPlan(),))).misses
    assert (near.hitm_local, far.hitm_remote) == (ROUNDS, ROUNDS)
    assert far.cycles() > near.cycles()


def test_neighbours_in_a_slab_part_when_objects_begin_on_lines(tmp_path: Path) -> None:
    small = struct("small", scalar("head"), scalar("rest", 80, dimensions=(10,)), scalar("tail"))
    steps = turns([Step(0, "S", KERNEL + 88), Step(1, "L", KERNEL + 96)], ROUNDS)
    here = scene(small, [objects(small, 42, 96)], table(small))
    replay = open_trace(write_trace(tmp_path / "trace", steps, (0, 0)), [here])
    assert replay.run(0, unchanged(here)).misses.hitm_local == ROUNDS
    assert replay.run(0, aligned(here, 128)).misses.total == 0


def test_a_phase_met_by_chance_is_followed_by_all_others(tmp_path: Path) -> None:
    # The first object begins with a line, where its members at 48 and 64 are apart; 32 bytes on they meet.
    record = struct("record", *(scalar(f"w{number}") for number in range(20)))
    steps = turns([Step(0, "S", KERNEL + 48), Step(1, "L", KERNEL + 64)], ROUNDS)
    here = scene(record, [objects(record, 25, 160)], table(record))
    replay = open_trace(write_trace(tmp_path / "trace", steps, (0, 0)), [here])
    runs = [replay.run(0, plan) for plan in in_all_phases(unchanged(here), here)]
    assert [run.misses.hitm_local for run in runs] == [0, ROUNDS]
    assert mean(runs).misses == Misses(hitm_local=ROUNDS // 2, upgrade=ROUNDS // 2, cold=2)
    assert sum(mean(runs).windows) == sum(run.misses.total for run in runs) / 2


def test_a_lock_for_each_cpu_ends_its_contention(tmp_path: Path) -> None:
    steps = turns([step for cpu in range(4) for step in (Step(cpu, "A", KERNEL), Step(cpu, "S", KERNEL + 8))], ROUNDS)
    replay = opened(tmp_path, steps, (0, 0, 1, 1))
    kinds = unchanged(replay.scenes[0]).kinds
    by_cpu = Plan(kinds, Sharding(("lock", "tree"), 4))
    by_node = Plan(kinds, Sharding(("lock", "tree"), 2, ShardBy.NODE))
    assert replay.run(0, by_cpu).misses.total == 0
    found = replay.run(0, by_node).misses
    assert (found.taken_remote, found.taken_local) == (0, 4 * ROUNDS - 2)


def test_functions_that_walk_all_shards_are_told_by_their_code(tmp_path: Path) -> None:
    steps = turns([Step(0, "S", KERNEL, code=0x1000), Step(1, "L", KERNEL, code=0x2000)], ROUNDS)
    replay = opened(tmp_path, steps)
    kinds = unchanged(replay.scenes[0]).kinds
    assert replay.run(0, Plan(kinds, Sharding(("lock",), 2))).misses.total == 0
    walking = Sharding(("lock",), 2, everywhere=(range(0x2000, 0x2010),))
    assert replay.run(0, Plan(kinds, walking)).misses.hitm_local == ROUNDS


def test_a_record_inside_the_objects_moves_there(tmp_path: Path) -> None:
    inode = struct("inode", scalar("number"), held("mapping", MAPPING))
    area = ObjectArea(ObjectKind.SLAB, "inode_cache", KERNEL, inode.size, 192, 21, ("inode",))
    layouts = table(MAPPING, inode)
    here = scene(MAPPING, [area], layouts)
    replay = open_trace(write_trace(tmp_path / "trace", contended(8, 16), (0, 0)), [here])
    assert replay.run(0, unchanged(here)).misses.hitm_local == ROUNDS
    assert replay.run(0, relaid(here, {MAPPING.id: APART}, layouts)).misses.total == 0


def test_windows_add_up(tmp_path: Path) -> None:
    replay = opened(tmp_path, contended(0, 8))
    found = replay.run(0, unchanged(replay.scenes[0]))
    assert sum(found.windows) == found.misses.total


def test_what_the_writer_dropped_is_known(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", contended(0, 8), (0, 0), dropped=7)
    counts = open_trace(trace, []).counts
    assert (counts.seen, counts.kept, counts.slices, counts.dropped) == (2 * ROUNDS + 7, 2 * ROUNDS, 2 * ROUNDS, 7)


def test_a_trace_cut_off_is_one_sentence(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", contended(0, 8), (0, 0))
    trace.write_bytes(trace.read_bytes()[:-10])
    with pytest.raises(TraceError, match=r"is no whole trace: .*; record it again with --trace"):
        open_trace(trace, [])


def test_something_else_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no trace at all\n")
    with pytest.raises(TraceError, match="is no whole trace"):
        open_trace(tmp_path / "text", [])


def test_objects_that_overlap_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="rows of objects overlap"):
        opened(tmp_path, contended(0, 8), (0, 0), objects(), objects(address=KERNEL + 128))


def test_more_objects_than_memory_holds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"has 4,000,000,000 objects that hold a .*, but 67,108,864 can be followed"):
        opened(tmp_path, contended(0, 8), (0, 0), objects(count=4_000_000_000))
