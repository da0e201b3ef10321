# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording says of a layout, told for each operation: the record in question, its pairs, and everything."""

from __future__ import annotations

from dataclasses import replace

from hand_made import held, scalar, struct, table

from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Conflict, Misses, ObjectArea, ObjectKind, Profile, Recording, SharedLine
from linesmith.tuner.simulated_metrics import Places, Question, metrics_for, simulated_metrics

MAPPING = struct("address_space", scalar("tree"), scalar("lock", 16), scalar("flags"))
INODE = struct("inode", scalar("mode"), held("data", MAPPING), scalar("count"))
LAYOUTS = table(MAPPING, INODE)
# Two inodes of 48 bytes from address 64 on; the data of the first begins at byte 8 of its line.
SLAB = ObjectArea(ObjectKind.SLAB, "inode_cache", 64, 48, 48, 2, types=("inode",))
QUESTION = Question("address_space", frozenset([frozenset(("tree", "lock"))]))


def conflict(victim: int, writer: int, misses: int) -> Conflict:
    """Misses of the byte at ``victim`` in a line by the doing of a store at ``writer``."""
    return Conflict(victim, 8, "reader", writer, 8, "writer", true_sharing=victim == writer, local=misses)


def profile(*lines: SharedLine, areas: tuple[ObjectArea, ...] = (SLAB,), **counts: int) -> Profile:
    recording = Recording("qemu", ("storm",), (0, 0), "x86_64", counts=tuple(counts.items()))
    return Profile("test", "", "hitm", lines, recording=recording, areas=areas)


def line(address: int, *conflicts: Conflict) -> SharedLine:
    return SharedLine(1, address, (), conflicts=conflicts)


def measured(
    recorded: Profile, question: Question = QUESTION, operations: int = 1, layouts: LayoutTable = LAYOUTS
) -> dict[str, float]:
    return dict(simulated_metrics(recorded, Places(question.type, recorded, layouts), question, operations))


def test_the_record_counts_wherever_it_lies_in_an_object() -> None:
    first, second = conflict(8, 16, 5), conflict(56, 64 - 8, 3)
    assert measured(profile(line(64, first, second)))["type"] == 8


def test_members_around_the_record_do_not_count() -> None:
    assert measured(profile(line(64, conflict(0, 8, 5), conflict(40, 8, 3))))["type"] == 0


def test_a_pair_counts_whichever_of_the_two_suffers() -> None:
    reader, locker, alone = conflict(8, 16, 5), conflict(24, 8, 2), conflict(16, 16, 9)
    values = measured(profile(line(64, reader, locker, alone)))
    assert (values["pair"], values["type"]) == (7, 16)


def test_members_are_those_of_the_build_that_was_recorded() -> None:
    moved = struct("address_space", scalar("flags"), scalar("lock", 16), scalar("tree"))
    inode = struct("inode", scalar("mode"), held("data", moved), scalar("count"))
    values = measured(profile(line(64, conflict(8, 16, 5))), layouts=table(moved, inode))
    assert (values["type"], values["pair"]) == (5, 0)


def test_values_are_for_each_operation() -> None:
    assert measured(profile(line(64, conflict(8, 16, 6))), operations=4)["pair"] == 1.5


def test_everything_includes_lines_that_the_profile_has_no_room_for() -> None:
    values = measured(profile(hitm_local=3, own_remote=1, shared_miss=10, upgrade=1, cold_miss=100))
    assert values["misses"] == 15
    assert values["cycles"] == 3 * 120 + 1 * 300 + 10 * 80 + 1 * 80


def test_what_is_set_apart_is_taken_off() -> None:
    tick = replace(line(64, conflict(8, 16, 5)), apart="timekeeping", misses=Misses(hitm_local=3, shared=2))
    values = measured(profile(tick, hitm_local=4, shared_miss=2))
    assert (values["misses"], values["type"]) == (1, 0)


def test_without_a_record_in_question_only_everything_is_measured() -> None:
    assert [metric.name for metric in metrics_for(Question())] == ["misses", "cycles"]
    assert list(measured(profile(hitm_local=1), Question())) == ["misses", "cycles"]


def test_an_object_of_no_known_type_is_not_counted() -> None:
    untyped = replace(SLAB, types=())
    assert measured(profile(line(64, conflict(8, 16, 5)), areas=(untyped,)))["type"] == 0
