# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever the record and its heat: each point is a layout by C's rules, within its budget, and no other point's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from hand_made import finding, hot, offsets, scalar, struct, table
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry.placement import refusal
from linesmith.analyzer.model import ConflictPair, Finding, Layout, Searching
from linesmith.tuner.space.proposals import proposals


@dataclass(frozen=True)
class Case:
    """A record, a line on which some of its members meet, and how many bytes it may grow."""

    layout: Layout
    line: Finding
    growth: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8, 8, 16, 40, 72]), min_size=2, max_size=16))
    layout = struct("s", *(scalar(f"m{n}", size) for n, size in enumerate(sizes)), align=draw(st.sampled_from([8, 64])))
    names = draw(st.permutations([member.name for member in layout.members]))[: draw(st.integers(1, 6))]
    at, counts = offsets(layout), st.integers(0, 500)
    seen = [hot(name, at[name], min(sizes[int(name[1:])], 8), draw(counts) + 1, draw(counts)) for name in names]
    pairs = [ConflictPair(one, other, one, draw(counts) + 1) for one, other in pairwise(names) if draw(st.booleans())]
    phase = 0 if layout.alignment == 64 else draw(st.sampled_from(range(0, 64, 8)))
    return Case(layout, finding(layout, seen, pairs, phase), draw(st.sampled_from([0, 8, 64, 192])))


@settings(max_examples=25)
@given(cases())
def test_each_point_is_a_layout_and_each_layout_is_one_point(case: Case) -> None:
    try:
        proposed = proposals([case.line], table(case.layout), Searching(growth=case.growth))
    except NothingToSuggest:
        assume(False)
        raise
    names = Counter(member.name for member in case.layout.members)
    for point in proposed.legality.options:
        (candidate,) = proposed.candidates(point)
        assert Counter(member.name for member in candidate.after.members) == names
        assert refusal(candidate.after) is None
        assert candidate.after.size <= case.layout.size + case.growth
        assert proposed.estimate(point) > 0
        assert proposed.describe(point)
    keys = [proposed.key(point) for point in proposed.legality.options]
    assert len(set(keys)) == len(keys)
    assert proposed.space.size <= 600
    assert set(proposed.space.priors) <= set(proposed.legality.options)
