# SPDX-License-Identifier: GPL-2.0-or-later
"""Structural advice needs evidence: each rule with a finding that has it, and with one that lacks it.

``structures.c`` is compiled and its code followed; lines of a profile are written by hand.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import finding, held, hot, scalar, struct, table

from linesmith.analyzer.access import AccessMap, read_accesses
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import (
    Bounds,
    ConflictPair,
    ContendedLock,
    Finding,
    Layout,
    LineCost,
    LineMember,
    MemberFunction,
    Protected,
    SharingCost,
    Side,
    StructuralAdvice,
    StructureKind,
    TriageKind,
)
from linesmith.tuner.structure.advise import advice, advise

SOURCE = Path(__file__).with_name("structures.c")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Layouts, AccessMap]:
    target = tmp_path_factory.mktemp("structures") / "structures.o"
    subprocess.run(["gcc", "-g", "-O2", "-c", str(SOURCE), "-o", str(target)], check=True)
    return read_layouts(target).layouts, read_accesses(target).accesses


def seen(layout: Layout, member: str, *functions: MemberFunction, lock: bool = False) -> LineMember:
    """A member with the functions sampled on it."""
    (place,) = (one for one in layout.members if one.name == member)
    reads = sum(one.contended for one in functions)
    stores = sum(one.stores for one in functions)
    return replace(hot(member, place.offset, place.size, reads, stores, lock), functions=functions)


def loads(function: str, count: int) -> MemberFunction:
    return MemberFunction(function, count, 0)


def stores(function: str, count: int) -> MemberFunction:
    return MemberFunction(function, 0, count)


def waits(victim: str, writer: str, contended: int) -> SharingCost:
    amount = Bounds(contended, contended)
    return SharingCost(Side(victim, contended, 0), Side(writer, 0, contended), amount, amount.times(120))


def line(layout: Layout, kind: TriageKind, members: Iterable[LineMember], *sharings: SharingCost) -> Finding:
    """A line that is diagnosed as ``kind``, with who waited for whom."""
    found = finding(layout, members)
    contended = int(sum(one.contended.most for one in sharings))
    cost = LineCost(contended, contended * 120.0, sharings=sharings, exact=True)
    return replace(found, contended=contended, triage=replace(found.triage, kinds=(kind,)), cost=cost)


def of_session(
    program: tuple[Layouts, AccessMap], member: str, *functions: MemberFunction, by: str | None = None
) -> tuple[StructuralAdvice, ...]:
    """Advice for a line on which everybody waits for stores to one member of a session."""
    layouts, accesses = program
    (session,) = layouts.variants("session")
    where = seen(session, member, *functions)
    found = line(session, TriageKind.TRUE_SHARING, [where], waits(by or member, member, 100))
    return advice(found, layouts, accesses=accesses)


def test_a_counter_that_is_hardly_read_is_counted_per_cpu(program: tuple[Layouts, AccessMap]) -> None:
    (one,) = of_session(program, "hits", stores("session_hit", 90), loads("session_hits", 10))
    assert (one.kind, one.sentence) == (
        StructureKind.COUNT_APART,
        "count hits per CPU and add up where it is read",
    )
    assert one.reasons == (
        "100% of the line's contended accesses waited on hits for stores to it",
        "1 of 1 instructions that write it add to it",
        "90 samples are of functions that update it, 10 of those that only read it",
    )
    assert [(who.function, who.samples, who.writes) for who in one.accessors] == [
        ("session_hit", 90, ("hits",)),
        ("session_hits", 10, ()),
    ]


def test_a_counter_that_is_mostly_read_is_added_to_in_batches(program: tuple[Layouts, AccessMap]) -> None:
    (one,) = of_session(program, "hits", stores("session_hit", 10), loads("session_hits", 90))
    assert one.sentence == "collect what is added to hits per CPU and add it in batches"


def test_a_count_whose_value_decides_something_cannot_just_be_split(program: tuple[Layouts, AccessMap]) -> None:
    (one,) = of_session(program, "users", stores("session_get", 50), stores("session_put", 50))
    assert one.sentence == "take users less often, or count it per CPU until its value must be known"
    assert "1 of them look at the value where it decides something: a reference count or a limit" in one.reasons


def of_totals(
    program: tuple[Layouts, AccessMap], read: int, least: int = 20, other: str = "received"
) -> tuple[StructuralAdvice, ...]:
    """Advice for a line on which two counters wait for stores to each other and, as often, to themselves."""
    layouts, accesses = program
    (totals,) = layouts.variants("totals")
    members = [
        seen(totals, "sent", stores("totals_send", 50), loads("totals_left", read)),
        seen(totals, other, stores("totals_receive" if other == "received" else "totals_try", 50)),
    ]
    own = (replace(waits(name, name, 0), contended=Bounds(least, 30)) for name in ("sent", other))
    found = line(totals, TriageKind.FALSE_SHARING, members, waits("sent", other, 30), waits(other, "sent", 30), *own)
    return advice(found, layouts, accesses=accesses)


def test_counters_of_which_none_carries_the_line_are_counted_per_cpu_together(
    program: tuple[Layouts, AccessMap],
) -> None:
    (one,) = of_totals(program, read=10)
    assert (one.kind, one.members) == (StructureKind.COUNT_APART, ("sent", "received"))
    assert one.sentence == "count sent and received per CPU and add up where they are read"
    assert one.reasons == ("100% of the line's contended accesses waited on one of them for stores to one of them",)


def test_one_of_them_that_is_read_more_than_counted_is_no_such_counter(program: tuple[Layouts, AccessMap]) -> None:
    assert of_totals(program, read=90) == ()


def test_one_whose_value_decides_whether_it_is_added_to_is_no_such_counter(
    program: tuple[Layouts, AccessMap],
) -> None:
    assert of_totals(program, read=10, other="taken") == ()


def test_counters_that_each_thread_may_have_for_itself_are_no_such_counters(
    program: tuple[Layouts, AccessMap],
) -> None:
    assert of_totals(program, read=10, least=0) == ()


def test_a_store_of_what_may_be_there_already_is_doubted_and_not_called_needless(
    program: tuple[Layouts, AccessMap],
) -> None:
    (one,) = of_session(program, "state", stores("session_wake", 90), loads("session_awake", 90))
    assert one.sentence == "store to state only where the value differs: session_wake would read it first"
    assert one.notes == (
        "Whether state often keeps its value no sample tells: count how often a store changes it before you do this.",
    )


def test_who_reads_before_it_writes_needs_no_advice(program: tuple[Layouts, AccessMap]) -> None:
    assert of_session(program, "mode", stores("session_turn", 90), loads("session_awake", 90)) == ()


def test_without_the_code_nothing_is_said_of_counters(program: tuple[Layouts, AccessMap]) -> None:
    (session,) = program[0].variants("session")
    where = seen(session, "hits", stores("session_hit", 90))
    found = line(session, TriageKind.TRUE_SHARING, [where], waits("hits", "hits", 100))
    assert advice(found, program[0]) == ()


def test_what_is_read_far_more_often_than_written_is_read_from_copies() -> None:
    layout = struct("table", scalar("root"), scalar("size"))
    where = replace(hot("root", 0, 8, 2100, 100), functions=(loads("table_find", 2000), stores("table_grow", 100)))
    found = line(layout, TriageKind.TRUE_SHARING, [where], waits("root", "root", 2000))
    (one,) = advice(found, table(layout))
    assert (one.kind, one.reasons[1]) == (StructureKind.READ_COPY, "2,100 reads for 100 stores: 21 to one")


def several(program: tuple[Layouts, AccessMap], name: str, between: int = 100) -> tuple[StructuralAdvice, ...]:
    """Advice for a line with two objects of one type that make each other wait."""
    layouts, accesses = program
    (layout,) = layouts.variants(name)
    where = seen(layout, "words", stores("take", 50))
    found = line(layout, TriageKind.SEVERAL_OBJECTS, [where], waits("words", f"words of the {name} at 0x28", between))
    return advice(found, layouts, accesses=accesses)


def test_small_objects_that_make_each_other_wait_are_pulled_in(program: tuple[Layouts, AccessMap]) -> None:
    one = several(program, "area_lock")[0]
    assert (one.kind, one.type, one.members) == (StructureKind.PULL_IN, "area", ("lock",))
    disturbed, owner = one.reasons
    assert disturbed.startswith("1 line with several struct area_lock of 40 bytes: at most 100 contended accesses wait")
    assert owner == "lock of struct area is the only member of any record that points to one"
    assert (one.before[0].size, one.after[0].size) == (48, 128)


def test_an_object_that_is_counted_may_belong_to_several(program: tuple[Layouts, AccessMap]) -> None:
    assert several(program, "shared_lock") == ()


def test_neighbours_that_hardly_meet_are_left_alone(program: tuple[Layouts, AccessMap]) -> None:
    assert several(program, "area_lock", between=29) == ()


LOCK = struct("rw_semaphore", scalar("count"), scalar("owner"), scalar("wait", 24))
MAPPING = struct(
    "mapping",
    *(scalar("host"), scalar("tree", 16), held("tree_lock", LOCK), scalar("nr_tree", 4), scalar("flags")),
)


def contended(*members: LineMember, protects: tuple[Protected, ...], others: int = 0) -> Finding:
    """A line on which functions wait for the lock of a mapping."""
    words = seen(MAPPING, "tree_lock", stores("down_write", 60), loads("rwsem_spin_on_owner", 40), lock=True)
    sharings = (waits("tree_lock", "tree_lock", 60), waits("tree", "tree_lock", 40))
    found = line(MAPPING, TriageKind.LOCK_CONTENTION, [*members, words], *sharings)
    lock = ContendedLock("mapping", "tree_lock", "rw_semaphore", protects, ("tree_add",))
    return replace(found, rank=others, lock=lock)


TREE = Protected("tree", 2, 2)


def test_a_contended_lock_is_sharded_with_what_was_seen_with_it() -> None:
    found = contended(seen(MAPPING, "tree", loads("tree_add", 40)), protects=(TREE, Protected("flags", 1, 1)))
    (one,) = advice(found, table(MAPPING, LOCK))
    assert (one.kind, one.members) == (StructureKind.SHARD, ("tree_lock", "tree"))
    assert one.reasons == (
        "60% of the line's contended accesses waited on tree_lock for stores to it",
        "seen on it: down_write, rwsem_spin_on_owner",
        "tree belongs to it: 2 of 2 functions that write it take the lock",
    )
    assert [(who.function, who.reads, who.holds_lock) for who in one.accessors] == [("tree_add", ("tree",), True)]
    assert one.notes[0].startswith("A copy takes 64 bytes (56 used), aligned to a line")


def test_a_lock_whose_data_was_not_seen_is_told_as_that() -> None:
    (one,) = advice(contended(protects=(TREE,)), table(MAPPING, LOCK))
    assert (one.members, one.sentence) == (
        ("tree_lock",),
        "shard tree_lock with what it protects, or take it less often",
    )
    assert one.notes[0].startswith("It probably protects tree, but the profile shows none of them")


def test_a_lock_that_is_mostly_taken_for_reading_is_given_to_each_reader() -> None:
    words = seen(MAPPING, "tree_lock", loads("down_read", 90), stores("up_write", 10), lock=True)
    found = line(MAPPING, TriageKind.LOCK_CONTENTION, [words], waits("tree_lock", "tree_lock", 100))
    (one,) = advice(replace(found, lock=ContendedLock("mapping", "tree_lock", "rw_semaphore")), table(MAPPING, LOCK))
    assert one.sentence.startswith("let each CPU take tree_lock for reading by itself (percpu_rw_semaphore, RCU)")
    assert "90% of their samples are of functions that take it for reading" in one.reasons
    assert one.notes[0] == "What it protects the code does not tell: it may lie in other objects."


def test_a_counter_that_is_atomic_by_itself_stays_out_of_the_shard() -> None:
    counter = replace(scalar("nr_tree", 4), type="atomic_t")
    layout = replace(MAPPING, members=tuple(counter if one.name == "nr_tree" else one for one in MAPPING.members))
    found = contended(seen(MAPPING, "nr_tree", loads("tree_add", 40)), protects=(Protected("nr_tree", 1, 1, True),))
    (one,) = advice(found, table(replace(layout, id=MAPPING.id), LOCK))
    assert one.members == ("tree_lock",)


def test_a_piece_of_advice_is_told_once_at_the_first_line_it_holds_for() -> None:
    lines = [contended(seen(MAPPING, "tree", loads("tree_add", 40)), protects=(TREE,), others=at) for at in range(3)]
    told = advise(lines, table(MAPPING, LOCK))
    assert [(one.finding.rank, len(one.advice)) for one in told] == [(0, 1)]


def test_lines_that_are_noise_get_no_advice() -> None:
    found = contended(seen(MAPPING, "tree", loads("tree_add", 40)), protects=(TREE,))
    assert advise([replace(found, share=0.001)], table(MAPPING, LOCK)) == ()
    assert advise([replace(found, contended=29)], table(MAPPING, LOCK)) == ()


def test_a_lock_that_is_fought_for_on_two_lines_shrinks_to_one() -> None:
    layout = struct("heap", scalar("root", 48), held("lock", LOCK), scalar("size"))
    known = ContendedLock("heap", "lock", "rw_semaphore")
    first = line(layout, TriageKind.LOCK_CONTENTION, [_word(48, 70)], waits("lock", "lock", 70))
    second = line(layout, TriageKind.LOCK_CONTENTION, [_word(64, 30)], waits("lock", "lock", 30))
    pair = replace(first, address=0x1000, lock=known), replace(second, address=0x1040, rank=1, lock=known)
    (told, *_) = advise(pair, table(layout, LOCK))
    assert told.advice[0].reasons == (
        "lock lies on 2 lines, and all of them are fought for: 70 and 30 contended accesses",
    )
    assert (
        told.advice[0].sentence == "lock of struct heap with 8 bytes instead of 40: 96 -> 64 bytes, 2 -> 1 lines of 64"
    )
    assert [one.kind for one in advice(pair[0], table(layout, LOCK))] == [StructureKind.SHARD]


def _word(offset: int, contended: int) -> LineMember:
    return replace(hot("lock.count", offset, 8, contended, lock=True), functions=(loads("down_write", contended),))


def test_a_writer_in_a_record_that_cannot_be_rearranged_is_pushed_out() -> None:
    packed = struct("header", scalar("magic", 4), scalar("length"), scalar("drops"))
    placed = tuple(replace(one, offset=offset) for one, offset in zip(packed.members, (0, 4, 12), strict=True))
    layout = replace(packed, members=placed, size=20)
    members = [seen(layout, "length", loads("read_header", 90)), seen(layout, "drops", stores("drop", 90))]
    found = line(layout, TriageKind.FALSE_SHARING, members, waits("length", "drops", 90))
    pairs = (ConflictPair("length", "drops", "drops", 90),)
    (one,) = advice(replace(found, triage=replace(found.triage, pairs=pairs)), table(layout))
    assert (one.kind, one.members) == (StructureKind.PUSH_OUT, ("drops",))
    assert one.reasons[1].startswith("no order of the members parts them: it is packed")


def test_members_of_anonymous_structs_are_known_by_their_own_size() -> None:
    inner = struct("", held("tree_lock", LOCK), scalar("rest", 200))
    outer = struct("mm", scalar("count"), held("", inner))
    words = replace(hot("tree_lock.count", 8, 8, 100, lock=True), functions=(loads("down_write", 100),))
    found = line(outer, TriageKind.LOCK_CONTENTION, [words], waits("tree_lock", "tree_lock", 100))
    (one,) = advice(replace(found, lock=ContendedLock("mm", "tree_lock", "rw_semaphore")), table(outer, inner, LOCK))
    assert "A copy takes 64 bytes (40 used), aligned to a line" in one.notes[1]
