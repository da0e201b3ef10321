# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost: where members meet over the phases, and how much each is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, held, hot, meeting, scalar, struct, table

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.model import (
    AccessCounts,
    ConflictPair,
    Finding,
    FunctionCounts,
    Layout,
    MemberAccesses,
    TypeAccesses,
)
from linesmith.tuner.cost.meetings import cost, interest
from linesmith.tuner.propose.subject import ContendedRecord, subject


def members(**sizes: int) -> Layout:
    return struct("s", *(scalar(name, size) for name, size in sizes.items()))


def target(layout: Layout, line: Finding | None = None, *others: Finding) -> ContendedRecord:
    """The record of a line on which its reader meets its writer."""
    return subject(line or meeting(layout, "writer", "reader"), table(layout), others)


def apart(gap: int, phase: int = 0) -> ContendedRecord:
    """A reader at 0 and a written member behind it, with ``gap`` bytes between them."""
    layout = members(reader=8, between=gap, writer=8) if gap else members(reader=8, writer=8)
    return target(layout, meeting(layout, "writer", "reader", phase=phase))


@pytest.mark.parametrize(("gap", "share"), [(0, 7 / 8), (8, 6 / 8), (32, 3 / 8), (48, 1 / 8), (56, 0), (64, 0)])
def test_two_members_meet_in_fewer_phases_the_farther_they_are_apart(gap: int, share: float) -> None:
    found = apart(gap)
    assert cost(found.heat, found.starts, granule=8).anywhere == 100 * share


def test_the_phases_that_count() -> None:
    found = apart(32)
    assert cost(found.heat, found.starts, granule=32).anywhere == 50, "a coarser granule leaves fewer phases"
    assert cost(found.heat, found.starts, granule=8).here == 100, "in the phase of the profile they meet"
    assert cost(replace(found.heat, seen=((24, 1.0),)), found.starts, granule=8).here == 0
    assert cost(apart(0).heat, [0, 4], granule=8).anywhere == 100, "spots that share a byte always meet"
    assert apart(48, phase=16).heat.phase is None, "a phase in which the pair does not meet is not believed"


def test_what_is_hot_and_by_how_much() -> None:
    three = members(a=8, b=8, c=8)
    seen = [hot("a", 0, 8, reads=60, writes=5), hot("b", 8, 8, reads=40, writes=5), hot("c", 16, 8, writes=5)]
    pairs = [ConflictPair("a", "b", "a", 100), ConflictPair("a", "c", "c", 60), ConflictPair("b", "c", "c", 40)]
    weights = [contact.weight for contact in target(three, finding(three, seen, pairs)).heat.sampled]
    assert weights == [50, 30, 20], "they stay within the contended samples"
    layout = members(table=512, writer=8)
    seen = [hot("table[0]", 0, 8, reads=9), hot("writer", 512, 8, writes=9)]
    found = target(layout, finding(layout, seen, [ConflictPair("table", "writer", "writer", 9)]))
    assert [(spot.name, spot.start, spot.size) for spot in found.heat.spots] == [("table", 0, 8), ("writer", 0, 8)]
    layout = members(reader=8, writer=8, tail=48)
    line = meeting(layout, "writer", "reader")
    foreign = replace(hot("tail", 16, 48, reads=9), offset=48)
    found = target(layout, replace(line, members=(*line.members, foreign)))
    assert {spot.name for spot in found.heat.spots} == {"reader", "writer"}


def test_damaged_debug_information_in_which_a_struct_holds_itself_is_refused() -> None:
    inner = struct("", scalar("x"), scalar("y"))
    endless = replace(inner, members=(*inner.members, replace(held("", inner), offset=16)))
    layout = struct("s", held("", endless), scalar("rest"))
    seen = [hot("x", 0, 8, reads=9), hot("y", 8, 8, writes=9)]
    with pytest.raises(NothingToSuggest, match="its size is 16 bytes where C's rules give 32"):
        subject(finding(layout, seen, [ConflictPair("x", "y", "y", 9)]), table(layout, endless))


READ = AccessCounts(reads=1)
APART = struct("apart", scalar("first"), scalar("cold", 56), scalar("second"))


def touched(path: str, offset: int, *functions: str) -> MemberAccesses:
    """Each of the functions reads the member."""
    return MemberAccesses(path, offset, 8, READ, tuple(FunctionCounts(name, READ) for name in functions))


def test_many_readers_in_the_code_are_taken_for_many_reads() -> None:
    many, few = touched("first", 0, *map(str, range(32))), touched("second", 64, *"abcdefgh")
    code = TypeAccesses(APART.id, AccessCounts(), 1, (many, few))
    assert interest(APART, (0, 8, 64), code) == (1.0, 0.0, 0.5)
    assert interest(APART, (0, 8, 64), None) == pytest.approx((1 / 3, 2 / 9, 1 / 9))
