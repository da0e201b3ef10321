# SPDX-License-Identifier: GPL-2.0-or-later
"""A member that lies on two hot lines is told: both travel whenever it is used."""

from __future__ import annotations

from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import (
    Access,
    Layout,
    LineObject,
    Member,
    Outcome,
    Profile,
    RecordKind,
    SharedLine,
)
from linesmith.analyzer.sharing.straddle import straddling

MESSAGE = Member("message", "struct message", "message", 48, 32, 8)


def straddler(other: SharedLine, member: Member = MESSAGE) -> str:
    """What straddles the line at 0x1000, of a record that begins there; ``other`` is another line of the profile."""
    record = Layout(1, "mailbox", RecordKind.STRUCT, 128, (member,), natural_alignment=8)
    owner = LineObject("mailbox", 1, 0, 0, 1.0, Outcome.RESOLVED)
    line = SharedLine(0, 0x1000, (Access(48, "answer", hitm_local=100),), hitm_local=100)
    return straddling(line, (owner,), LayoutTable([record]), Profile("test", "", "hitm", (line, other)))


def next_line(offset: int, contended: int) -> SharedLine:
    return SharedLine(1, 0x1040, (Access(offset, "answer", hitm_local=contended),), hitm_local=contended)


def test_a_member_contended_on_both_of_its_lines_straddles() -> None:
    assert straddler(next_line(8, 90)) == "message"


def test_a_member_whose_second_line_is_quiet_does_not_count() -> None:
    assert straddler(next_line(8, 2)) == ""


def test_heat_of_another_member_on_the_second_line_does_not_count() -> None:
    assert straddler(next_line(32, 90)) == ""


def test_the_other_line_must_be_the_neighbour() -> None:
    assert straddler(SharedLine(1, 0x2040, (Access(8, "answer", hitm_local=90),), hitm_local=90)) == ""


def test_what_is_longer_than_a_line_lies_on_two_anyway() -> None:
    assert straddler(next_line(8, 90), Member("message", "struct message", "message", 48, 80, 8)) == ""


def test_elements_of_an_array_are_used_one_by_one() -> None:
    assert straddler(next_line(8, 90), Member("message", "long", "message[4]", 48, 32, 8, dimensions=(4,))) == ""
