# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost, over the phases an object can have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, held, hot, meeting, scalar, struct, table

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry import ObjectStarts
from linesmith.analyzer.model import ConflictPair, Finding, Layout
from linesmith.tuner.cost.conflict import cost, hot_lines, hot_neighbours, residuals
from linesmith.tuner.cost.exposure import exposure
from linesmith.tuner.cost.placed import Placed
from linesmith.tuner.cost.regrouping import Regroupings
from linesmith.tuner.subject import Subject, subject


def members(**sizes: int) -> Layout:
    return struct("s", *(scalar(name, size) for name, size in sizes.items()))


def target(layout: Layout, line: Finding | None = None, *others: Finding) -> Subject:
    """The record of a line on which its reader meets its writer."""
    return subject(line or meeting(layout, "writer", "reader"), table(layout), others)


def apart(gap: int, phase: int = 0) -> Subject:
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
    assert apart(48, phase=16).heat.phase is None, "a phase in which the pair does not meet is not believed"


def test_on_the_double_lines_of_a_profile_members_must_be_farther_apart() -> None:
    layout = members(reader=8, between=48, writer=8)
    found = target(layout, replace(meeting(layout, "writer", "reader"), bytes=128))
    assert cost(found.heat, found.starts, granule=8).here == 100
    assert cost(found.heat, [0, 8, 120], granule=8).anywhere == 100 / 16


def test_residuals_are_given_at_64_and_at_128_bytes() -> None:
    found = apart(0)
    left = residuals(found.heat, found.starts, [0, 64], (ObjectStarts(8), ObjectStarts(8)))
    assert [(one.line_bytes, one.before, one.after) for one in left] == [(64, 7 / 8, 0), (128, 15 / 16, 8 / 16)]


def test_lines_of_hot_members_are_counted_in_the_phase_given() -> None:
    found = apart(48)
    assert [hot_lines(found.heat, found.starts, granule=8, phase=phase) for phase in (0, 8)] == [1, 2]
    assert hot_lines(found.heat, found.starts, granule=8) == 15 / 8


def three() -> Finding:
    """Three words in a row that meet each other; ``a`` and ``b`` are read too."""
    seen = [hot("a", 0, 8, reads=60, writes=5), hot("b", 8, 8, reads=40, writes=5), hot("c", 16, 8, writes=5)]
    pairs = [ConflictPair("a", "b", "a", 100), ConflictPair("a", "c", "c", 60), ConflictPair("b", "c", "c", 40)]
    return finding(THREE, seen, pairs)


THREE = members(a=8, b=8, c=8)


def test_weights_together_stay_within_the_contended_samples() -> None:
    assert [contact.weight for contact in target(THREE, three()).heat.sampled] == [50, 30, 20]


def test_a_member_longer_than_a_line_is_hot_where_it_was_sampled() -> None:
    layout = members(table=512, writer=8)
    seen = [hot("table[0]", 0, 8, reads=9), hot("writer", 512, 8, writes=9)]
    found = target(layout, finding(layout, seen, [ConflictPair("table", "writer", "writer", 9)]))
    assert [(spot.name, spot.start, spot.size) for spot in found.heat.spots] == [("table", 0, 8), ("writer", 0, 8)]


def test_members_hot_on_another_line_are_possible_contacts() -> None:
    layout = members(reader=8, writer=8, cold=120, other=8)
    found = target(layout, None, finding(layout, [hot("other", 136, 8, reads=7)]))
    possible = [contact for contact in found.heat.contacts if not contact.sampled]
    assert [(one.first.name, one.second.name, one.writer) for one in possible] == [("writer", "other", "writer")]
    assert hot_neighbours(found.heat, found.starts, ObjectStarts(8)) == 1


def test_members_of_a_neighbouring_object_are_left_out() -> None:
    layout = members(reader=8, writer=8, tail=48)
    line = meeting(layout, "writer", "reader")
    foreign = replace(hot("tail", 16, 48, reads=9), offset=48)
    found = target(layout, replace(line, members=(*line.members, foreign)))
    assert {spot.name for spot in found.heat.spots} == {"reader", "writer"}


def test_moving_a_reader_exposes_nobody_moving_a_writer_does_and_early_members_count_for_more() -> None:
    found = target(members(reader=8, writer=8, gap=112, quiet=8))
    assert exposure(found, [128, 8, 16, 120], granule=8) == 0 < exposure(found, [0, 128, 8, 120], granule=8)
    found = target(members(early=8, gap=120, writer=8, reader=8, late=120))
    to_front, to_back = [8, 16, 0, 136, 144], [0, 8, 256, 128, 136]
    assert exposure(found, to_front, granule=8) > exposure(found, to_back, granule=8)


def test_damaged_debug_information_in_which_a_struct_holds_itself_is_refused() -> None:
    inner = struct("", scalar("x"), scalar("y"))
    endless = replace(inner, members=(*inner.members, replace(held("", inner), offset=16)))
    layout = struct("s", held("", endless), scalar("rest"))
    seen = [hot("x", 0, 8, reads=9), hot("y", 8, 8, writes=9)]
    with pytest.raises(NothingToSuggest, match="its size is 16 bytes where C's rules give 32"):
        subject(finding(layout, seen, [ConflictPair("x", "y", "y", 9)]), table(layout, endless))


@pytest.mark.parametrize(
    ("before", "after", "phases", "gone", "come"),
    [
        ((0, 8, 16), (16, 0, 8), (0, 0), "", ""),
        ((0, 8, 16), (0, 8, 64), (0, 0), "ac bc", ""),
        ((0, 64, 72), (0, 8, 16), (0, 0), "", "ab ac"),
        ((0, 8, 16), (0, 8, 16), (0, 48), "ac bc", ""),
        ((0, 8, 16), (0, 8, 16), (48, 0), "", "ac bc"),
    ],
    ids=("all stay together", "c leaves", "a comes", "another phase parts c", "another phase brings c"),
)
def test_which_hot_members_part_and_come_together_in_a_new_layout(
    before: tuple[int, ...], after: tuple[int, ...], phases: tuple[int, int], gone: str, come: str
) -> None:
    heat = target(THREE, three()).heat
    found = Regroupings(Placed(heat, before, 64), Placed(heat, after, 64)).between(*phases)
    assert found.parted == {frozenset(pair) for pair in gone.split()}
    assert found.joined == {frozenset(pair) for pair in come.split()}
    assert found.members == frozenset("".join((gone, come)).replace(" ", ""))
    pairs = {frozenset(pair) for pair in f"{gone} {come}".split()}
    assert found.contacts == tuple(one for one in heat.contacts if one.names in pairs)
