# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache lines that a change touches, in rows: ``guard`` goes from 16 to 72, away from ``root`` and ``leftmost``."""

from __future__ import annotations

from dataclasses import replace

from hand_made import finding, hot, scalar, struct
from proposals_by_hand import moved

from linesmith.analyzer.layouts.placement import lay_out
from linesmith.analyzer.line_map.changed_lines import RecordSide, changed_lines
from linesmith.analyzer.model import Candidate, JudgedPair

ROOT, LEFTMOST, GUARD = scalar("root"), scalar("leftmost"), scalar("guard")
REST = scalar("rest", 56, dimensions=(7,))
POOL = struct("pool", ROOT, LEFTMOST, GUARD, REST)
APART = lay_out(POOL, (ROOT, LEFTMOST, REST, GUARD))
GOES = replace(
    moved(), before=POOL, after=APART, moves=(replace(moved().moves[0], member="guard", partner="", members=()),)
)
HOT = hot("root", 0, 8, 90), hot("leftmost", 8, 8, 60), hot("guard", 16, 8, 0, 50)


def rows(
    change: Candidate, inside: int = 0, steps: tuple[int, int] = (64, 64), phase: int = 0, width: int = 100
) -> str:
    """All of it as text."""
    where = finding(POOL, [*HOT])
    where = replace(where, objects=(replace(where.objects[0], phase=phase),))
    before, after = (
        RecordSide(layout, inside, step) for layout, step in zip((change.before, change.after), steps, strict=True)
    )
    begins, found = changed_lines(change, (before, after), where, HOT, width)
    return "\n".join((begins, *(f"{when}: {what}" for when, what in found)))


def test_lines_and_offsets_count_from_the_object_around_the_record() -> None:
    assert (
        rows(GOES, inside=128)
        == """
line 2 before: 128 root R 60%, 136 leftmost R 40%, 144 guard* W and 1 cold
after: 128 root R 60%, 136 leftmost R 40% and 1 cold
line 3 before: 1 cold
after: 200 guard* W and 1 cold"""
    )


def test_an_object_that_the_change_aligns_begins_elsewhere_afterwards() -> None:
    begins, *_ = rows(GOES, steps=(8, 64), phase=16).splitlines()
    where = "of an object that begins at byte 16 of a line, as on the hottest line"
    assert begins == f"{where}, and at byte 0 after the change"
    assert rows(GOES, steps=(8, 8), phase=16).splitlines()[0] == where


def test_a_member_on_two_lines_is_counted_on_the_first() -> None:
    assert rows(GOES, steps=(4, 4), phase=60).splitlines()[1:] == [
        "line 1 before: rest of root, 8 leftmost R 40%, 16 guard* W and 1 cold",
        "after: rest of root, 8 leftmost R 40% and 1 cold",
        "line 2 before: 1 cold",
        "after: 72 guard* W and 1 cold",
    ]


def test_where_there_is_little_room_the_hot_members_stay() -> None:
    assert rows(GOES, width=20).splitlines()[1] == "line 0 before: 0 root R 60%, 8 leftmost R 40% and 1 more, 1 cold"


def test_a_store_that_misses_is_no_read() -> None:
    waits = JudgedPair("guard", "guard", True, 9.0, 3.0)
    change = replace(GOES, judgement=replace(GOES.judgement, pairs=(waits, replace(waits, victim="rest"))))
    assert "16 guard* W, 24 rest R" in rows(change)
