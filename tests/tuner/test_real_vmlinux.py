# SPDX-License-Identifier: GPL-2.0-or-later
"""The tuner on the structs of a real kernel."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hand_made import finding as line_of
from hand_made import hot

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import first_bit, lay_out, refusal
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import ConflictPair, Layout, Member, RecordKind
from linesmith.tuner.candidates import propose

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def layouts(vmlinux: Path) -> Layouts:
    return read_layouts(vmlinux).layouts


def structs(layouts: Layouts) -> list[Layout]:
    return [layout for layout in layouts if layout.kind is RecordKind.STRUCT and layout.members]


def test_nearly_all_structs_are_placed_exactly_and_the_rest_is_packed(layouts: Layouts) -> None:
    reasons = [refusal(with_inferred_alignment(layout)) for layout in structs(layouts)]
    exact, packed = reasons.count(None), sum("packed" in (reason or "") for reason in reasons)
    print(f"{exact} of {len(reasons)} structs placed exactly ({exact / len(reasons):.2%}), {packed} packed")
    print(Counter(reason for reason in reasons if reason and "packed" not in reason))
    assert exact >= 0.97 * len(reasons)
    assert len(reasons) - exact - packed <= 10


def test_the_lock_of_the_mapping_tree_moves_alone_and_the_size_stays(layouts: Layouts) -> None:
    (layout,) = layouts.variants("address_space")
    seen = [hot("i_mmap", 72, 16, reads=700, writes=1), hot("i_mmap_rwsem.owner", 96, 8, 3000, 900, lock=True)]
    pair = ConflictPair("i_mmap", "i_mmap_rwsem", "i_mmap_rwsem", 700)
    first = propose(line_of(layout, seen, [pair], phase=16), layouts)[0]
    assert [(move.member, move.after) for move in first.moves] == [("i_mmap_rwsem", "private_data")]
    assert (first.after.size, [one.after for one in first.residuals if one.line_bytes == 64]) == (192, [0])


def hot_neighbours(layout: Layout) -> tuple[Member, Member] | None:
    """Two members on one line in the middle of the struct, a written and a read one."""
    near = [
        (one, other)
        for one, other in zip(layout.members, layout.members[1:], strict=False)
        if one.name and other.name and one.size and other.size and other.end - one.offset < 64
    ]
    return near[len(near) // 2] if near else None


def test_every_candidate_for_real_structs_keeps_the_members_and_obeys_c(layouts: Layouts) -> None:
    tried = improved = 0
    for layout in structs(layouts)[::40]:
        pair = hot_neighbours(layout)
        if pair is None or not layout.name:
            continue
        tried += 1
        written, read = pair
        seen = [
            hot(read.name, read.offset, read.size, reads=50),
            hot(written.name, written.offset, written.size, 0, 50),
        ]
        meeting = ConflictPair(written.name, read.name, written.name, 50)
        try:
            found = propose(line_of(layout, seen, [meeting], phase=-written.offset % 64), layouts)
        except NothingToSuggest:
            continue
        improved += 1
        for candidate in found:
            before, after = candidate.before, candidate.after
            assert Counter(m.name for m in before.members) == Counter(m.name for m in after.members)
            again = lay_out(with_inferred_alignment(before), with_inferred_alignment(after).members)
            assert [first_bit(m) for m in again.members] == [first_bit(m) for m in after.members]
            assert candidate.predicted.after < candidate.predicted.before
            assert not before.members[-1].flexible or after.members[-1].flexible
    print(f"{improved} of {tried} structs have candidates")
    assert improved > tried / 4
