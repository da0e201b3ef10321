# SPDX-License-Identifier: GPL-2.0-or-later
"""Members whose lines are no place for others, and which of them are on a member's line."""

from __future__ import annotations

from hand_made import held, lock, scalar, struct, table

from linesmith.analyzer.model import Isolation, TypeIntent
from linesmith.analyzer.rules.guarded import company, guarded

MUTEX, MUTEX_RECORD = lock("mutex", 32, "mutex")
PART = struct("part", scalar("inner"))
RECORD = struct(
    "any",
    scalar("first"),
    MUTEX,
    scalar("empty", 0, align=64),
    scalar("apart", align=64),
    held("part", PART),
    scalar("far", align=64),
)
LAYOUTS = table(RECORD, MUTEX_RECORD, PART)


def test_locks_and_members_aligned_to_a_line_are_guarded() -> None:
    assert guarded(RECORD, LAYOUTS, ()) == {"mutex", "apart", "far"}


def test_so_is_what_an_intent_knows_to_be_written_or_keeps_apart() -> None:
    wanted = TypeIntent("any", "measured", isolations=(Isolation(("part.inner",)),), write_hot=("first",))
    assert guarded(RECORD, LAYOUTS, (wanted,)) == {"mutex", "apart", "far", "part", "first"}


def test_the_guards_on_the_line_of_a_member_are_its_company() -> None:
    guards = frozenset(("mutex", "apart", "far"))
    assert company("first", guards, RECORD, LAYOUTS) == {"mutex"}
    assert company("part", guards, RECORD, LAYOUTS) == {"apart"}
    assert company("mutex", guards, RECORD, LAYOUTS) == frozenset()


def test_what_the_record_has_not_is_nobodys_company() -> None:
    assert company("first", frozenset(("gone",)), RECORD, LAYOUTS) == frozenset()
    assert company("gone", frozenset(("mutex",)), RECORD, LAYOUTS) == frozenset()
