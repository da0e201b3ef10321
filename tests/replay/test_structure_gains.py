# SPDX-License-Identifier: GPL-2.0-or-later
"""What shards of a lock would save, replayed: a line of its own first, then more copies, up to one for each node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from access.hand_written import LAYOUTS, Code, raw
from hand_made import finding, held, hot, scalar, struct, table
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.store import build
from linesmith.analyzer.model import Gain, Layout, ObjectArea, ObjectKind, Profile, StructuralAdvice, StructureKind
from linesmith.tuner.structure.advise import AdvisedFinding, with_gains

MAPPING = struct("mapping", scalar("host"), scalar("lock"), scalar("tree"), scalar("rest", 40))
START = 0xFFFF888000100000
AREA = ObjectArea(ObjectKind.GLOBAL, "files", START, 64, 64, 1, ("mapping",))
LOCK, TREE = START + 8, START + 16
SHARD = StructuralAdvice(StructureKind.SHARD, "mapping", ("lock", "tree"), "shard lock", before=(MAPPING,))
SHARDED = AdvisedFinding(finding(MAPPING, [hot("lock", 8, 8, 100, 100)]), (SHARD,))


def replayed(
    folder: Path,
    taken: Sequence[Step],
    nodes: tuple[int, ...],
    advised: AdvisedFinding = SHARDED,
    area: ObjectArea = AREA,
    layouts: Sequence[Layout] = (MAPPING,),
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
    assert alone.basis == "a line of its own; as placed"
    assert (alone.before, alone.after, copies.after) == (299, 200, 1)
    assert copies.low <= (copies.after - copies.before) / copies.before <= copies.high


def test_who_takes_the_lock_for_reading_goes_through_every_copy(tmp_path: Path) -> None:
    code = build(raw((), (Code("down_write", 0x1000, 0x1010), Code("down_read.isra.0", 0x2000, 0x2010))), LAYOUTS)
    *_, best, walking = gains(tmp_path, (0, 1), Step(0, "A", LOCK, code=0x2004), accesses=code)
    assert (best.ways, best.after, best.basis) == (2, 0, "one copy for each access; as placed")
    assert (walking.ways, walking.basis) == (2, "who only reads takes every copy; as placed")
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
    assert (gain.by, gain.after, gain.basis) == ("line", 0, "each on lines of its own; mean of phases")
    assert gain.before > 0


def test_a_lock_in_an_anonymous_struct_is_found(tmp_path: Path) -> None:
    inner = struct("", scalar("lock"), scalar("users"))
    outer = struct("mm", scalar("count"), held("", inner))
    shard = StructuralAdvice(StructureKind.SHARD, "mm", ("lock",), "shard lock", before=(outer,))
    advised = AdvisedFinding(finding(outer, [hot("lock", 8, 8, 100, 100)]), (shard,))
    area = ObjectArea(ObjectKind.GLOBAL, "init_mm", START, 24, 24, 1, ("mm",))
    found = replayed(tmp_path, [Step(0, "A", LOCK), Step(1, "A", LOCK)], (0, 1), advised, area, (outer, inner)).gains
    assert [(one.ways, one.after) for one in found] == [(1, 199), (2, 0)]
