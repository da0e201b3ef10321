# SPDX-License-Identifier: GPL-2.0-or-later
"""``group-left``: members that a marked group or an intent held together and that lie elsewhere now."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_builds import subject
from rule_cases import broken, figure

from linesmith.analyzer.model import MemberGroup, Severity, TypeIntent, Violation

BEGIN, END = "__cacheline_group_begin(fast);", "__cacheline_group_end(fast);"
HOT = TypeIntent("subject", "both are read by lookups", groups=(MemberGroup("lookup", ("first", "second", "third")),))


@pytest.fixture
def left(tmp_path: Path) -> Left:
    return Left(tmp_path)


class Left:
    """Builds one struct before and now and asks the rule."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, old: str | None, new: str, *intents: TypeIntent) -> list[Violation]:
        return broken("group-left", subject(self.folder, old, new, intents))


def test_a_member_that_was_between_the_markers_has_left_the_group(left: Left) -> None:
    (one,) = left(f"{BEGIN} u64 a; u64 b; {END} u64 cold[8];", f"{BEGIN} u64 a; {END} u64 cold[8]; u64 b;")
    assert one.message == "left the group fast; it is on line 1, at byte 72"
    assert (one.member, one.subject, one.severity) == ("b", "fast", Severity.WARNING)
    assert figure(one, "offset") == (8, 72)


def test_the_place_is_that_of_the_member(left: Left) -> None:
    (one,) = left(f"{BEGIN} u64 a; u64 b; {END}", f"{BEGIN} u64 a; {END}\n\nu64 b;")
    assert one.line is not None
    assert one.line > 2


def test_members_that_move_within_the_group_are_in_it_still(left: Left) -> None:
    assert left(f"u64 z; {BEGIN} u64 a; u64 b; {END}", f"{BEGIN} u64 b; u64 a; {END} u64 z;") == []


def test_a_member_of_an_anonymous_union_is_in_the_group_around_it(left: Left) -> None:
    inside = f"{BEGIN} u64 a; union {{ u64 b; u64 c; }}; {END}"
    (one,) = left(inside, f"{BEGIN} u64 a; union {{ u64 b; }}; {END} u64 c;")
    assert one.member == "c"


def test_going_into_another_group_is_a_note(left: Left) -> None:
    other = "__cacheline_group_begin(slow); {} __cacheline_group_end(slow);"
    (one,) = left(
        f"{BEGIN} u64 a; u64 b; {END} {other.format('u64 c;')}", f"{BEGIN} u64 a; {END} {other.format('u64 c; u64 b;')}"
    )
    assert one.message == "left the group fast for slow; it is on line 0, at byte 16"
    assert one.severity is Severity.NOTE


def test_a_member_that_is_gone_has_not_left(left: Left) -> None:
    assert left(f"{BEGIN} u64 a; u64 b; {END}", f"{BEGIN} u64 a; {END}") == []


def test_markers_that_are_gone_are_told_once(left: Left) -> None:
    (one,) = left(f"{BEGIN} u64 a; u64 b; {END}", "u64 a; u64 b;")
    assert one.message == "the group fast is not marked any more; it held a and b"
    assert (one.member, one.subject) == ("", "fast")


def test_of_many_members_that_left_one_violation_tells(left: Left) -> None:
    many = "u64 b; u64 c; u64 d; u64 e; u64 f;"
    (one,) = left(f"{BEGIN} u64 a; {many} {END}", f"{BEGIN} u64 a; {END} {many}")
    assert one.message == "b, c, d and 2 more: 5 members left the group fast"


def test_a_new_member_between_those_of_a_wanted_group_sets_one_apart(left: Left) -> None:
    (one,) = left("u64 first, second, third;", "u64 first, second, added, third;", HOT)
    assert one.message == (
        "lies apart from the others of the group lookup, which are at bytes 0 to 15; it is on line 0, at byte 24"
    )
    assert one.advice == "move third back beside second, or take it out of the group"
    assert figure(one, "offset") == (16, 24)


def test_a_wanted_group_is_judged_in_one_build(left: Left) -> None:
    (one,) = left(None, "u64 first, second, other, third;", HOT)
    assert (one.member, one.severity, figure(one, "offset")) == ("third", Severity.WARNING, (None, 24))


def test_what_lay_apart_before_is_a_note(left: Left) -> None:
    (one,) = left("u64 first, second, other, third;", "u64 first, second, other, added, third;", HOT)
    assert one.message.startswith(
        "lies apart from the others of the group lookup, which are at bytes 0 to 15, as before"
    )
    assert one.severity is Severity.NOTE


def test_one_that_left_the_line_of_the_others_is_not_as_it_was(left: Left) -> None:
    """struct tcp_sock: scaling_ratio went to what only receiving reads, some members behind those of its line."""
    (one,) = left("u64 first, second, other, third, x[8];", "u64 first, second, other, x[8], third;", HOT)
    assert one.severity is Severity.WARNING
    assert one.message == (
        "lies apart from the others of the group lookup, which are on line 0; it is on line 1, at byte 88"
    )


def test_one_that_came_to_the_line_of_the_others_is_apart_as_before(left: Left) -> None:
    (one,) = left("u64 first, second, other, x[8], third;", "u64 first, second, other, third, x[8];", HOT)
    assert one.severity is Severity.NOTE


def test_a_hole_sets_nothing_apart(left: Left) -> None:
    assert left(None, "u64 first; u32 second; u64 third;", HOT) == []


def test_members_inside_of_records_are_grouped_by_their_paths(left: Left) -> None:
    wanted = TypeIntent("subject", "read by lookups", groups=(MemberGroup("lookup", ("first", "inner.second")),))
    assert left(None, "u64 first; struct { u64 second, third; } inner;", wanted) == []
    (one,) = left(None, "u64 first; struct { u64 third, second; } inner;", wanted)
    assert one.member == "inner.second"


def test_members_that_the_build_has_not_are_left_to_others(left: Left) -> None:
    assert left(None, "u64 first; u64 other;", HOT) == []
