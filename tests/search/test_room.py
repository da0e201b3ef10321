# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignments that are not searched because the record may not grow, and how much would be needed."""

from __future__ import annotations

from hand_made import held, meeting, scalar, struct, table

from linesmith.analyzer.model import Layout, Searching
from linesmith.tuner.space.proposals import proposals
from linesmith.tuner.space.room import Room, room_wanted


def counters(cold: int) -> Layout:
    """Two hot members, and as many bytes behind them."""
    return struct("counters", scalar("sent"), scalar("received"), *(scalar(f"cold{number}") for number in range(cold)))


def wanted(layout: Layout, growth: int = 0, *around: Layout) -> Room | None:
    proposed = proposals([meeting(layout, "sent", "received")], table(layout, *around), Searching(growth=growth))
    return room_wanted(proposed.record, growth)


def test_a_record_that_may_not_grow_wants_room_for_an_alignment() -> None:
    assert counters(9).size == 88
    assert wanted(counters(9)) == Room("sent", "struct counters", 40)


def test_with_that_room_alignments_are_searched() -> None:
    assert wanted(counters(9), growth=40) is None
    layout = counters(9)
    space = proposals([meeting(layout, "sent", "received")], table(layout), Searching(growth=40)).space
    assert any(one.name.startswith("alignment of ") for one in space.dimensions)


def test_a_record_of_whole_lines_has_room() -> None:
    assert wanted(counters(14)) is None


def test_a_record_of_whole_lines_wants_room_in_what_holds_it() -> None:
    layout = counters(14)
    device = struct("device", scalar("id"), held("counters", layout))
    assert (layout.size, device.size) == (128, 136)
    assert wanted(layout, 0, device) == Room("sent", "struct device", 56)
    assert wanted(layout, 56, device) is None


def test_who_wants_the_room_is_told() -> None:
    assert Room("sent", "struct counters", 40).told("struct counters", 0) == (
        "no alignment was searched, for struct counters may not grow: sent at the start of a line takes 40 bytes more "
        "(growth = 40 in [search])"
    )
    assert Room("sent", "struct device", 56).told("struct counters", 8) == (
        "no alignment was searched, for struct counters and what holds it may grow by no more than 8 bytes: sent at "
        "the start of a line takes 56 bytes more of struct device (growth = 56 in [search])"
    )
