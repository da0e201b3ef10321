# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost, over the phases an object can have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, held, hot, meeting, scalar, struct, table

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry import ObjectStarts
from linesmith.analyzer.model import ConflictPair, Layout
from linesmith.tuner.cost.conflict import cost, hot_lines, hot_neighbours, residuals
from linesmith.tuner.cost.exposure import exposure
from linesmith.tuner.subject import subject


def apart(gap: int, align: int | None = None) -> Layout:
    """A reader at 0 and a written member behind it, with ``gap`` bytes between them."""
    between = [scalar("between", gap)] if gap else []
    return struct("s", scalar("reader"), *between, scalar("writer"), align=align)


@pytest.mark.parametrize(("gap", "share"), [(0, 7 / 8), (8, 6 / 8), (32, 3 / 8), (48, 1 / 8), (56, 0), (64, 0)])
def test_two_members_meet_in_fewer_phases_the_farther_they_are_apart(gap: int, share: float) -> None:
    layout = apart(gap)
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    assert cost(target.heat, target.starts, granule=8).anywhere == 100 * share


def test_a_coarser_granule_leaves_fewer_phases() -> None:
    layout = apart(32, align=32)
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    assert cost(target.heat, target.starts, granule=32).anywhere == 50


def test_in_the_profiles_own_phase_they_meet_or_they_do_not() -> None:
    layout = apart(32)
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    assert cost(target.heat, target.starts, granule=8).here == 100
    assert cost(replace(target.heat, seen=((24, 1.0),)), target.starts, granule=8).here == 0


def test_a_phase_in_which_the_pair_does_not_meet_is_not_believed() -> None:
    layout = apart(48)
    target = subject(meeting(layout, "writer", "reader", phase=16), table(layout))
    assert target.heat.phase is None


def test_weights_together_stay_within_the_contended_samples() -> None:
    layout = struct("s", scalar("a"), scalar("b"), scalar("c"))
    seen = [hot("a", 0, 8, reads=60, writes=5), hot("b", 8, 8, reads=40, writes=5), hot("c", 16, 8, writes=5)]
    pairs = [ConflictPair("a", "b", "a", 100), ConflictPair("a", "c", "c", 60), ConflictPair("b", "c", "c", 40)]
    target = subject(finding(layout, seen, pairs), table(layout))
    assert [contact.weight for contact in target.heat.sampled] == [50, 30, 20]


def test_residuals_are_given_at_64_and_at_128_bytes() -> None:
    layout = apart(0)
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    parted = [0, 64]
    found = residuals(target.heat, target.starts, parted, (ObjectStarts(8), ObjectStarts(8)))
    assert [(one.line_bytes, one.before, one.after) for one in found] == [
        (64, 7 / 8, 0),
        (128, 15 / 16, 7 / 16 + 1 / 16),
    ]


def test_a_member_longer_than_a_line_is_hot_where_it_was_sampled() -> None:
    layout = struct("s", scalar("table", 512), scalar("writer"))
    seen = [hot("table[0]", 0, 8, reads=9), hot("writer", 512, 8, writes=9)]
    target = subject(finding(layout, seen, [ConflictPair("table", "writer", "writer", 9)]), table(layout))
    assert [(spot.name, spot.start, spot.size) for spot in target.heat.spots] == [("table", 0, 8), ("writer", 0, 8)]


def test_members_hot_on_another_line_are_possible_contacts() -> None:
    layout = struct("s", scalar("reader"), scalar("writer"), scalar("cold", 120), scalar("other"))
    here, there = meeting(layout, "writer", "reader"), finding(layout, [hot("other", 136, 8, reads=7)])
    target = subject(here, table(layout), [there])
    possible = [contact for contact in target.heat.contacts if not contact.sampled]
    assert [(one.first.name, one.second.name, one.writer) for one in possible] == [("writer", "other", "writer")]
    assert hot_neighbours(target.heat, target.starts, ObjectStarts(8)) == 1


def test_members_of_a_neighbouring_object_are_left_out() -> None:
    layout = struct("s", scalar("reader"), scalar("writer"), scalar("tail", 48))
    line = meeting(layout, "writer", "reader")
    foreign = replace(hot("tail", 16, 48, reads=9), offset=48)
    target = subject(replace(line, members=(*line.members, foreign)), table(layout))
    assert {spot.name for spot in target.heat.spots} == {"reader", "writer"}


def test_lines_of_hot_members_are_counted_in_the_phase_given() -> None:
    layout = apart(48)
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    assert hot_lines(target.heat, target.starts, granule=8, phase=0) == 1
    assert hot_lines(target.heat, target.starts, granule=8, phase=8) == 2
    assert hot_lines(target.heat, target.starts, granule=8) == 15 / 8


def test_moving_a_reader_exposes_nobody_moving_a_writer_does() -> None:
    layout = struct("s", scalar("reader"), scalar("writer"), scalar("gap", 112), scalar("quiet"))
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    assert exposure(target, [128, 8, 16, 120], granule=8) == 0
    assert exposure(target, [0, 128, 8, 120], granule=8) > 0


def test_early_members_count_for_more_when_exposed() -> None:
    layout = struct("s", scalar("early"), scalar("gap", 120), scalar("writer"), scalar("reader"), scalar("late", 120))
    target = subject(meeting(layout, "writer", "reader"), table(layout))
    to_front = exposure(target, [8, 16, 0, 136, 144], granule=8)
    to_back = exposure(target, [0, 8, 256, 128, 136], granule=8)
    assert to_front > to_back


def test_on_the_double_lines_of_a_profile_members_must_be_farther_apart() -> None:
    layout = apart(48)
    line = replace(meeting(layout, "writer", "reader"), bytes=128)
    target = subject(line, table(layout))
    assert cost(target.heat, target.starts, granule=8).here == 100
    assert cost(target.heat, [0, 8, 120], granule=8).anywhere == 100 / 16


def test_damaged_debug_information_in_which_a_struct_holds_itself_is_refused() -> None:
    inner = struct("", scalar("x"), scalar("y"))
    endless = replace(inner, members=(*inner.members, replace(held("", inner), offset=16)))
    layout = struct("s", held("", endless), scalar("rest"))
    seen = [hot("x", 0, 8, reads=9), hot("y", 8, 8, writes=9)]
    with pytest.raises(NothingToSuggest, match="its size is 16 bytes where C's rules give 32"):
        subject(finding(layout, seen, [ConflictPair("x", "y", "y", 9)]), table(layout, endless))
