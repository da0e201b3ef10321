# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the members of a wanted group lie: together, and apart from these."""

from __future__ import annotations

import pytest
from hand_made import scalar, struct, table

from linesmith.analyzer.geometry import Span
from linesmith.analyzer.model import Layout, Member, MemberGroup
from linesmith.analyzer.rules.wanted_group import wanted_group


def marked(*members: Member) -> tuple[Member, ...]:
    begin, end = (scalar(f"__cacheline_group_{word}__tx", 0) for word in ("begin", "end"))
    return (begin, *members, end)


def lying(layout: Layout, *members: str) -> tuple[str, str, Span]:
    """The names of those together, of those apart, and what the first ones span."""
    found = wanted_group(MemberGroup("tx", members), layout, table(layout))
    assert found is not None
    together, apart = (" ".join(one.path for one in each) for each in (found.together, found.apart))
    return together, apart, found.span


A, B, C, D, OTHER = (scalar(name) for name in ("a", "b", "c", "d", "other"))


def test_a_group_that_the_source_marks_is_where_the_marks_are() -> None:
    layout = struct("any", A, *marked(B, OTHER, C), D)
    assert lying(layout, "a", "b", "c", "d") == ("b c", "a d", Span(8, 24))


def test_elsewhere_it_is_where_most_of_its_members_follow_each_other() -> None:
    layout = struct("any", A, OTHER, B, C, scalar("more"), D)
    assert lying(layout, "a", "b", "c", "d") == ("b c", "a d", Span(16, 16))


def test_marks_around_none_of_its_members_do_not_count() -> None:
    assert lying(struct("any", A, B, *marked(OTHER)), "a", "b") == ("a b", "", Span(0, 16))


@pytest.mark.parametrize("members", [(), ("gone",)])
def test_a_layout_without_its_members_has_no_group(members: tuple[str, ...]) -> None:
    layout = struct("any", A)
    assert wanted_group(MemberGroup("tx", members), layout, table(layout)) is None
