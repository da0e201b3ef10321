# SPDX-License-Identifier: GPL-2.0-or-later
"""``lock-moved``: locks that left the line of their data, or came to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_builds import subject
from rule_cases import broken, figure

from linesmith.analyzer.model import Severity, Violation

FRONT = "u64 front[8] __cacheline_aligned;"
TREE, LOCK = "u64 i_mmap[2];", "struct rw_semaphore i_mmap_rwsem;"


def moved(folder: Path, old: str, new: str) -> list[Violation]:
    return broken("lock-moved", subject(folder, old, new))


def test_a_lock_that_somebody_moved_off_its_data_is_a_note(tmp_path: Path) -> None:
    old, new = f"{FRONT} {TREE} {LOCK} u64 nrpages[6];", f"{FRONT} {TREE} u64 nrpages[6]; {LOCK}"
    (one,) = moved(tmp_path, old, new)
    assert one.message == (
        "left the line of i_mmap: it went from byte 80 (line 1) to byte 128 (line 2), i_mmap stays at byte 64 (line 1)"
    )
    assert (one.severity, one.member, one.subject) == (Severity.NOTE, "i_mmap_rwsem", "i_mmap")
    assert figure(one, "offset") == (80, 128)


def test_a_lock_that_growth_pushed_off_its_data_is_a_warning(tmp_path: Path) -> None:
    (one,) = moved(tmp_path, f"{FRONT} {TREE} {LOCK}", f"{FRONT} {TREE} u64 added[6]; {LOCK}")
    assert one.severity is Severity.WARNING
    assert one.advice.startswith("nobody moved it")


def test_growth_in_front_pushes_a_lock_over_the_boundary_as_well(tmp_path: Path) -> None:
    small = "struct spinlock list_lock; u64 list[2];"
    (one,) = moved(tmp_path, f"{FRONT} u64 x[5]; {small}", f"{FRONT} u64 x[7]; {small}")
    assert (one.severity, one.member) == (Severity.WARNING, "list_lock")


def test_what_is_in_front_is_said_to_have_shifted_both(tmp_path: Path) -> None:
    small = "struct spinlock list_lock; u64 list[2];"
    (one,) = moved(tmp_path, f"{FRONT} u64 x[5]; {small}", f"{FRONT} u64 x[7]; {small}")
    assert one.advice.startswith("nobody moved it: what is in front shifted both")


def test_a_lock_whose_own_type_became_smaller_is_a_note(tmp_path: Path) -> None:
    """As apic_map_lock of kvm_arch, when a mutex shrank from 32 to 24 bytes: its end was on the line of the data."""
    old = f"{FRONT} u64 x[5]; struct mutex {{ u64 words[4]; }} map_lock; u64 map;"
    (one,) = moved(tmp_path, old, old.replace("words[4]", "words[3]"))
    assert one.message.startswith("left the line of map: it stays at byte 104")
    assert (one.severity, one.advice.partition(",")[0]) == (Severity.NOTE, "the lock itself is smaller")


def test_a_lock_that_came_to_its_data_is_a_note(tmp_path: Path) -> None:
    (one,) = moved(tmp_path, f"{FRONT} {TREE} u64 x[6]; {LOCK}", f"{FRONT} {TREE} {LOCK} u64 x[6];")
    assert one.message.startswith("came to the line of i_mmap: it went from byte 128")
    assert one.severity is Severity.NOTE


def test_a_lock_that_stays_beside_its_data_may_move(tmp_path: Path) -> None:
    assert moved(tmp_path, f"{FRONT} {TREE} {LOCK}", f"{FRONT} u64 x; {TREE} {LOCK}") == []


def test_members_of_other_names_are_not_taken_for_its_data(tmp_path: Path) -> None:
    assert moved(tmp_path, f"{FRONT} u64 other; {LOCK}", f"{FRONT} u64 other; u64 x[7]; {LOCK}") == []


def test_a_word_that_most_members_have_tells_nothing(tmp_path: Path) -> None:
    lock, data = "struct spinlock ab_lock;", "u64 ab_one, ab_two, ab_three, ab_four;"
    assert moved(tmp_path, f"{FRONT} {data} {lock}", f"{FRONT} {data} u64 x[6]; {lock}") == []


def test_a_lock_that_is_among_others_than_before_is_a_note(tmp_path: Path) -> None:
    """As d_lockref of a dentry went from d_op and d_sb to d_lru."""
    lock = "struct spinlock d_lockref;"
    old, new = f"{FRONT} u64 d_op, d_sb; {lock} u64 x[6], d_lru;", f"{FRONT} u64 d_op, d_sb, x[6]; {lock} u64 d_lru;"
    (one,) = moved(tmp_path, old, new)
    assert one.message == (
        "moved from the line of d_op, d_sb and x to that of d_lru: it went from byte 80 (line 1) to byte 128 (line 2)"
    )
    assert (one.severity, one.member, one.subject) == (Severity.NOTE, "d_lockref", "")


def test_a_lock_that_keeps_one_neighbour_is_where_it_was(tmp_path: Path) -> None:
    lock = "struct spinlock d_lockref;"
    old, new = f"{FRONT} u64 a, b; {lock} u64 c[6];", f"{FRONT} u64 a; {lock} u64 c[6], b;"
    assert moved(tmp_path, old, new) == []


def test_what_looks_like_a_lock_and_takes_no_bytes_is_none(tmp_path: Path) -> None:
    key = "struct lock_class_key { } list_lock_key;"
    assert moved(tmp_path, f"{FRONT} u64 list; {key} u64 x[8];", f"{FRONT} u64 list; u64 x[8]; {key}") == []


def test_phases_in_which_they_meet_now_and_then_do_not_count(tmp_path: Path) -> None:
    """Objects begin anywhere: before they were on one line in 7 of 8 phases, now in 5."""
    old, new = "u64 x; u64 list; struct spinlock list_lock;", "u64 x; u64 list; u64 y[2]; struct spinlock list_lock;"
    assert moved(tmp_path, old, new) == []


@pytest.mark.parametrize(
    ("member", "told"),
    [
        ("struct refcount_struct x_held;", 1),
        ("atomic_long_t f_count;", 1),
        ("atomic_t __refcnt;", 1),
        ("u64 f_count;", 0),  # nobody says that several CPUs write it
        ("atomic_long_t barrier_cpu_count;", 0),  # of something else than who uses the object
        ("atomic_t error_count;", 0),
        ("atomic_t rx_count;", 0),
        ("atomic_long_t *f_count;", 0),
        ("atomic_long_t f_count[2];", 0),
    ],
)
def test_a_reference_count_among_other_members_than_before_is_a_note(tmp_path: Path, member: str, told: int) -> None:
    """As f_count of struct file: what reads f_mode and f_op waits for those who take and drop files."""
    read, rest = "u64 f_mode; u64 f_op; u64 f_inode; u64 a[4];", "u64 f_wb_err; u64 f_ep; u64 b[5];"
    old = f"{FRONT} {read} u64 __attribute__((aligned(64))) f_sb_err; {member} {rest}"
    new = f"{FRONT} {member} {read} u64 __attribute__((aligned(64))) f_sb_err; {rest}"
    found = moved(tmp_path, old, new)
    assert [one.severity for one in found] == [Severity.NOTE] * told
    assert all(
        "from the line of f_sb_err, " in one.message and " to that of f_mode, f_op, " in one.message for one in found
    )
    assert all(one.advice.startswith("see that nobody reads") for one in found)


def test_a_reference_count_that_keeps_its_company_is_not_told(tmp_path: Path) -> None:
    read = "u64 f_mode; u64 f_op; u64 f_inode;"
    assert moved(tmp_path, f"{FRONT} atomic_t f_count; {read}", f"{FRONT} u64 added; {read} atomic_t f_count;") == []
