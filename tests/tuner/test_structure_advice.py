# SPDX-License-Identifier: GPL-2.0-or-later
"""Structural advice needs evidence: each rule with a finding that has it, and with one that lacks it.

``structures.c`` is compiled and its code followed; lines of a profile are written by hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from c_source import compiled
from hand_made import finding, held, hot, scalar, struct, table

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
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
from linesmith.tuner.structure.advise import advise

SOURCE = Path(__file__).with_name("structures.c")


def seen(layout: Layout, member: str, *functions: MemberFunction, lock: bool = False) -> LineMember:
    """A member with the functions sampled on it."""
    (place,) = (one for one in layout.members if one.name == member)
    reads, writes = (sum(getattr(one, kind) for one in functions) for kind in ("contended", "stores"))
    return replace(hot(member, place.offset, place.size, reads, writes, lock), functions=functions)


def loads(function: str, count: int) -> MemberFunction:
    return MemberFunction(function, count, 0)


def stores(function: str, count: int) -> MemberFunction:
    return MemberFunction(function, 0, count)


def waits(victim: str, writer: str, contended: int, least: int | None = None) -> SharingCost:
    amount = Bounds(contended if least is None else least, contended)
    return SharingCost(Side(victim, contended, 0), Side(writer, 0, contended), amount, amount.times(120))


def line(layout: Layout, kind: TriageKind, members: Iterable[LineMember], *sharings: SharingCost) -> Finding:
    """A line that is diagnosed as ``kind``, with who waited for whom."""
    found = finding(layout, members)
    contended = int(sum(one.contended.most for one in sharings))
    cost = LineCost(contended, contended * 120.0, sharings=sharings, exact=True)
    return replace(found, contended=contended, triage=replace(found.triage, kinds=(kind,)), cost=cost)


def advice(found: Finding, layouts: Layouts, accesses: AccessMap | None = None) -> tuple[StructuralAdvice, ...]:
    """What is advised for one line."""
    return tuple(one for told in advise([found], layouts, accesses=accesses) for one in told.advice)


class Program:
    """``structures.c``, compiled."""

    def __init__(self, folder: Path) -> None:
        target = compiled(folder, SOURCE.read_text(), "-O2")
        self.layouts: Layouts = read_layouts(target).layouts
        self.accesses: AccessMap = read_accesses(target).accesses

    def of_session(self, member: str, *functions: MemberFunction) -> tuple[StructuralAdvice, ...]:
        """Advice for a line on which everybody waits for stores to one member of a session."""
        (session,) = self.layouts.variants("session")
        found = line(session, TriageKind.TRUE_SHARING, [seen(session, member, *functions)], waits(member, member, 100))
        return advice(found, self.layouts, accesses=self.accesses)

    def of_totals(self, read: int, least: int = 20, other: str = "received") -> tuple[StructuralAdvice, ...]:
        """Advice for a line on which two counters wait for stores to each other and, as often, to themselves."""
        (totals,) = self.layouts.variants("totals")
        counts = "totals_receive" if other == "received" else "totals_try"
        sent = seen(totals, "sent", stores("totals_send", 50), loads("totals_left", read))
        own = (waits(name, name, 30, least) for name in ("sent", other))
        sharings = (waits("sent", other, 30), waits(other, "sent", 30), *own)
        found = line(totals, TriageKind.FALSE_SHARING, [sent, seen(totals, other, stores(counts, 50))], *sharings)
        return advice(found, self.layouts, accesses=self.accesses)

    def several(self, name: str, between: int = 100) -> tuple[StructuralAdvice, ...]:
        """Advice for a line with two objects of one type that make each other wait."""
        (layout,) = self.layouts.variants(name)
        where = seen(layout, "words", stores("take", 50))
        sharing = waits("words", f"words of the {name} at 0x28", between)
        found = line(layout, TriageKind.SEVERAL_OBJECTS, [where], sharing)
        return advice(found, self.layouts, accesses=self.accesses)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(tmp_path_factory.mktemp("structures"))


def test_a_counter_that_is_hardly_read_is_counted_per_cpu(program: Program) -> None:
    (one,) = program.of_session("hits", stores("session_hit", 90), loads("session_hits", 10))
    assert (one.kind, one.sentence) == (StructureKind.COUNT_APART, "count hits per CPU and add up where it is read")
    assert one.reasons == (
        "100% of the contended loads on its line are of hits, after another CPU's store to it",
        "1 of 1 instructions that write it add to it",
        "90 accesses are of functions that update it, 10 of those that only read it",
    )
    accessors = [(who.function, who.samples, who.writes) for who in one.accessors]
    assert accessors == [("session_hit", 90, ("hits",)), ("session_hits", 10, ())]


def test_other_counters(program: Program) -> None:
    (read,) = program.of_session("hits", stores("session_hit", 10), loads("session_hits", 90))
    assert read.sentence == "collect what is added to hits per CPU and add it in batches", "mostly read"
    (decides,) = program.of_session("users", stores("session_get", 50), stores("session_put", 50))
    assert decides.sentence == "take users less often, or count it per CPU until its value must be known"
    looks = "1 of them look at the value where it decides something: a reference count or a limit"
    assert looks in decides.reasons
    (session,) = program.layouts.variants("session")
    where = seen(session, "hits", stores("session_hit", 90))
    unknown = line(session, TriageKind.TRUE_SHARING, [where], waits("hits", "hits", 100))
    assert advice(unknown, program.layouts) == (), "without the code nothing is said of counters"


def test_a_counter_that_each_cpu_has_already_is_not_to_be_counted_per_cpu(program: Program) -> None:
    (session,) = program.layouts.variants("session")
    where = seen(session, "hits", stores("session_hit", 90), loads("session_hits", 10))
    found = line(session, TriageKind.TRUE_SHARING, [where], waits("hits", "hits", 100))
    for origin, advised in (
        ("slab session", True),
        ("slab session (64 bytes), merged with task_struct", True),
        ("slab session (64 bytes); pointed to by per-CPU sessions", True),
        ("slab percpu_ref", True),
        ("per-CPU sessions of CPU 3", False),
        ("global thread_ctx", False),
    ):
        there = replace(found, objects=(replace(found.objects[0], origin=origin),))
        kinds = {one.kind for one in advice(there, program.layouts, accesses=program.accesses)}
        assert (StructureKind.COUNT_APART in kinds) == advised


def test_a_counter_that_hardly_anybody_waits_for_is_left_where_it_is(program: Program) -> None:
    (session,) = program.layouts.variants("session")
    where = seen(session, "hits", stores("session_hit", 90))
    for own, advised in ((2, False), (20, True)):
        sharings = waits("hits", "hits", own), waits("state", "hits", 100 - own)
        found = line(session, TriageKind.TRUE_SHARING, [where], *sharings)
        kinds = {one.kind for one in advice(found, program.layouts, accesses=program.accesses)}
        assert (StructureKind.COUNT_APART in kinds) == advised


def test_the_head_of_a_list_is_no_counter(program: Program) -> None:
    (inbox,) = program.layouts.variants("inbox")
    where = seen(inbox, "head", stores("inbox_push", 90))
    found = line(inbox, TriageKind.TRUE_SHARING, [where], waits("head", "head", 100))
    kinds = {one.kind for one in advice(found, program.layouts, accesses=program.accesses)}
    assert StructureKind.COUNT_APART not in kinds


def test_counters_of_which_none_carries_the_line_are_counted_per_cpu_together(program: Program) -> None:
    (one,) = program.of_totals(read=10)
    assert (one.kind, one.members) == (StructureKind.COUNT_APART, ("sent", "received"))
    assert one.sentence == "count sent and received per CPU and add up where they are read"
    assert one.reasons == ("100% of the contended loads on their line are of one, after another CPU's store to one",)
    assert program.of_totals(read=90) == (), "one is read more than counted"
    assert program.of_totals(read=10, other="taken") == (), "the value of one decides whether it is added to"
    assert program.of_totals(read=10, least=0) == (), "each thread may have its own"


def test_a_store_of_what_may_be_there_already_is_doubted_and_not_called_needless(program: Program) -> None:
    (one,) = program.of_session("state", stores("session_wake", 90), loads("session_awake", 90))
    assert one.sentence == "store to state only where the value differs: session_wake would read it first"
    assert one.notes == (
        "Whether state often keeps its value no sample tells: count how often a store changes it before you do this.",
    )
    reads_first = program.of_session("mode", stores("session_turn", 90), loads("session_awake", 90))
    assert reads_first == ()


def test_small_objects_that_make_each_other_wait_are_pulled_in(program: Program) -> None:
    one = program.several("area_lock")[0]
    assert (one.kind, one.type, one.members) == (StructureKind.PULL_IN, "area", ("lock",))
    disturbed, owner = one.reasons
    assert disturbed.startswith("1 line with several struct area_lock of 40 bytes: at most 100 contended loads wait")
    assert owner == "lock of struct area is the only member of any record that points to one"
    assert (one.before[0].size, one.after[0].size) == (48, 128)
    assert program.several("shared_lock") == (), "an object that is counted may belong to several"
    assert program.several("area_lock", between=29) == (), "they hardly meet"


LOCK = struct("rw_semaphore", scalar("count"), scalar("owner"), scalar("wait", 24))
LOCK_MEMBER = held("tree_lock", LOCK)
MAPPING = struct("mapping", scalar("host"), scalar("tree", 16), LOCK_MEMBER, scalar("nr_tree", 4), scalar("flags"))
LAYOUTS = table(MAPPING, LOCK)
locked = partial(line, MAPPING, TriageKind.LOCK_CONTENTION)
BY_ITSELF = ContendedLock("mapping", "tree_lock", "rw_semaphore")


def contended(*members: LineMember, protects: tuple[Protected, ...], rank: int = 0) -> Finding:
    """A line on which functions wait for the lock of a mapping."""
    words = seen(MAPPING, "tree_lock", stores("down_write", 60), loads("rwsem_spin_on_owner", 40), lock=True)
    found = locked([*members, words], waits("tree_lock", "tree_lock", 60), waits("tree", "tree_lock", 40))
    return replace(found, rank=rank, lock=replace(BY_ITSELF, members=protects, holders=("tree_add",)))


TREE = Protected("tree", 2, 2)
WITH_TREE = contended(seen(MAPPING, "tree", loads("tree_add", 40)), protects=(TREE, Protected("flags", 1, 1)))


def test_a_contended_lock_is_sharded_with_what_was_seen_with_it() -> None:
    (one,) = advice(WITH_TREE, LAYOUTS)
    assert (one.kind, one.members) == (StructureKind.SHARD, ("tree_lock", "tree"))
    assert one.reasons == (
        "60% of the contended loads on its line are of tree_lock, after another CPU's store to it",
        "taken and released there by down_write, rwsem_spin_on_owner",
        "tree belongs to it: 2 of 2 functions that write it take the lock",
    )
    assert [(who.function, who.reads, who.holds_lock) for who in one.accessors] == [("tree_add", ("tree",), True)]
    assert one.notes[0].startswith("A copy takes 64 bytes (56 used), aligned to a line")


def test_a_lock_whose_data_was_not_seen_is_told_as_that() -> None:
    (one,) = advice(contended(protects=(TREE,)), LAYOUTS)
    assert one.members == ("tree_lock",)
    assert one.sentence == "shard tree_lock with what it protects, or take it less often"
    assert one.notes[0].startswith("It probably protects tree, but the profile shows none of them")
    counter = replace(scalar("nr_tree", 4), type="atomic_t")
    layout = replace(MAPPING, members=tuple(counter if one.name == "nr_tree" else one for one in MAPPING.members))
    atomic = contended(seen(MAPPING, "nr_tree", loads("tree_add", 40)), protects=(Protected("nr_tree", 1, 1, True),))
    assert advice(atomic, table(layout, LOCK))[0].members == ("tree_lock",), "an atomic counter stays out of the shard"


def test_a_lock_that_is_mostly_taken_for_reading_is_given_to_each_reader() -> None:
    words = seen(MAPPING, "tree_lock", loads("down_read", 90), stores("up_write", 10), lock=True)
    (one,) = advice(replace(locked([words], waits("tree_lock", "tree_lock", 100)), lock=BY_ITSELF), LAYOUTS)
    assert one.sentence.startswith("let each CPU take tree_lock for reading by itself (percpu_rw_semaphore, RCU)")
    assert "90% of their accesses are of functions that take it for reading" in one.reasons
    assert one.notes[0] == "What it protects the code does not tell: it may lie in other objects."


def test_a_piece_of_advice_is_told_once_and_noise_gets_none() -> None:
    told = advise([replace(WITH_TREE, rank=at) for at in range(3)], LAYOUTS)
    assert [(one.finding.rank, len(one.advice)) for one in told] == [(0, 1)], "at the first line it holds for"
    assert advise([replace(WITH_TREE, share=0.001)], LAYOUTS) == ()
    assert advise([replace(WITH_TREE, contended=29)], LAYOUTS) == ()


def word(path: str, offset: int, contended: int) -> LineMember:
    return replace(hot(path, offset, 8, contended, lock=True), functions=(loads("down_write", contended),))


def test_a_lock_that_is_fought_for_on_two_lines_shrinks_to_one() -> None:
    layout = struct("heap", scalar("root", 48), held("lock", LOCK), scalar("size"))
    known = ContendedLock("heap", "lock", "rw_semaphore")
    first, second = (
        line(layout, TriageKind.LOCK_CONTENTION, [word("lock.count", at, count)], waits("lock", "lock", count))
        for at, count in ((48, 70), (64, 30))
    )
    pair = replace(first, address=0x1000, lock=known), replace(second, address=0x1040, rank=1, lock=known)
    (told, *_) = advise(pair, table(layout, LOCK))
    both = "lock lies on 2 lines, and all of them are fought for: 70 and 30 contended loads"
    smaller = "lock of struct heap with 8 bytes instead of 40: 96 -> 64 bytes, 2 -> 1 lines of 64"
    assert (told.advice[0].reasons, told.advice[0].sentence) == ((both,), smaller)
    assert [one.kind for one in advice(pair[0], table(layout, LOCK))] == [StructureKind.SHARD]


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
    inner = struct("", LOCK_MEMBER, scalar("rest", 200))
    outer = struct("mm", scalar("count"), held("", inner))
    words, sharing = word("tree_lock.count", 8, 100), waits("tree_lock", "tree_lock", 100)
    found = line(outer, TriageKind.LOCK_CONTENTION, [words], sharing)
    known = ContendedLock("mm", "tree_lock", "rw_semaphore")
    (one,) = advice(replace(found, lock=known), table(outer, inner, LOCK))
    assert "A copy takes 64 bytes (40 used), aligned to a line" in one.notes[1]
