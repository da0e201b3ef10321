# SPDX-License-Identifier: GPL-2.0-or-later
"""Where objects begin on their lines, and which members meet there, as the rules ask for it."""

from __future__ import annotations

import pytest

from linesmith.analyzer.geometry import Span
from linesmith.analyzer.model import PhaseCount
from linesmith.analyzer.rules.starts import Meeting, Starts, meeting

EARLY = Starts(64, (PhaseCount(0, 3), PhaseCount(8, 1)), "early")
LATE = Starts(64, (PhaseCount(40, 2),), "late")


@pytest.mark.parametrize(
    ("met", "caches", "said"),
    [
        (1, (), "can share in 1 of 4 phases"),
        (1, ("one",), "can share in 1 of 4 phases of one"),
        (1, ("one", "two"), "can share in 1 of 4 phases of its 2 caches"),
        (4, ("one",), "shares"),
    ],
)
def test_one_cache_is_named_and_several_are_counted(met: int, caches: tuple[str, ...], said: str) -> None:
    found = Meeting(met, 4, met / 4, caches)
    assert f"{found.verb}{found.clause}" == said


def test_the_share_is_that_of_the_cache_in_which_most_objects_have_it() -> None:
    """In ``early`` they meet in three of four objects, in ``late`` in all of them."""
    assert (EARLY.lines(Span(48, 16)), LATE.lines(Span(48, 16))) == (2, 1)
    found = meeting((EARLY, LATE), Span(0, 8), Span(56, 8))
    assert (found.met, found.among, found.share, found.caches) == (1, 3, 0.75, ("early", "late"))


@pytest.mark.parametrize("gap", [64, 65, 200])
def test_members_a_line_apart_never_meet(gap: int) -> None:
    for pair in ((Span(0, 8), Span(8 + gap, 8)), (Span(8 + gap, 8), Span(0, 8))):
        assert meeting((EARLY, LATE), *pair) == Meeting(0, 3, 0.0, ("early", "late"))
