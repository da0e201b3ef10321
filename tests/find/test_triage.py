# SPDX-License-Identifier: GPL-2.0-or-later
"""What kind of sharing a line shows, guessed from samples or counted; and what a contended lock protects.

``locking.c``: ``table_grow`` and ``table_shrink`` take ``slots_lock`` by an inlined function of the same name,
``table_forget`` takes ``hits_lock``, ``table_init`` takes none.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from find.lines import Built, Case, accesses, areas_of, cases, check, explained, facts, line_of, profile_of
from hand_made import finding, hot, scalar, struct, table

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.attribution.lock import is_lock, is_lock_word, takes_lock, waits_for_lock
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.dwarf import read_layouts, touched
from linesmith.analyzer.model import (
    Access,
    CacheLine,
    CallPath,
    Conflict,
    ContendedLock,
    Finding,
    Layout,
    LineMember,
    LineObject,
    Member,
    MemberFunction,
    ObjectArea,
    ObjectKind,
    Outcome,
    Recording,
    RecordKind,
    Triage,
    TriageKind,
)
from linesmith.analyzer.report.findings import ProfileSection, render_lines
from linesmith.analyzer.sharing.contended_lock import name_locks
from linesmith.analyzer.sharing.findings import findings
from linesmith.analyzer.sharing.parts import straddling
from linesmith.analyzer.sharing.triage import triage

RECORDING = Recording("qemu-user", ("./bench",), (0, 0), "x86_64")


@cases("sampled_kinds")
def test_a_sampled_line(case: Case) -> None:
    given, others = case.given, []
    if "beside" in given:
        address, counts = given["beside"].split()
        stores = int(counts.partition("/")[2])
        others.append(line_of((), int(address, 0), 1, stores_l1_hit=stores))
    events = tuple(filter(None, [given.get("events")]))
    profile = profile_of(line_of(accesses(given["rows"])), *others, events=events)
    check(case, facts(explained(None, profile)[0]))


def test_a_recording_has_every_store_and_none_is_inferred() -> None:
    """The code of a lock may write each of its words; what it did is counted."""
    line = line_of(accesses("0 pthread_mutex_lock 80, 0x20 writer 0/9"))
    short = replace(RECORDING, counts=(("dropped_accesses", 1),))
    written = [
        [member.written for member in explained(None, profile_of(line, recording=how))[0].members]
        for how in (None, RECORDING, short)
    ]
    assert written == [[True, True], [False, True], [True, True]], "of the last there was no room for all"


def test_a_lock_is_contended_whether_or_not_one_waited_and_those_behind_its_helpers_are_named() -> None:
    paths = (
        CallPath(("lock_both", "work", "main", "start"), 60),
        CallPath(("_raw_read_lock", "other"), 15),
        CallPath(("list_add",), 5),
    )
    (row,) = accesses("0 _raw_spin_lock 80/9")
    (found,) = explained(None, profile_of(line_of((replace(row, call_paths=paths),))))
    (member,) = found.members
    assert member.callers == (CallPath(("work", "main"), 60), CallPath(("other",), 15), CallPath(("list_add",), 5))
    sentence = "lock contention on lock at 0x0 (100% of the line), which moving members does not remove: "
    assert found.triage.sentence == sentence + "work 75%, other 19%, list_add 6%"


def test_the_words_of_a_lock_without_a_type_are_one_lock() -> None:
    """Code of the C library without a name says nothing against it."""
    rows = accesses(
        "0 pthread_mutex_lock 80/9, 8 [unknown] 50/40, 8 pthread_mutex_unlock 5/9, 0x10 pthread_mutex_lock 60"
    )
    profile = profile_of(line_of(rows), recording=RECORDING, areas=areas_of("global stats_lock 0 40"))
    (found,) = explained(None, profile)
    assert [(member.path, member.top, member.lock) for member in found.members] == [
        ("stats_lock", "stats_lock", True),
        ("stats_lock+0x8", "stats_lock", True),
        ("stats_lock+0x10", "stats_lock", True),
    ]
    assert found.triage.kinds == ("lock contention",)


@pytest.mark.parametrize(
    ("name", "size", "kind"),
    [("wq_lock", 8, "lock contention"), ("wq_clock", 8, "true sharing"), ("lock", 64, "true sharing")],
)
def test_a_variable_that_is_a_plain_number_is_a_lock_by_its_name(name: str, size: int, kind: str) -> None:
    areas = areas_of(f"global {name} 0 {size}")
    (found,) = explained(None, profile_of(line_of(accesses("0 take 80/9")), recording=RECORDING, areas=areas))
    assert found.members[0].path == name
    assert found.triage.kinds == (kind,)


def test_a_plain_number_is_a_lock_by_its_name_or_its_type() -> None:
    members = [
        Member(name, kind, name, 0, size)
        for name, size, kind in (
            ("lock", 8, "unsigned long"), ("queue", 8, "HA_RWLOCK_T"), ("wq_lock", 4, "unsigned int"),
            ("ptl", 8, "spinlock_t *"), ("lock", 1, "bool"), ("lock_count", 4, "int"), ("clock", 8, "u64"),
        )
    ]  # fmt: skip
    assert [is_lock_word(one) for one in members] == [True, True, True, False, False, False, False]


def test_lines_that_are_not_explained_still_count_in_shares_and_as_neighbours() -> None:
    hot = line_of(accesses("8 read 30"))
    written = line_of((), 0x1040, 1, hitm_local=10, stores_l1_hit=9)
    (found,) = explained(None, profile_of(hot, written), lines=(hot,))
    assert (found.share, found.triage.kinds) == (0.75, ("adjacent-line sharing",))


@pytest.mark.parametrize("has_stores", [True, False])
def test_a_profile_of_loads_alone_is_told_from_one_whose_stores_fell_elsewhere(has_stores: bool) -> None:
    profile = profile_of(line_of(accesses("8 read 50")), has_stores=has_stores)
    assert explained(None, profile)[0].stores_sampled is has_stores


def met(path: str, offset: int, contended: int, stores: int, begin: int = 0, **more: Any) -> LineMember:
    """A member of an object that begins at byte ``begin`` of the line, and one function that works on it."""
    function = MemberFunction(more.pop("by", "worker"), contended, stores)
    return LineMember(path, offset, offset - begin, 8, contended, stores, (function,), **more)


def diagnosed(members: list[LineMember], *owners: LineObject, line: CacheLine | None = None) -> Triage:
    line = line or CacheLine(0, None, ())
    return triage(line, owners, members, profile_of(line))


def test_the_members_of_a_lock_whose_owner_is_not_known_are_one_lock() -> None:
    members = [
        met("count", 8, 10, 5, 8, by="down_write", lock=True),
        met("owner", 16, 90, 0, 8, by="rwsem_spin_on_owner", lock=True, write_inferred="taking a lock writes it"),
    ]
    found = diagnosed(members, LineObject("rw_semaphore", 1, 8, 1.0, Outcome.INNER_TYPE_ONLY))
    assert (found.kinds, found.pairs) == (("lock contention",), ())
    assert found.sentence.startswith("lock contention on rw_semaphore (100%")


def test_shares_are_of_the_line_also_where_a_paste_left_rows_out() -> None:
    """The rows show 90 of 150: of these the lock has all, of the line 60 %."""
    line = line_of(accesses("8 rwsem_spin_on_owner 90"), None, hitm_local=150)
    found = diagnosed([met("count", 8, 90, 5, 8, by="rwsem_spin_on_owner", lock=True)], line=line)
    assert found.kinds == ("lock contention",)
    assert "(60% of the line)" in found.sentence


@pytest.mark.parametrize(
    ("members", "kind", "sentence"),
    [
        ([met(f"slot[{at}].count", 16 * at, 50, 40) for at in range(3)], "false sharing",
            "false sharing between slot[0], slot[1], slot[2]: pad or align the elements of slot"),
        # of an array of levels one element is hot: its mask is read, its count beside it is written
        ([met("level[9].count", 8, 20, 50, -136), met("level[9].mask", 16, 90, 0, -136)], "false sharing",
            "only another layout of their own record parts them"),
        # a record whose hot words are all written
        ([met("tree.root", 8, 50, 50), met("tree.first", 16, 60, 50)], "true sharing",
            "true sharing on tree (100% of the line), which no layout removes"),
    ],
)  # fmt: skip
def test_members_of_arrays_and_of_inner_records(members: list[LineMember], kind: str, sentence: str) -> None:
    found = diagnosed(members)
    assert found.kinds == (kind,)
    assert found.sentence.endswith(sentence)


def sessions(*members: LineMember, origins: tuple[str, str] = ("", "")) -> Triage:
    """A line on which one session ends and the next one begins, at byte 32."""
    owners = (
        LineObject("session", 1, start, 1.0, Outcome.RESOLVED, origin=origin)
        for start, origin in zip((-96, 32), origins, strict=True)
    )
    return diagnosed(list(members), *owners)


def test_members_of_two_neighbours_are_told_apart_and_aligning_is_the_remedy() -> None:
    meeting = met("count", 0x18, 50, 0, -96), met("count", 0x38, 0, 90, 32)
    found = sessions(*meeting)
    assert found.kinds == ("false sharing", "several objects")
    assert [(pair.first, pair.second) for pair in found.pairs] == [("count", "count of the session at 0x20")]
    both = "2 objects lie on this line: session at -0x60, session at 0x20"
    assert found.reasons[-1] == f"{both}; aligning each to a line parts them, which moving members does not"
    apart = sessions(met("count", 0x18, 50, 90, -96), met("name", 0x38, 0, 0, 32))
    assert apart.reasons[-1] == both
    elements = sessions(*meeting, origins=("global sessions[0]", "global sessions[1]"))
    assert elements.pairs[0].writer == "count of sessions[1]"


def conflict(victim: int, writer: int, misses: int, true_sharing: bool = False, shadowed: int = 0) -> Conflict:
    functions = (f"victim_{victim}", f"writer_{writer}")
    return Conflict(victim, 8, functions[0], writer, 8, functions[1], true_sharing, misses, shadowed=shadowed)


def conflicts(text: str) -> tuple[Conflict, ...]:
    """``VICTIM<WRITER MISSES``; with ``true`` for bytes that were written, with ``SHADOWED behind`` for those."""
    found = []
    for victim, _, writer, count, *word in (one.replace("<", " < ").split() for one in text.split(",")):
        shadowed = int(count) if word == ["behind"] else 0
        found.append(conflict(int(victim), int(writer), int(count) - shadowed, word == ["true"], shadowed))
    return tuple(found)


def member(offset: int, hitm: int = 0, taken: int = 0) -> Access:
    return Access(offset, f"function_{offset}", hitm_local=hitm, taken=taken, stores_l1_miss=taken)


def rows(text: str) -> tuple[Access, ...]:
    """``OFFSET LOADS/TAKEN [FUNCTION]``: contended loads, and stores that took the line."""
    found = []
    for at, counts, *name in (one.split() for one in text.split(",")):
        one = member(int(at), *map(int, counts.split("/")))
        found.append(replace(one, function=name[0]) if name else one)
    return tuple(found)


@cases("counted_conflicts")
def test_a_line_whose_conflicts_were_counted(case: Case) -> None:
    line = line_of(rows(case.given["rows"]), stores_l1_hit=None, conflicts=conflicts(case.given["conflicts"]))
    check(case, facts(explained(None, profile_of(line))[0]))


POOL = struct("pool", scalar("count"), scalar("guard"), scalar("limit"))


def in_a_pool(case: Case) -> Finding:
    """A recorded line that holds a pool, which the snapshot knows by its address."""
    area = ObjectArea(ObjectKind.SLAB, "pool", 0x1000, 64, 64, 1, ("pool",))
    met_by = conflicts(case.given["conflicts"]) if "conflicts" in case.given else ()
    line = line_of(rows(case.given["rows"]), rank=1, stores_l1_hit=None, conflicts=met_by)
    return findings(profile_of(line, areas=(area,), recording=RECORDING), table(POOL), ())[0]


@cases("recorded_object")
def test_a_recorded_line_of_a_known_object(case: Case) -> None:
    check(case, facts(in_a_pool(case)))


MESSAGE = Member("message", "struct message", "message", 48, 32, 8)


@pytest.mark.parametrize(
    ("address", "offset", "contended", "straddler", "found"),
    [
        pytest.param(0x1040, 8, 90, MESSAGE, "message", id="contended on both of its lines"),
        pytest.param(0x1040, 8, 2, MESSAGE, "", id="its second line is quiet"),
        pytest.param(0x1040, 32, 90, MESSAGE, "", id="another member is hot on the second line"),
        pytest.param(0x2040, 8, 90, MESSAGE, "", id="the other line is not the neighbour"),
        pytest.param(0x1040, 8, 90, replace(MESSAGE, size=80), "", id="longer than a line"),
        pytest.param(0x1040, 8, 90, replace(MESSAGE, dimensions=(4,)), "", id="an array is used by its elements"),
    ],
)
def test_a_member_on_two_lines(address: int, offset: int, contended: int, straddler: Member, found: str) -> None:
    record = Layout(1, "mailbox", RecordKind.STRUCT, 128, (straddler,), natural_alignment=8)
    owner = LineObject("mailbox", 1, 0, 1.0, Outcome.RESOLVED)
    line, other = line_of(accesses("48 answer")), line_of(accesses(f"{offset} answer {contended}"), address, 1)
    lines = {one.address: (one,) for one in (line, other) if one.address is not None}
    assert straddling(line, (owner,), LayoutTable([record]), lines) == found


def test_names_of_locks_and_of_functions_that_take_one_or_wait() -> None:
    assert all(map(is_lock, ["rw_semaphore", "raw_spinlock", "qspinlock", "pthread_mutex_t", "vma_lock", "std::mutex"]))
    assert not any(map(is_lock, ["block_device", "clock_event_device", "super_block", "futex_hash_bucket"]))
    waits = "rwsem_spin_on_owner native_queued_spin_lock_sl __lll_lock_wait"
    real_time = "rtlock_slowlock_locked rt_mutex_slowlock_block.constprop.0"
    takes = "down_write up_read _raw_spin_lock_irqsave __pthread_rwlock_rdlock"
    need_not_wait = "rt_spin_lock rt_spin_unlock rwbase_write_lock rt_mutex_slowunlock"
    neither = "read_write_func write_cache read_pages block_read_full_folio updown"
    assert all(map(waits_for_lock, f"{waits} {real_time}".split()))
    assert all(map(takes_lock, f"{takes} {real_time} {need_not_wait}".split()))
    assert not any(map(waits_for_lock, need_not_wait.split()))
    assert not any(map(takes_lock, neither.split()))


@pytest.fixture(scope="module")
def program(built: Built) -> Path:
    return built("locking.c")


def contended(program: Path, type_: str, lock: str, word: str) -> Finding:
    """A line on which everybody waits for a lock."""
    (layout,) = read_layouts(program).layouts.variants(type_)
    (member,) = (one for one in layout.members if one.name == lock)
    found = finding(layout, [hot(f"{lock}.{word}", member.offset, 4, 100, lock=True)])
    return replace(found, triage=Triage((TriageKind.LOCK_CONTENTION,), (), ""))


def named(program: Path, waiting: Finding, with_code: bool = True, told: bool = True) -> ContendedLock | None:
    accesses = read_accesses(program).accesses if with_code else None
    ran = CallPath(("table_grow", "table_shrink", "table_forget"), 1)
    profile = profile_of(CacheLine(1, 0, (Access(0, "take_lock", call_paths=(ran,) * told),)))
    (found,) = name_locks([waiting], read_layouts(program).layouts, accesses, partial(touched, program), profile)
    return found.lock


@pytest.mark.parametrize(
    ("type_", "lock", "word", "expected"),
    [
        ("table", "slots_lock", "count", [("slots", 1, 1, True), ("entries", 2, 3, False)]),
        ("counter", "guard", "word", [("value", 1, 1, False)]),  # given to a function that locks one of its kind
        ("table", "hits_lock", "word", [("hits", 1, 3, True)]),  # by its name; most write it without the lock
        ("table", "other_lock", "count", []),  # nobody takes it
    ],
)
def test_a_lock_protects_what_the_functions_write_that_take_it(
    type_: str, lock: str, word: str, expected: list[tuple[str, int, int, bool]], program: Path
) -> None:
    found = named(program, contended(program, type_, lock, word))
    assert found is not None
    assert [(one.member, one.held, one.writers, one.named_alike) for one in found.members] == expected
    assert any("shrink it: 32 bytes" in row for row in found.remedies) == (lock in ("slots_lock", "other_lock"))


def test_without_callers_those_that_lock_it_in_the_binary_are_possible(program: Path) -> None:
    waiting = contended(program, "table", "hits_lock", "word")
    (known, possible) = (named(program, waiting, told=told) for told in (True, False))
    assert known is not None
    assert known.possible == ()
    assert possible is not None
    assert (possible.holders, possible.possible) == ((), ("table_forget",))


def test_what_a_lock_protects_is_told_with_what_can_help(program: Path) -> None:
    waiting = contended(program, "table", "slots_lock", "count")
    told = replace(waiting, lock=named(program, waiting))
    shown = " ".join(render_lines([told], read_layouts(program).identity, ProfileSection(profile_of(), 1, 1)).split())
    assert (
        "the lock is table.slots_lock (sleep_lock); it probably protects slots (named alike; 1 of 1 functions "
        "that write it take the lock), entries (2 of 3 functions that write it take the lock); held in table_grow, "
        "table_shrink by slots_lock"
    ) in shown
    assert "what can help: shard the lock with slots, entries, per CPU or per node" in shown


def test_a_lock_that_code_knows_only_as_such_is_not_named(program: Path) -> None:
    waiting = contended(program, "table", "slots_lock", "count")
    inner = replace(waiting, objects=(replace(waiting.objects[0], outcome=Outcome.INNER_TYPE_ONLY),))
    assert named(program, inner, with_code=False) is None
