# SPDX-License-Identifier: GPL-2.0-or-later
"""What kind of sharing a line shows: guessed from samples, or counted by a recording of who took it from whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from find.lines import Case, accesses, cases, check, explained, facts, line_of, profile_of
from hand_made import scalar, struct, table

from linesmith.analyzer.findings import findings
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import (
    Access,
    Conflict,
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
    SharedLine,
    Triage,
)
from linesmith.analyzer.sharing.straddle import straddling
from linesmith.analyzer.sharing.triage import triage

RECORDING = Recording("qemu-user", ("./bench",), (0, 0), "x86_64")


@cases("""
a written member and a read one share falsely
    0 writer 0/90, 0x20 reader
    => kinds: false sharing | pairs: 0x0 with 0x20: 100 by 0x0
one member written and read is true sharing
    0 update 50/90, 0 read 50
    => kinds: true sharing | pairs: none
reads only leave the writer unknown
    8 read 50
    => kinds: no writer seen
a written neighbour in the 128-byte pair explains a line without writer
    8 read 50 | beside: 0x1040 0/9
    => kinds: adjacent-line sharing | last reason: line 1, the other half of this 128-byte pair, is written (9 stores)
stores of atomic updates are hidden from nobody but IBS
    0x30 first 50, 0x38 second 50
    => kinds: no writer seen
of IBS any member may have been written
    0x30 first 50, 0x38 second 50 | events: ibs_op/ldlat=0/
    => kinds: false sharing, true sharing
lock functions write even where no type is known
    0 pthread_mutex_lock 80, 0x20 reader 20
    => pairs: lock at 0x0 with 0x20: 20 by lock at 0x0
the same address twice is two processes
    8 read 50 | beside: 0x1000 0/0
    => times: this address stands 2 times in the profile: the same address in several processes
a pair below one percent is noise
    0 update 1000/90, 0x20 reader 5
    => pairs: none
two words of one lock do not share falsely
    0 rwsem_down_write_slowpath 80, 8 rwsem_spin_on_owner 20
    => kinds: lock contention
""")
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


def diagnosed(members: list[LineMember], *owners: LineObject, line: SharedLine | None = None) -> Triage:
    line = line or SharedLine(0, None, ())
    return triage(line, owners, members, profile_of(line))


def test_the_members_of_a_lock_whose_owner_is_not_known_are_one_lock() -> None:
    members = [
        met("count", 8, 10, 5, 8, by="down_write", lock=True),
        met("owner", 16, 90, 0, 8, by="rwsem_spin_on_owner", lock=True, write_inferred="taking a lock writes it"),
    ]
    found = diagnosed(members, LineObject("rw_semaphore", 1, 8, 8, 1.0, Outcome.INNER_TYPE_ONLY))
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
        LineObject("session", 1, start, 32, 1.0, Outcome.RESOLVED, origin=origin)
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


@cases("""
only members that did take the line from each other are a pair
    0 90/0, 8 0/50, 16 0/50 | conflicts: 0<8 90
    => pairs: 0x0 with 0x8: 90 by 0x8
both directions of a pair add up, and the one to blame is named
    0 30/0, 8 60/0 | conflicts: 0<8 30, 8<0 60
    => pairs: 0x0 with 0x8: 90 by 0x0
misses on bytes that were written are true sharing
    0 100/1 | conflicts: 0<0 100 true
    => kinds: true sharing | sentence: true sharing on 0x0 (99% of the line), which no layout removes
a miss caused by a neighbour is no pair if the own bytes were written too
    0 100/0, 8 0/1 | conflicts: 0<8 100 true
    => pairs: none
the heaviest conflicts are told with their functions
    0 90/0, 8 0/9 | conflicts: 0<8 60, 0<8 30 true
    => last reason: 90 misses on 0x0 (victim_0) after 0x8 was written (writer_8), 67% false sharing
a member behind the one that missed is a pair too
    0 90/0, 8 0/0, 16 0/9 | conflicts: 0<16 90, 8<16 80 behind
    => pairs: 0x0 with 0x10: 90 by 0x10, 0x8 with 0x10: 80 by 0x10
    => last: 80 accesses to 0x8 (victim_8) came just behind such a miss
misses served by clean copies count in the whole too
    0 40/1, 8 10/1 | conflicts: 0<0 40 true, 8<0 60
    => kinds: false sharing
what the words of one lock do to each other is contention on the lock
    0 60/0 rwsem_spin_on_owner, 8 40/99 down_write, 24 50/0 | conflicts: 0<8 60, 8<0 40, 24<8 50
    => kinds: false sharing, lock contention
""")
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


@cases("""
a member that only a conflict names is called by its name
    8 1/1 | conflicts: 8<0 1
    => reasons: 1 miss on guard (victim_8) after count was written (writer_0), 100% false sharing
    => waits: guard for count 1
who wrote it before it was contended is a writer
    0 1/0 | conflicts: 0<0 1 true
    => kinds: true sharing | reasons: 1 miss on count (victim_0) after count was written (writer_0), 0% false sharing
a recorded line without a writer says nothing of samples
    0 1/0
    => kinds: no writer seen | sentence: only reads were seen: the writer is unknown
    => reasons: no store to it was recorded since it was first contended
one access behind a miss is one
    0 90/0, 8 0/9 | conflicts: 0<8 1, 16<8 1 behind
    => last: 1 access to limit (victim_16) came just behind such a miss
""")
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
def test_a_member_that_straddles_two_lines(
    address: int, offset: int, contended: int, straddler: Member, found: str
) -> None:
    record = Layout(1, "mailbox", RecordKind.STRUCT, 128, (straddler,), natural_alignment=8)
    owner = LineObject("mailbox", 1, 0, 0, 1.0, Outcome.RESOLVED)
    line, other = line_of(accesses("48 answer")), line_of(accesses(f"{offset} answer {contended}"), address, 1)
    assert straddling(line, (owner,), LayoutTable([record]), profile_of(line, other)) == found
