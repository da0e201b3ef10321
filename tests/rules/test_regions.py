# SPDX-License-Identifier: GPL-2.0-or-later
"""Members of two builds by their places: each is in one, and their growth is that of the bytes they lie on."""

from __future__ import annotations

from hand_made import scalar
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.geometry import Named, Span
from linesmith.analyzer.rules.regions import regions


def placed(name: str, offset: int, size: int) -> Named:
    return Named(name, 0, scalar(name, size), Span(offset, size))


MEMBERS = st.dictionaries(
    st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8
).map(lambda found: [placed(name, *span) for name, span in found.items()])


def lying_on(members: list[Named]) -> int:
    return len({byte for one in members for byte in range(one.offset, one.end)})


@given(MEMBERS, MEMBERS)
def test_every_member_is_in_one_region_and_no_byte_counts_twice(before: list[Named], after: list[Named]) -> None:
    found = list(regions(before, after))
    for members, sides in ((before, [one.before for one in found]), (after, [one.after for one in found])):
        assert sorted(one.path for side in sides for one in side) == sorted(
            one.path for one in members if one.span.size
        )
    assert sum(one.added for one in found) == lying_on(after) - lying_on(before)


@given(MEMBERS)
def test_nothing_grows_where_nothing_changed(members: list[Named]) -> None:
    assert all(one.added == 0 and one.before == one.after for one in regions(members, members))
