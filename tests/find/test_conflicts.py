# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of a recording: who took the line from whom is counted, so the diagnosis need not guess."""

from __future__ import annotations

from hand_made import scalar, struct, table

from linesmith.analyzer.findings import findings
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import (
    Access,
    Conflict,
    Finding,
    ObjectArea,
    ObjectKind,
    Profile,
    Recording,
    SharedLine,
    Triage,
    TriageKind,
)


def conflict(victim: int, writer: int, misses: int, true_sharing: bool = False, shadowed: int = 0) -> Conflict:
    functions = (f"victim_{victim}", f"writer_{writer}")
    return Conflict(victim, 8, functions[0], writer, 8, functions[1], true_sharing, misses, shadowed=shadowed)


def diagnose(accesses: tuple[Access, ...], *conflicts: Conflict) -> Triage:
    hitm = sum(access.contended for access in accesses)
    line = SharedLine(0, 0x1000, accesses, hitm_local=hitm, conflicts=conflicts)
    return findings(Profile("test", "", "hitm", (line,)), LayoutTable([]), ())[0].triage


def member(offset: int, hitm: int = 0, taken: int = 0) -> Access:
    return Access(offset, f"function_{offset}", hitm_local=hitm, taken=taken, stores_l1_miss=taken)


def test_only_members_that_did_take_the_line_from_each_other_are_a_pair() -> None:
    accesses = (member(0, hitm=90), member(8, taken=50), member(16, taken=50))
    found = diagnose(accesses, conflict(0, 8, 90))
    assert [(pair.first, pair.second, pair.writer, pair.weight) for pair in found.pairs] == [("0x0", "0x8", "0x8", 90)]


def test_both_directions_of_a_pair_add_up_and_the_one_to_blame_is_named() -> None:
    found = diagnose((member(0, 30), member(8, 60)), conflict(0, 8, 30), conflict(8, 0, 60))
    assert [(pair.writer, pair.weight) for pair in found.pairs] == [("0x0", 90)]


def test_misses_on_bytes_that_were_written_are_true_sharing() -> None:
    found = diagnose((member(0, 100, 1),), conflict(0, 0, 100, true_sharing=True))
    assert found.kinds == (TriageKind.TRUE_SHARING,)
    assert "true sharing on 0x0 (99% of the line)" in found.sentence


def test_a_miss_caused_by_a_neighbour_is_no_pair_if_the_own_bytes_were_written_too() -> None:
    found = diagnose((member(0, 100), member(8, taken=1)), conflict(0, 8, 100, true_sharing=True))
    assert found.pairs == ()


def test_the_heaviest_conflicts_are_told_with_their_functions() -> None:
    found = diagnose((member(0, 90), member(8, taken=9)), conflict(0, 8, 60), conflict(0, 8, 30, true_sharing=True))
    assert "90 misses on 0x0 (victim_0) after 0x8 was written (writer_8), 67% false sharing" in found.reasons


def test_a_member_behind_the_one_that_missed_is_a_pair_too() -> None:
    accesses = (member(0, hitm=90), member(8), member(16, taken=9))
    found = diagnose(accesses, conflict(0, 16, 90), conflict(8, 16, 0, shadowed=80))
    assert [(pair.first, pair.second, pair.weight) for pair in found.pairs] == [
        ("0x0", "0x10", 90),
        ("0x8", "0x10", 80),
    ]
    assert "80 accesses to 0x8 (victim_8) came just behind such a miss" in found.reasons[-1]


def test_misses_served_by_clean_copies_count_in_the_whole_too() -> None:
    found = diagnose((member(0, 40, 1), member(8, 10, 1)), conflict(0, 0, 40, true_sharing=True), conflict(8, 0, 60))
    assert found.kinds == (TriageKind.FALSE_SHARING,)


def test_what_the_words_of_one_lock_do_to_each_other_is_contention_on_the_lock() -> None:
    waiting = (Access(0, "rwsem_spin_on_owner", hitm_local=60), Access(8, "down_write", hitm_local=40, taken=99))
    found = diagnose((*waiting, member(24, hitm=50)), conflict(0, 8, 60), conflict(8, 0, 40), conflict(24, 8, 50))
    assert TriageKind.LOCK_CONTENTION in found.kinds


POOL = struct("pool", scalar("count"), scalar("guard"), scalar("limit"))


def in_a_pool(accesses: tuple[Access, ...], *conflicts: Conflict) -> Finding:
    """A recorded line that holds a pool, which the snapshot knows by its address."""
    area = ObjectArea(ObjectKind.SLAB, "pool", 0x1000, 64, 64, 1, ("pool",))
    hitm = sum(access.contended for access in accesses)
    line = SharedLine(1, 0x1000, accesses, hitm_local=hitm, conflicts=conflicts)
    recording = Recording("qemu-user", ("./bench",), (0, 0), "x86_64")
    return findings(Profile("test", "", "hitm", (line,), areas=(area,), recording=recording), table(POOL), ())[0]


def test_a_member_that_only_a_conflict_names_is_called_by_its_name() -> None:
    """Nothing is recorded of a line before it is contended, but who wrote it last."""
    found = in_a_pool((member(8, hitm=1, taken=1),), conflict(8, 0, 1))
    assert "1 miss on guard (victim_8) after count was written (writer_0), 100% false sharing" in found.triage.reasons
    assert [(one.victim.member, one.writer.member) for one in found.cost.sharings] == [("guard", "count")]


def test_who_wrote_it_before_it_was_contended_is_a_writer() -> None:
    found = in_a_pool((member(0, hitm=1),), conflict(0, 0, 1, true_sharing=True)).triage
    assert found.kinds == (TriageKind.TRUE_SHARING,)
    assert found.reasons == ("1 miss on count (victim_0) after count was written (writer_0), 0% false sharing",)


def test_a_recorded_line_without_a_writer_says_nothing_of_samples() -> None:
    found = in_a_pool((member(0, hitm=1),)).triage
    assert found.kinds == (TriageKind.NO_WRITER,)
    assert found.sentence == "only reads were seen: the writer is unknown"
    assert found.reasons == ("no store to it was recorded since it was first contended",)


def test_one_access_behind_a_miss_is_one() -> None:
    found = in_a_pool((member(0, hitm=90), member(8, taken=9)), conflict(0, 8, 1), conflict(16, 8, 0, shadowed=1))
    assert "1 access to limit (victim_16) came just behind such a miss" in found.triage.reasons[-1]
