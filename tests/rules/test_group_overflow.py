# SPDX-License-Identifier: GPL-2.0-or-later
"""``group-overflow``: groups that lie on more lines than they did, than they need, or than is wanted."""

from __future__ import annotations

from pathlib import Path

from rule_builds import subject
from rule_cases import broken, figure

from linesmith.analyzer.model import MemberGroup, Severity, TypeIntent, Violation

BEGIN, END = "__cacheline_group_begin(fast);", "__cacheline_group_end(fast);"
ALIGNED = "u64 front[8] __cacheline_aligned;"


def overflown(folder: Path, old: str | None, new: str, *intents: TypeIntent) -> list[Violation]:
    return broken("group-overflow", subject(folder, old, new, intents))


def wanted(lines: int | None = None, size: int | None = None) -> TypeIntent:
    return TypeIntent("subject", "one miss", groups=(MemberGroup("pair", ("first", "second"), lines, size),))


def test_a_member_too_many_takes_a_group_to_the_next_line(tmp_path: Path) -> None:
    old, new = f"{ALIGNED} {BEGIN} u64 a[8]; {END}", f"{ALIGNED} {BEGIN} u64 a[8]; u32 late; {END}"
    (one,) = overflown(tmp_path, old, new)
    assert one.message == "the group fast covers 2 lines, 1 before; new in it: late"
    assert (one.severity, one.subject) == (Severity.WARNING, "fast")
    assert (figure(one, "lines"), figure(one, "bytes")) == ((1, 2), (64, 68))


def test_a_group_may_grow_on_its_line(tmp_path: Path) -> None:
    assert overflown(tmp_path, f"{ALIGNED} {BEGIN} u64 a; {END}", f"{ALIGNED} {BEGIN} u64 a, b; {END}") == []


def test_a_group_is_pushed_over_a_boundary_from_in_front(tmp_path: Path) -> None:
    group = f"{BEGIN} u64 a[4]; {END}"
    (one,) = overflown(tmp_path, f"{ALIGNED} u64 x[4]; {group}", f"{ALIGNED} u64 x[5]; {group}")
    assert one.message == "the group fast covers 2 lines, 1 before"


def test_a_new_group_on_more_lines_than_it_needs_is_a_note(tmp_path: Path) -> None:
    (one,) = overflown(tmp_path, None, f"{ALIGNED} u64 x[5]; {BEGIN} u64 a[4]; {END}")
    assert one.message == "the group fast covers 2 lines although its 32 bytes need 1"
    assert one.severity is Severity.NOTE


def test_groups_behind_one_another_share_lines_on_purpose(tmp_path: Path) -> None:
    other = "__cacheline_group_begin(next); u64 b[4]; __cacheline_group_end(next);"
    assert overflown(tmp_path, None, f"{ALIGNED} {BEGIN} u64 a[6]; {END} {other}") == []


def test_a_member_between_two_groups_parts_them(tmp_path: Path) -> None:
    other = "__cacheline_group_begin(next); u64 b[4]; __cacheline_group_end(next);"
    (one,) = overflown(tmp_path, None, f"{ALIGNED} {BEGIN} u64 a[5]; {END} u64 x; {other}")
    assert one.subject == "next"


def test_the_padding_behind_an_aligned_group_is_no_part_of_it(tmp_path: Path) -> None:
    group = f"{BEGIN} u64 a; unsigned char __cacheline_group_end__fast[0] __cacheline_aligned;"
    assert overflown(tmp_path, None, f"{ALIGNED} {group} u64 z;") == []


def test_a_wanted_group_on_too_many_lines(tmp_path: Path) -> None:
    (one,) = overflown(tmp_path, None, f"{ALIGNED} u64 x[7]; u64 first, second;", wanted(lines=1))
    assert one.message == "the group pair covers 2 lines, 1 are wanted"


def test_a_wanted_group_of_too_many_bytes(tmp_path: Path) -> None:
    (one,) = overflown(tmp_path, "u64 first; u64 second;", "u64 first; u64 second[2];", wanted(size=16))
    assert one.message == "the group pair covers 24 bytes, 16 are wanted"
    assert figure(one, "bytes") == (16, 24)


def test_what_was_too_much_before_is_a_note(tmp_path: Path) -> None:
    (one,) = overflown(tmp_path, "u64 first[3]; u64 second;", "u64 first[2]; u64 second;", wanted(size=16))
    assert (one.severity, one.message) == (Severity.NOTE, "the group pair covers 24 bytes, 16 are wanted, as before")


def test_a_group_that_lies_apart_is_told_by_another_rule(tmp_path: Path) -> None:
    assert overflown(tmp_path, None, "u64 first; u64 other[9]; u64 second;", wanted(lines=1)) == []


def test_lines_are_counted_in_the_worst_phase_of_the_slab(tmp_path: Path) -> None:
    """Objects of ``mempolicy`` begin at any multiple of 8 bytes of a line."""
    built = subject(tmp_path, None, "u64 first, second; u64 more[7];", (wanted(lines=1),), record="mempolicy")
    (one,) = broken("group-overflow", built)
    assert one.message == "the group pair covers 2 lines, 1 are wanted"
