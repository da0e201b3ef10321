# SPDX-License-Identifier: GPL-2.0-or-later
"""The diagnosis of lines whose object is not known: offsets and samples alone."""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.findings import findings
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import (
    Access,
    LineMember,
    LineObject,
    MemberFunction,
    Outcome,
    Profile,
    Recording,
    SharedLine,
    Triage,
    TriageKind,
)
from linesmith.analyzer.sharing.triage import triage


def diagnose(*accesses: Access, events: tuple[str, ...] = (), others: tuple[SharedLine, ...] = ()) -> Triage:
    hitm = sum(access.contended for access in accesses)
    line = SharedLine(0, 0x1000, accesses, hitm_local=hitm, stores_l1_hit=sum(one.stores for one in accesses))
    profile = Profile("test", "", "hitm", (line, *others), events=events)
    return findings(profile, LayoutTable([]), ())[0].triage


def test_a_written_member_and_a_read_one_share_falsely() -> None:
    found = diagnose(Access(0, "writer", stores_l1_hit=90), Access(0x20, "reader", hitm_local=100))
    assert found.kinds == (TriageKind.FALSE_SHARING,)
    assert (found.pairs[0].first, found.pairs[0].second, found.pairs[0].writer) == ("0x0", "0x20", "0x0")


def test_one_member_written_and_read_is_true_sharing() -> None:
    found = diagnose(Access(0, "update", hitm_local=50, stores_l1_hit=90), Access(0, "read", hitm_local=50))
    assert found.kinds == (TriageKind.TRUE_SHARING,)
    assert found.pairs == ()


def test_reads_only_leave_the_writer_unknown() -> None:
    assert diagnose(Access(8, "read", hitm_local=50)).kinds == (TriageKind.NO_WRITER,)


def test_a_written_neighbour_in_the_128_byte_pair_explains_a_line_without_writer() -> None:
    neighbour = SharedLine(1, 0x1040, (), stores_l1_hit=9)
    found = diagnose(Access(8, "read", hitm_local=50), others=(neighbour,))
    assert found.kinds == (TriageKind.ADJACENT_LINE,)
    assert found.reasons[-1] == "line 1, the other half of this 128-byte pair, is written (9 stores)"


def test_ibs_hides_the_stores_of_atomic_updates() -> None:
    accesses = (Access(0x30, "first", hitm_local=50), Access(0x38, "second", hitm_local=50))
    assert diagnose(*accesses).kinds == (TriageKind.NO_WRITER,)
    assert TriageKind.FALSE_SHARING in diagnose(*accesses, events=("ibs_op/ldlat=0/",)).kinds


def test_a_recording_has_every_store_and_none_is_inferred() -> None:
    """The code of a lock may write each of its words; what it did is counted."""
    accesses = (Access(0, "pthread_mutex_lock", hitm_local=80), Access(0x20, "writer", stores_l1_hit=9))
    lines = (SharedLine(0, 0x1000, accesses, hitm_local=80, stores_l1_hit=9),)
    recording = Recording("qemu-user", ("./program",), (0, 0), "x86_64")
    short = replace(recording, counts=(("dropped_accesses", 1),))
    sampled, recorded, cut = (
        findings(Profile("test", "", "hitm", lines, recording=how), LayoutTable([]), ())[0].members
        for how in (None, recording, short)
    )
    assert [one.written for one in sampled] == [True, True]
    assert [one.written for one in recorded] == [False, True]
    assert [one.written for one in cut] == [True, True], "there was no room for all"


def test_lock_functions_write_even_where_no_type_is_known() -> None:
    found = diagnose(Access(0, "pthread_mutex_lock", hitm_local=80), Access(0x20, "reader", hitm_local=20))
    assert found.pairs[0].writer == "lock at 0x0"


def test_the_same_address_twice_is_two_processes() -> None:
    twin = SharedLine(1, 0x1000, ())
    found = diagnose(Access(8, "read", hitm_local=50), others=(twin,))
    assert any("stands 2 times" in reason for reason in found.reasons)


def test_a_pair_below_one_percent_is_noise() -> None:
    found = diagnose(Access(0, "update", hitm_local=1000, stores_l1_hit=90), Access(0x20, "reader", hitm_local=5))
    assert found.pairs == ()


def test_two_words_of_one_lock_do_not_share_falsely() -> None:
    found = diagnose(
        Access(0, "rwsem_down_write_slowpath", hitm_local=80), Access(8, "rwsem_spin_on_owner", hitm_local=20)
    )
    assert found.kinds == (TriageKind.LOCK_CONTENTION,)


def test_the_members_of_a_lock_whose_owner_is_not_known_are_one_lock() -> None:
    spinning = MemberFunction("rwsem_spin_on_owner", 90, 0)
    members = [
        LineMember("count", 8, 0, 8, 5, 5, (MemberFunction("down_write", 10, 5),), lock=True),
        LineMember("owner", 16, 8, 8, 90, 0, (spinning,), lock=True, write_inferred="taking a lock writes it"),
    ]
    objects = (LineObject("rw_semaphore", 1, 8, 8, 1.0, Outcome.INNER_TYPE_ONLY),)
    found = triage(SharedLine(0, None, ()), objects, members, Profile("test", "", "hitm", ()))
    assert (found.kinds, found.pairs) == ((TriageKind.LOCK_CONTENTION,), ())
    assert found.sentence.startswith("lock contention on rw_semaphore (100%")


def test_shares_are_of_the_line_also_where_a_paste_left_rows_out() -> None:
    """The rows show 90 of 150: of these the lock has all, of the line 60 %."""
    spinning = MemberFunction("rwsem_spin_on_owner", 90, 0)
    member = LineMember("count", 8, 0, 8, 90, 5, (spinning,), lock=True)
    line = SharedLine(0, None, (Access(8, "rwsem_spin_on_owner", hitm_local=90),), hitm_local=150)
    found = triage(line, (), [member], Profile("test", "", "hitm", (line,)))
    assert found.kinds == (TriageKind.LOCK_CONTENTION,)
    assert "(60% of the line)" in found.sentence


def test_elements_of_an_array_share_falsely_with_each_other() -> None:
    function = MemberFunction("worker", 50, 40)
    members = [LineMember(f"slot[{at}].count", 16 * at, 16 * at, 8, 50, 40, (function,)) for at in range(3)]
    found = triage(SharedLine(0, None, ()), (), members, Profile("test", "", "hitm", ()))
    assert found.kinds == (TriageKind.FALSE_SHARING,)
    assert found.sentence == "false sharing between slot[0], slot[1], slot[2]: pad or align the elements of slot"


def test_words_of_one_element_that_meet_are_parted_by_its_own_record_only() -> None:
    """Of an array of levels one element is hot: its mask is read, its count beside it is written."""
    members = [
        LineMember("level[9].count", 8, 144, 4, 20, 50, (MemberFunction("set_level", 20, 50),)),
        LineMember("level[9].mask", 16, 152, 8, 90, 0, (MemberFunction("set_level", 90, 0),)),
    ]
    found = triage(SharedLine(0, None, ()), (), members, Profile("test", "", "hitm", ()))
    assert found.kinds == (TriageKind.FALSE_SHARING,)
    assert found.sentence == (
        "false sharing of level[9].mask with level[9].count, which is written: only another layout of their own record"
        " parts them"
    )


def test_a_record_whose_hot_words_are_all_written_is_truly_shared() -> None:
    members = [
        LineMember("tree.root", 8, 8, 8, 50, 50, (MemberFunction("insert", 50, 50),)),
        LineMember("tree.first", 16, 16, 8, 60, 50, (MemberFunction("insert", 60, 50),)),
    ]
    found = triage(SharedLine(0, None, ()), (), members, Profile("test", "", "hitm", ()))
    assert found.kinds == (TriageKind.TRUE_SHARING,)


def test_lines_that_are_not_explained_still_count_in_shares_and_as_neighbours() -> None:
    hot = SharedLine(0, 0x1000, (Access(8, "read", hitm_local=30),), hitm_local=30)
    written = SharedLine(1, 0x1040, (), hitm_local=10, stores_l1_hit=9)
    profile = Profile("test", "", "hitm", (hot, written))
    (found,) = findings(profile, LayoutTable([]), (), lines=(hot,))
    assert found.share == 0.75
    assert found.triage.kinds == (TriageKind.ADJACENT_LINE,)


def two_objects(first: LineMember, second: LineMember) -> Triage:
    """A line on which one session ends and the next one begins, at byte 32."""
    owners = (
        LineObject("session", 1, -96, 32, 1.0, Outcome.RESOLVED),
        LineObject("session", 1, 32, 32, 1.0, Outcome.RESOLVED),
    )
    return triage(SharedLine(0, None, ()), owners, (first, second), Profile("test", "", "hitm", ()))


def member(path: str, offset: int, begin: int, contended: int, stores: int) -> LineMember:
    function = MemberFunction("worker", contended, stores)
    return LineMember(path, offset, offset - begin, 8, contended, stores, (function,))


def test_members_of_two_neighbours_are_told_apart_and_aligning_is_the_remedy() -> None:
    found = two_objects(member("count", 0x18, -96, 50, 0), member("count", 0x38, 32, 0, 90))
    assert found.kinds == (TriageKind.FALSE_SHARING, TriageKind.SEVERAL_OBJECTS)
    assert [(pair.first, pair.second) for pair in found.pairs] == [("count", "count of the session at 0x20")]
    assert found.reasons[-1] == (
        "2 objects lie on this line: session at -0x60, session at 0x20; "
        "aligning each to a line parts them, which moving members does not"
    )


def test_neighbours_that_do_not_disturb_each_other_need_no_remedy() -> None:
    found = two_objects(member("count", 0x18, -96, 50, 90), member("name", 0x38, 32, 0, 0))
    assert found.reasons[-1] == "2 objects lie on this line: session at -0x60, session at 0x20"


def test_a_neighbour_that_is_an_element_of_a_variable_is_called_so() -> None:
    first, second = (
        LineObject("session", 1, start, 32, 1.0, Outcome.RESOLVED, origin=f"global sessions[{number}]")
        for number, start in enumerate((-96, 32))
    )
    members = (member("count", 0x18, -96, 50, 0), member("count", 0x38, 32, 0, 90))
    found = triage(SharedLine(0, None, ()), (first, second), members, Profile("test", "", "hitm", ()))
    assert found.pairs[0].writer == "count of sessions[1]"


def test_a_profile_of_loads_alone_is_told_from_one_whose_stores_fell_elsewhere() -> None:
    line = SharedLine(0, 0x1000, (Access(8, "read", hitm_local=50),), hitm_local=50)
    for has_stores in (True, False):
        profile = Profile("test", "", "hitm", (line,), has_stores=has_stores)
        assert findings(profile, LayoutTable([]), ())[0].stores_sampled is has_stores
