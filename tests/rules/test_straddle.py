# SPDX-License-Identifier: GPL-2.0-or-later
"""``straddle``: members that matter and lie across two lines now."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path

from hand_made import held, lock, scalar, struct, union
from rule_builds import subject
from rule_cases import alone, before_and_now, broken, figure, side

from linesmith.analyzer.model import Isolation, Layout, Member, MemberGroup, Severity, TypeIntent, Violation

NAMED = "named by --type"
PAIR = struct("pair", scalar("first"), scalar("second"))
MUTEX, MUTEX_RECORD = lock("mutex", 32, "mutex")
KMEM_CACHE = struct("kmem_cache", scalar("flags"))
HOT = (TypeIntent("any", "measured", hot=("pair",), place="linesmith.toml:4"),)


def words(count: int) -> tuple[Member, ...]:
    return tuple(scalar(f"word{number}") for number in range(count))


def behind(count: int, member: Member, name: str = "any", align: int | None = None) -> Layout:
    """A record with ``member`` behind ``count`` words."""
    return struct(name, *words(count), member, align=align)


def moved(old: int, new: int, intents: tuple[TypeIntent, ...] = HOT, member: Member | None = None) -> list[Violation]:
    one = member or held("pair", PAIR)
    parts = (PAIR, MUTEX_RECORD)
    return broken("straddle", before_and_now((behind(old, one), *parts), (behind(new, one), *parts), NAMED, intents))


def test_a_hot_member_that_is_pushed_across_a_boundary() -> None:
    (one,) = moved(6, 7)
    assert one.message == ("lies across two lines, at bytes 56 to 71, it was at 48; it is hot in linesmith.toml:4")
    assert one.advice == "with 8 bytes less or 8 more before it, it would be on one line"
    assert (one.member, one.severity) == ("pair", Severity.WARNING)
    assert figure(one, "offset") == (48, 56)


def test_a_member_that_stays_on_one_line_is_left() -> None:
    assert moved(5, 6) == []
    assert moved(7, 8) == []


def test_what_was_so_before_is_a_note() -> None:
    (one,) = moved(7, 7)
    assert one.message.endswith(", as before")
    assert one.severity is Severity.NOTE


def test_members_of_groups_and_isolations_are_looked_at() -> None:
    group = (TypeIntent("any", "measured", groups=(MemberGroup("tx", ("pair",)),)),)
    apart = (TypeIntent("any", "measured", isolations=(Isolation(("pair",)),)),)
    assert "of the group tx" in moved(6, 7, group)[0].message
    assert "kept apart" in moved(6, 7, apart)[0].message


def test_a_member_inside_of_a_record_is_found_by_its_path() -> None:
    outer = struct("outer", scalar("word"), held("pair", PAIR))
    intents = (TypeIntent("any", "measured", hot=("outer.pair",)),)
    old, new = behind(4, held("outer", outer)), behind(6, held("outer", outer))
    (one,) = broken("straddle", before_and_now((old, outer, PAIR), (new, outer, PAIR), NAMED, intents))
    assert (one.member, "at bytes 56 to 71" in one.message) == ("outer.pair", True)


def test_a_lock_of_a_tuned_record_is_a_note() -> None:
    (one,) = moved(4, 5, (), MUTEX)
    assert one.severity is Severity.NOTE
    assert one.message.endswith("it is a lock")


def test_a_member_that_nobody_watches_is_left() -> None:
    assert moved(6, 7, ()) == []


def test_members_of_a_marked_group_are_watched() -> None:
    begin, end = scalar("__cacheline_group_begin__tx", 0), scalar("__cacheline_group_end__tx", 0)
    old, new = (struct("any", *words(count), begin, held("pair", PAIR), end) for count in (6, 7))
    (one,) = broken("straddle", before_and_now((old, PAIR), (new, PAIR), NAMED))
    assert one.message.endswith("it is in the group tx")
    assert one.severity is Severity.WARNING


def test_one_build_tells_of_intents_alone() -> None:
    (one,) = broken("straddle", alone(behind(7, held("pair", PAIR)), PAIR, tuned=NAMED, intents=HOT))
    assert "lies across two lines, at bytes 56 to 71" in one.message
    assert broken("straddle", alone(behind(5, MUTEX), MUTEX_RECORD, tuned=NAMED)) == []


def test_the_phases_of_the_cache_are_counted() -> None:
    """Objects of ``pid_namespace`` are 144 bytes apart, so they begin at four phases of a line."""
    old, new = (struct("pid_namespace", *words(count), held("pair", PAIR), *late) for count, late in CASES)
    intents = (TypeIntent("pid_namespace", "measured", hot=("pair",)),)
    parts = (PAIR, KMEM_CACHE)
    (one,) = broken("straddle", before_and_now((old, *parts), (new, *parts), NAMED, intents))
    assert "in 1 of 4 phases of pid_namespace" in one.message
    assert figure(one, "objects in which it lies across") == (0, 25)
    assert one.severity is Severity.NOTE


LATE = tuple(scalar(f"late{number}") for number in range(16))
CASES = ((0, LATE), (1, LATE[:15]))


def in_block_devices(name: str, *late: Member) -> list[Violation]:
    """Block devices hold the record behind a word, so that it begins at byte 8 of a line."""
    record = struct(name, *words(6), held("pair", PAIR), *late)
    holder = struct("bdev_inode", scalar("bdev"), held("vfs_inode", record))
    intents = (TypeIntent(name, "measured", hot=("pair",), place="linesmith.toml:4"),)
    return broken("straddle", alone(record, holder, PAIR, KMEM_CACHE, tuned=NAMED, intents=intents))


def test_the_cache_and_its_only_phase_are_named() -> None:
    """Its bytes alone, 48 to 63, are those of one line."""
    (one,) = in_block_devices("mapping")
    assert one.message.startswith(
        "lies across two lines in all objects of bdev_cache, which begin at byte 8 of a line, at bytes 48 to 63; "
    )
    assert one.advice == "with 8 bytes less or 8 more before it, it would be on one line"
    assert one.severity is Severity.WARNING


def test_what_is_so_in_some_of_the_caches_is_a_note() -> None:
    """Of ``inode_cache`` all objects, 128 bytes apart, begin at a line, and the member lies on one."""
    (one,) = in_block_devices("inode", *LATE[:7])
    assert one.message.startswith(
        "lies across two lines in 1 of its 2 caches, as in all objects of bdev_cache, which begin at byte 8 of a line, "
    )
    assert one.advice == "with 8 bytes less or 8 more before it, it would be on one line in bdev_cache"
    assert one.severity is Severity.NOTE


def test_a_larger_member_than_a_line_is_left() -> None:
    wide = struct("wide", *words(9))
    intents = (TypeIntent("any", "measured", hot=("wide",)),)
    old, new = behind(0, held("wide", wide)), behind(1, held("wide", wide))
    assert broken("straddle", before_and_now((old, wide), (new, wide), NAMED, intents)) == []


def test_a_lock_of_a_record_that_is_held_is_a_note() -> None:
    device = struct("device", scalar("word"), MUTEX)
    old, new = behind(3, held("dev", device)), behind(4, held("dev", device))
    (one,) = broken("straddle", before_and_now((old, device, MUTEX_RECORD), (new, device, MUTEX_RECORD), NAMED))
    assert one.message == "lies across two lines, at bytes 40 to 71, it was at 32; it is a lock of struct device"
    assert (one.member, one.severity) == ("dev.mutex", Severity.NOTE)


def test_an_array_of_records_with_locks_is_left() -> None:
    device = struct("device", scalar("word"), MUTEX)
    many = replace(held("dev", device), size=2 * device.size, dimensions=(2,))
    old, new = behind(3, many), behind(4, many)
    assert broken("straddle", before_and_now((old, device, MUTEX_RECORD), (new, device, MUTEX_RECORD), NAMED)) == []


def test_the_line_is_that_of_the_member_that_holds_it(tmp_path: Path) -> None:
    """The lock is declared in another record, often in another file."""
    old = "u64 front[3];\nstruct device { struct rw_semaphore sem; } dev;"
    made = subject(tmp_path, old, f"u64 added;\n{old}")
    (one,) = broken("straddle", made)
    assert (one.member, one.line) == ("dev.sem", made.new.members[-1].line)


def test_alternatives_of_a_union_are_told_once() -> None:
    """As the timers of struct sock."""
    either = union("", held("timer", PAIR), held("retransmit", PAIR))
    begin, end = scalar("__cacheline_group_begin__tx", 0), scalar("__cacheline_group_end__tx", 0)
    old, new = (struct("any", *words(count), begin, held("", either), end) for count in (6, 7))
    (one,) = broken("straddle", before_and_now((old, either, PAIR), (new, either, PAIR), NAMED))
    assert one.member == "timer"
    assert one.message.endswith("it is in the group tx, and shares its place with retransmit")


def test_what_is_known_of_a_build_goes_with_it() -> None:
    build = side(behind(7, scalar("late")))
    assert len(build.starts.of(build.layouts.variants("any")[0])) == 1
    there = weakref.ref(build.containment)
    del build
    gc.collect()
    assert there() is None
