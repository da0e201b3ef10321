# SPDX-License-Identifier: GPL-2.0-or-later
"""``avoidable-hole``: new holes that one move closes, and those that are none of a change's fault."""

from __future__ import annotations

from dataclasses import replace

from hand_made import held, lock, scalar, struct
from rule_cases import before_and_now, broken, figure

from linesmith.analyzer.model import (
    FactKind,
    Isolation,
    Layout,
    Member,
    MemberGroup,
    Severity,
    SourceFact,
    TypeIntent,
    Violation,
)

NAMED = "named by --type"
STATE, LINKS = scalar("state", 4), scalar("links")
FLAGS, MASK, SEQ = scalar("flags", 4), scalar("mask", 4), scalar("seq")
OLD = struct("any", LINKS, STATE, MASK, SEQ)
WITH_FLAGS = struct("any", LINKS, STATE, MASK, SEQ, FLAGS)
HOLE = struct("any", LINKS, STATE, SEQ, FLAGS)


def made(old: Layout, new: Layout, intents: tuple[TypeIntent, ...] = (), tuned: str = NAMED) -> list[Violation]:
    return broken("avoidable-hole", before_and_now((old,), (new,), tuned, intents))


def intent(**said: object) -> tuple[TypeIntent, ...]:
    return (TypeIntent("any", "measured", **said),)  # type: ignore[arg-type]


def test_the_move_that_gives_the_bytes_back_is_named() -> None:
    (one,) = made(struct("any", LINKS, SEQ), struct("any", LINKS, STATE, SEQ, FLAGS))
    assert one.member == "flags"
    assert (
        one.message == "behind state would make it 24 bytes instead of 32; there is a new hole of 4 bytes behind state"
    )
    assert one.advice == "declare flags behind state, unless something relies on their order"
    assert one.severity is Severity.WARNING
    assert figure(one, "unused") == (0, 8)
    assert figure(one, "size after the move") == (None, 24)


def test_a_hole_that_no_move_closes_is_left() -> None:
    assert made(OLD, WITH_FLAGS) == []


def test_a_hole_that_was_avoidable_before_is_not_told_again() -> None:
    assert made(HOLE, struct("any", LINKS, STATE, SEQ, FLAGS, scalar("late"), scalar("byte", 1))) == []


def test_a_hole_that_only_moved_is_left() -> None:
    assert made(HOLE, struct("any", STATE, LINKS, SEQ, FLAGS)) == []


def test_a_member_at_the_end_that_has_room_in_an_old_hole_is_told() -> None:
    """The hole of 8 bytes behind ``links`` is as old as the record; the padding of 8 bytes is new."""
    pair = struct("pair", scalar("low", 16))
    wide = replace(held("wide", pair), natural_alignment=16)
    old, new = (
        struct("any", LINKS, wide, SEQ, MASK, STATE),
        struct("any", LINKS, wide, SEQ, MASK, STATE, scalar("late")),
    )
    (one,) = broken("avoidable-hole", before_and_now((old, pair), (new, pair), NAMED))
    assert (one.member, one.message) == (
        "late",
        "behind links would make it 48 bytes instead of 64; there is a padding of 8 bytes instead of 0",
    )


def test_a_record_that_nobody_tuned_is_left() -> None:
    assert made(struct("any", LINKS, SEQ), HOLE, tuned="") == []


def test_a_line_less_is_told() -> None:
    words = tuple(scalar(f"word{number}") for number in range(6))
    (one,) = made(struct("any", *words, SEQ), struct("any", *words, STATE, SEQ, FLAGS))
    assert "would make it 64 bytes instead of 72 and 1 of 2 cache lines" in one.message


def test_the_new_member_is_moved_rather_than_one_that_stood_there() -> None:
    late = scalar("late")
    (one,) = made(struct("any", LINKS, STATE, MASK, SEQ, late), struct("any", LINKS, STATE, SEQ, MASK, late, FLAGS))
    assert one.member == "flags"


def test_no_move_makes_another_member_lie_across_two_lines() -> None:
    """Without ``one`` before it, ``wide`` would begin at byte 56; two single words may."""
    wide = struct("wide", scalar("a"), scalar("b"))
    words = tuple(scalar(f"word{number}") for number in range(6))
    kept = intent(hot=("tail",))

    def grown(*behind: Member) -> list[Violation]:
        old, new = (
            struct("any", *words, *between, SEQ, *behind, scalar("tail", 4)) for between in ((LINKS,), (STATE,))
        )
        return broken("avoidable-hole", before_and_now((old, wide), (new, wide), NAMED, kept))

    assert [one.member for one in grown(scalar("a"), scalar("b"))] == ["state"]
    assert grown(held("wide", wide)) == []


def test_members_of_one_group_stay_behind_one_another() -> None:
    group = intent(groups=(MemberGroup("hot", ("state", "seq", "flags")),))
    assert made(struct("any", LINKS, SEQ), HOLE, group) == []


def test_members_that_an_intent_names_stay() -> None:
    for wanted in (
        intent(hot=("flags", "state", "seq")),
        intent(isolations=(Isolation(("state", "flags"), ("seq",)),)),
    ):
        assert made(struct("any", LINKS, SEQ), HOLE, wanted) == []


def test_a_member_is_not_moved_onto_the_line_of_a_lock() -> None:
    """The hole is behind the lock; it is filled only from the line that the lock is on."""
    guard, spinlock = lock("guard", 4, "spinlock")
    words = tuple(scalar(f"word{number}") for number in range(8))
    kept = intent(hot=tuple(one.name for one in words))

    def grown(*before_flags: Member) -> list[Violation]:
        old = struct("any", LINKS, guard, MASK, *before_flags)
        new = struct("any", LINKS, guard, *before_flags, FLAGS)
        return broken("avoidable-hole", before_and_now((old, spinlock), (new, spinlock), NAMED, kept))

    assert [one.member for one in grown(words[0])] == ["flags"]
    assert grown(*words) == []


def test_what_a_lock_protects_by_its_name_stays_beside_it() -> None:
    guard, spinlock = lock("seq_lock", 4, "spinlock")
    old, new = struct("any", LINKS, guard, MASK, SEQ), struct("any", LINKS, guard, SEQ, scalar("seq_flags", 4))
    assert broken("avoidable-hole", before_and_now((old, spinlock), (new, spinlock), NAMED)) == []


def within(*members: Member) -> tuple[Layout, ...]:
    """A record with these members in a part without a name, and one of its own."""
    part = struct("", *members)
    return struct("any", scalar("own"), held("", part)), part


def test_a_hole_in_a_part_without_a_name_is_closed_by_a_move_there() -> None:
    old, new = within(LINKS, SEQ), within(LINKS, STATE, SEQ, FLAGS)
    (one,) = broken("avoidable-hole", before_and_now(old, new, NAMED))
    told = "behind state would make it 32 bytes instead of 40; there is a new hole of 4 bytes behind state"
    assert (one.member, one.message) == ("flags", told)
    assert figure(one, "unused") == (0, 8)


def test_no_member_leaves_its_part() -> None:
    """``own`` and ``late`` would fill both holes, were they in one record."""
    part = struct("", SEQ, STATE)
    old, new = struct("any", LINKS, held("", part)), struct("any", LINKS, held("", part), FLAGS)
    assert broken("avoidable-hole", before_and_now((old, part), (new, part), NAMED)) == []


def test_the_first_line_of_an_aligned_part_is_not_entered() -> None:
    """Who asked for a line there cared for what is on it."""
    words = tuple(scalar(f"word{number}") for number in range(15))

    def grown(align: int | None) -> list[Violation]:
        parts = (struct("", FLAGS, *words, *late, align=align) for late in ((), (scalar("tail", 4),)))
        old, new = ((struct("any", held("", part), scalar("own")), part) for part in parts)
        return broken("avoidable-hole", before_and_now(old, new, NAMED))

    assert [one.member for one in grown(None)] == ["tail"]
    assert grown(64) == []


def test_what_is_relied_on_to_be_at_its_offset_is_not_shifted() -> None:
    late = scalar("late")
    old, new = struct("any", LINKS, SEQ, late), struct("any", LINKS, STATE, SEQ, FLAGS, late)
    made_of = before_and_now((old,), (new,), NAMED)
    assert [one.member for one in broken("avoidable-hole", made_of)] == ["flags"]
    facts = (SourceFact(FactKind.OFFSET, ("late",), "asserted"),)
    assert broken("avoidable-hole", replace(made_of, facts=facts)) == []


def test_members_that_damaged_debug_information_has_no_names_of() -> None:
    """They go by their numbers, which a move changes."""
    nameless = scalar("")
    (one,) = made(struct("any", LINKS, SEQ, nameless), struct("any", LINKS, STATE, SEQ, nameless, FLAGS))
    assert one.member == "flags"
