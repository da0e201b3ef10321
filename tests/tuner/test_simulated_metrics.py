# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording says of a layout, told for each operation: the record in question, its pairs, and everything."""

from __future__ import annotations

from dataclasses import replace

from hand_made import held, scalar, struct, table

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.model import (
    Access,
    CacheLine,
    Conflict,
    Layout,
    Misses,
    ObjectArea,
    ObjectKind,
    Profile,
    Recording,
)
from linesmith.tuner.replay.simulated import MeasuredRecord, RecordedMembers, metrics_for, simulated_metrics


def inodes(*names: str) -> LayoutTable:
    """Inodes that hold an address_space with its members in this order."""
    sizes = {"tree": 8, "lock": 16, "flags": 8}
    mapping: Layout = struct("address_space", *(scalar(name, sizes[name]) for name in names))
    return table(mapping, struct("inode", scalar("mode"), held("data", mapping), scalar("count")))


LAYOUTS = inodes("tree", "lock", "flags")
# Two inodes of 48 bytes from address 64 on; the data of the first begins at byte 8 of its line.
SLAB = ObjectArea(ObjectKind.SLAB, "inode_cache", 64, 48, 48, 2, types=("inode",))
QUESTION = MeasuredRecord("address_space", frozenset([frozenset(("tree", "lock"))]))


def line(*conflicts: tuple[int, int, int]) -> CacheLine:
    """Misses of the byte at ``victim`` in the line by the doing of a store at ``writer``: victim, writer, misses."""
    made = tuple(
        Conflict(victim, 8, "reader", writer, 8, "writer", true_sharing=victim == writer, local=misses)
        for victim, writer, misses in conflicts
    )
    return CacheLine(1, 64, (), conflicts=made)


def measured(
    *lines: CacheLine,
    question: MeasuredRecord = QUESTION,
    operations: int = 1,
    layouts: LayoutTable = LAYOUTS,
    area: ObjectArea = SLAB,
    **counts: int,
) -> dict[str, float]:
    recording = Recording("qemu", ("storm",), (0, 0), "x86_64", counts=tuple(counts.items()))
    recorded = Profile("test", "", "hitm", lines, recording=recording, areas=(area,))
    return dict(simulated_metrics(recorded, RecordedMembers(question.type, recorded, layouts), question, operations))


def shares(
    *conflicts: tuple[int, int, int], layouts: LayoutTable = LAYOUTS, area: ObjectArea = SLAB
) -> tuple[float, ...]:
    """Misses on the lines of the record, and of its pair."""
    values = measured(line(*conflicts), layouts=layouts, area=area)
    return values["type"], values["pair"]


def test_misses_of_the_record_and_of_its_pairs() -> None:
    assert shares((8, 16, 5), (56, 56, 3)) == (8, 5), "wherever the record lies in an object"
    assert shares((0, 8, 5), (40, 8, 3)) == (8, 0), "what lies around the record on its lines counts as well"
    assert shares((0, 8, 5), area=replace(SLAB, address=1024)) == (0, 0), "but no other line"
    assert shares((8, 16, 5), (24, 8, 2), (16, 16, 9)) == (16, 7), "a pair counts whichever of the two suffers"
    assert shares((8, 16, 5), layouts=inodes("flags", "lock", "tree")) == (5, 0), "as in the build that was recorded"
    assert shares((8, 16, 5), area=replace(SLAB, types=())) == (0, 0), "an object of no known type"
    assert measured(line((8, 16, 6)), operations=4)["pair"] == 1.5


def test_everything_includes_lines_that_the_profile_has_no_room_for() -> None:
    values = measured(hitm_local=3, own_remote=1, shared_miss=10, upgrade=1, cold_miss=100)
    assert values["misses"] == 15
    assert values["cycles"] == 3 * 120 + 1 * 300 + 10 * 80 + 1 * 80
    assert [metric.name for metric in metrics_for(MeasuredRecord())] == ["misses", "cycles"]
    assert list(measured(question=MeasuredRecord(), hitm_local=1)) == ["misses", "cycles"]


def test_misses_on_what_emulation_makes_hot_are_taken_off() -> None:
    met = (Access(8, "copy_process", hitm_local=3),)
    queue = replace(line(), accesses=met, misses=Misses(hitm_local=3, shared=2))
    assert measured(queue, area=replace(SLAB, types=("rq",)), hitm_local=4, shared_miss=2)["misses"] == 1
