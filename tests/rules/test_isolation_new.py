# SPDX-License-Identifier: GPL-2.0-or-later
"""``isolation-new``: alignment parts members that shared a line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hand_made import scalar, struct
from rule_builds import subject
from rule_cases import before_and_now, broken

from linesmith.analyzer.model import Isolation, Severity, TypeIntent, Violation

TOGETHER = "u64 front[8] __cacheline_aligned; u64 read, written, more;"
PARTED = "u64 front[8] __cacheline_aligned; u64 read; CACHELINE_PADDING(_pad_); u64 written, more;"


def parted(folder: Path, old: str, new: str, *intents: TypeIntent) -> list[Violation]:
    return broken("isolation-new", subject(folder, old, new, intents))


def test_a_padding_that_comes_between_members_is_told(tmp_path: Path) -> None:
    (one,) = parted(tmp_path, TOGETHER, PARTED)
    assert one.message == "is parted by alignment from read, with which it shared a line before"
    assert (one.member, one.severity) == ("written", Severity.NOTE)


def test_a_member_that_gets_a_line_to_itself_is_told_with_whom_it_was(tmp_path: Path) -> None:
    new = "u64 front[8] __cacheline_aligned; u64 written __cacheline_aligned; u64 read __cacheline_aligned, more;"
    (one,) = parted(tmp_path, TOGETHER, new)
    assert one.message == "has a line to itself, and shared one with read and more before"


def test_a_member_of_several_lines_has_these_to_itself(tmp_path: Path) -> None:
    old = "u64 front[8] __cacheline_aligned; u64 written[9], more;"
    new = "u64 front[8] __cacheline_aligned; u64 written[9] __cacheline_aligned; u64 more __cacheline_aligned;"
    (one,) = parted(tmp_path, old, new)
    assert one.message == "has its lines to itself, and shared one with more before"


def test_members_that_only_moved_apart_are_not_parted(tmp_path: Path) -> None:
    moved = "u64 front[8] __cacheline_aligned; u64 read, more, other[6], written;"
    assert parted(tmp_path, TOGETHER, moved) == []


def test_what_was_parted_before_is_not_new(tmp_path: Path) -> None:
    assert parted(tmp_path, PARTED, PARTED + " u64 last;") == []


def test_an_intent_that_isolates_says_it_already(tmp_path: Path) -> None:
    intent = TypeIntent("subject", "measured", isolations=(Isolation(("written",), ("read",)),))
    assert parted(tmp_path, TOGETHER, PARTED, intent) == []


def test_who_is_alone_because_its_neighbour_is_gone_was_not_parted_from_it() -> None:
    old = struct("bucket", scalar("lock", 4), scalar("list", 8), align=64)
    new = struct("bucket", scalar("list", 8), align=64)
    assert broken("isolation-new", before_and_now((old,), (new,), tuned="is aligned to 64 bytes")) == []


def test_alignment_that_only_one_of_the_builds_states_is_not_new(tmp_path: Path) -> None:
    both = subject(tmp_path, TOGETHER, PARTED)
    assert both.old is not None
    of_btf = replace(both, old=replace(both.old, file=""))
    assert broken("isolation-new", both) != []
    assert broken("isolation-new", of_btf) == []


def test_a_single_build_has_nothing_new(tmp_path: Path) -> None:
    assert broken("isolation-new", subject(tmp_path, None, PARTED)) == []


def test_alignment_of_a_member_parts_nothing_where_a_slab_cache_puts_objects_off_a_line() -> None:
    inode = struct("inode", scalar("read", 81), scalar("written", 1, align=64))
    assert broken("isolation-new", before_and_now((inode,), (inode,), tuned="named by --type")) == []
