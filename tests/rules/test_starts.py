# SPDX-License-Identifier: GPL-2.0-or-later
"""Where objects begin on their lines, and which members meet there, as the rules ask for it."""

from __future__ import annotations

import pytest
from hand_made import scalar, struct
from rule_cases import side

from linesmith.analyzer.geometry import Span
from linesmith.analyzer.model import PhaseCount
from linesmith.analyzer.rules.starts import Meeting, Starts, meeting, most_lines

EARLY = Starts(64, (PhaseCount(0, 3), PhaseCount(8, 1)), "early")
LATE = Starts(64, (PhaseCount(40, 2),), "late")
TAIL = Span(48, 16)


@pytest.mark.parametrize(
    ("caches", "clause"),
    [
        ((), " in 1 of 4 phases"),
        (("one",), " in 1 of 4 phases of one"),
        (("one", "two"), " in 1 of 4 phases of its 2 caches"),
    ],
)
def test_one_cache_is_named_and_several_are_counted(caches: tuple[str, ...], clause: str) -> None:
    assert Meeting(1, 4, 0.25, caches).clause == clause


def test_what_meets_in_all_phases_needs_no_clause() -> None:
    assert (Meeting(4, 4, 1.0, ("one",)).clause, Meeting(4, 4, 1.0).verb) == ("", "shares")
    assert Meeting(3, 4, 0.9).verb == "can share"


def test_bytes_lie_on_most_lines_where_an_object_begins_late() -> None:
    assert EARLY.lines(TAIL) == 2
    assert LATE.lines(TAIL) == 1


def test_the_share_is_that_of_the_cache_in_which_most_objects_have_it() -> None:
    """In ``early`` they meet in three of four objects, in ``late`` in all of them."""
    found = meeting((EARLY, LATE), Span(0, 8), Span(56, 8))
    assert (found.met, found.among, found.share, found.caches) == (1, 3, 0.75, ("early", "late"))


@pytest.mark.parametrize("gap", [64, 65, 200])
def test_members_a_line_apart_never_meet(gap: int) -> None:
    for pair in ((Span(0, 8), Span(8 + gap, 8)), (Span(8 + gap, 8), Span(0, 8))):
        assert meeting((EARLY, LATE), *pair) == Meeting(0, 3, 0.0, ("early", "late"))


def test_without_a_known_cache_offsets_alone_tell_how_many_lines_bytes_lie_on() -> None:
    record = struct("any", *(scalar(f"word{number}") for number in range(8)))
    build = side(record)
    assert build.starts.of(record)[0].lines(TAIL) == 2
    assert most_lines(record, build, TAIL) == 1
