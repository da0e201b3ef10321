# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that no order of members cures, and what is said of them instead."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, held, hot, meeting, scalar, struct, table, union

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.model import ConflictPair, Finding, Layout, Outcome, Triage, TriageKind
from linesmith.tuner.candidates import propose

ONE = struct("s", scalar("a"), scalar("b"))


def refused(line: Finding, *layouts: Layout) -> str:
    with pytest.raises(NothingToSuggest) as caught:
        propose(line, table(*(layouts or (ONE,))))
    return str(caught.value)


def diagnosed(kind: TriageKind) -> Finding:
    return replace(finding(ONE, [hot("a", 0, 8, 9, 9)]), triage=Triage((kind,), (), ""))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (TriageKind.TRUE_SHARING, ("really share", "per CPU")),
        (TriageKind.LOCK_CONTENTION, ("one lock", "shard the lock")),
        (TriageKind.ADJACENT_LINE, ("128-byte pair", "align the written line to 128 bytes")),
        (TriageKind.SEVERAL_OBJECTS, ("different objects", "align each object")),
    ],
)
def test_what_no_layout_cures_is_refused_with_what_does(kind: TriageKind, words: tuple[str, ...]) -> None:
    message = refused(diagnosed(kind))
    assert [word for word in words if word not in message] == []


def test_a_line_without_a_writer_is_not_told_as_one_that_no_layout_helps() -> None:
    line = diagnosed(TriageKind.NO_WRITER)
    assert refused(replace(line, stores_sampled=False)) == (
        "Line 0: it is not known whether moving members helps, because nobody was seen writing on the line, so nothing"
        " says what to part. To find out: record stores too (perf c2c record -e ldlat-loads,ldlat-stores)."
    )
    sampled_elsewhere = refused(line)
    assert "some were sampled but none on this line" in sampled_elsewhere
    assert "record stores too" not in sampled_elsewhere
    recorded = refused(replace(line, simulated="4 CPUs under QEMU"))
    assert "all stores since the line was first contended were seen" in recorded


def test_a_line_without_a_known_object_is_refused() -> None:
    line = finding(ONE, [hot("a", 0, 8, 9, 9)])
    unknown = replace(line.objects[0], layout=None, outcome=Outcome.CANNOT_TELL, reason="two types fit equally well")
    assert refused(replace(line, objects=(unknown,))) == (
        "Line 0: which object it holds cannot be told (two types fit equally well), so there is nothing to rearrange;"
        " see `linesmith hot`."
    )
    inner = replace(line.objects[0], outcome=Outcome.INNER_TYPE_ONLY, containers=("pool", "queue"))
    assert refused(replace(meeting(ONE, "b", "a"), objects=(inner,))) == (
        "Line 0: only the inner type s, perhaps of pool, queue is known, not the struct whose members could move."
    )


def test_what_is_not_rearranged() -> None:
    lock = struct("rw_semaphore", scalar("count"), scalar("owner"), scalar("wait_lock", 4))
    assert "a lock itself" in refused(meeting(lock, "owner", "count"), lock)
    either = union("", scalar("x"), scalar("y"))
    layout = struct("s", held("", either), scalar("z", 64))
    seen = [hot("x", 0, 8, 9), hot("y", 0, 8, writes=9)]
    in_union = refused(finding(layout, seen, [ConflictPair("x", "y", "y", 9)]), layout, either)
    assert "x and y are parts of one union or record with x, which moves as a whole" in in_union
    packed = replace(ONE, members=(replace(ONE.members[0], size=1), replace(ONE.members[1], offset=1)), size=9)
    assert "packed" in refused(meeting(packed, "b", "a"), packed)
    across = finding(ONE, [hot("a", 0, 8, 9, 9)], [ConflictPair("a", "0x28", "a", 9)])
    assert "a and 0x28 are not both members of one struct s" in refused(across)


def test_members_that_are_apart_already_mean_another_build() -> None:
    far = struct("s", scalar("a"), scalar("between", 120), scalar("b"))
    message = refused(meeting(far, "b", "a"), far)
    assert "a and b are on different lines of struct s already: the profile is of another build" in message
    assert "it is not known whether moving members helps" in message


def test_elements_of_an_array_that_meet_are_aligned_or_taken_apart() -> None:
    level = struct("level", scalar("count", 4), scalar("mask"))
    levels = replace(held("levels", level), size=16 * 100, dimensions=(100,))
    layout = struct("cpupri", levels, scalar("places"))
    seen = [hot("levels[97].count", 1552, 4, 100), hot("levels[99].count", 1584, 4, 100, 50)]
    said = refused(finding(layout, seen), layout, level)
    assert "elements of levels meet" in said
    assert "align each element to a line (16 -> 64 bytes each, 1,600 -> 6,400 in all)" in said
    assert "make two arrays of it" in said
