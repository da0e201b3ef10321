# SPDX-License-Identifier: GPL-2.0-or-later
"""``isolation-broken``: who is on the line of an isolated member in records that hold its record by value."""

from __future__ import annotations

from pathlib import Path

from hand_made import held, scalar, struct
from hypothesis import given
from hypothesis import strategies as st
from rule_builds import subject
from rule_cases import alone, before_and_now, broken

from linesmith.analyzer.geometry import Span, meet, phases
from linesmith.analyzer.model import Isolation, Severity, TypeIntent, Violation

ALONE = (TypeIntent("subject", "measured", isolations=(Isolation(("hot",)),)),)
PADDED = "u64 hot; u64 pad[7];"


def held_in(folder: Path, around: str, intents: tuple[TypeIntent, ...] = ALONE) -> list[Violation]:
    """What is told of a record whose only member is isolated, and of the record that holds it."""
    return broken("isolation-broken", subject(folder, None, "u64 hot;", intents, around=around))


def test_a_neighbour_in_a_record_that_holds_it_is_told_there(tmp_path: Path) -> None:
    (one,) = held_in(tmp_path, "struct holder { u64 near;\nstruct subject first; } __cacheline_aligned any;")
    assert (one.type, one.member, one.subject) == ("struct holder", "first.hot", "near")
    assert one.message == "shares a line with near; struct subject wants it isolated wherever it is held"
    assert one.severity is Severity.WARNING


def test_the_line_is_that_of_the_member_that_holds_it(tmp_path: Path) -> None:
    made = subject(tmp_path, None, "u64 hot;", ALONE, around="struct holder { u64 near;\nstruct subject first; } any;")
    (holder,) = made.head.layouts.variants("holder")
    assert [one.line for one in broken("isolation-broken", made)] == [holder.members[1].line]


def test_a_line_of_its_own_in_the_holder_is_enough(tmp_path: Path) -> None:
    alone_in = "u64 near; struct subject first __cacheline_aligned; u64 far __cacheline_aligned;"
    assert held_in(tmp_path, f"struct holder {{ {alone_in} }} any;") == []


def test_an_isolation_from_some_members_is_about_these(tmp_path: Path) -> None:
    some = (TypeIntent("subject", "measured", isolations=(Isolation(("hot",), ("cold",)),)),)
    assert held_in(tmp_path, "struct holder { u64 near; struct subject first; } any;", some) == []


def test_elements_of_an_array_meet_one_another(tmp_path: Path) -> None:
    """As counters of which each CPU writes its own."""
    (one,) = held_in(tmp_path, "struct holder { struct subject each[4]; u64 last[8] __cacheline_aligned; } any;")
    assert (one.member, one.subject) == ("each[].hot", "another element of each")


def test_elements_that_fill_their_lines_do_not_meet(tmp_path: Path) -> None:
    around = "struct holder { struct subject each[4]; u64 last; } __cacheline_aligned any;"
    made = subject(tmp_path, None, f"{PADDED} ", ALONE, around=around)
    assert [one.type for one in broken("isolation-broken", made)] == ["struct subject"]


def test_an_array_at_the_end_of_open_length_counts(tmp_path: Path) -> None:
    (one,) = held_in(tmp_path, "struct holder { u64 count[8]; struct subject each[]; } __cacheline_aligned *any;")
    assert one.subject == "another element of each"


def test_what_a_holder_of_the_holder_adds_is_told_there(tmp_path: Path) -> None:
    inner = "struct inner { struct subject first; u64 near; };"
    found = held_in(tmp_path, f"{inner} struct outer {{ u64 other; struct inner in; }} __cacheline_aligned any;")
    assert [(one.type, one.member, one.subject) for one in found] == [
        ("struct inner", "first.hot", "near"),
        ("struct outer", "in.first.hot", "other"),
    ]


def test_a_part_that_has_no_type_of_its_own_is_of_its_holder(tmp_path: Path) -> None:
    part = "struct { u64 near; struct subject first; } part;"
    (one,) = held_in(tmp_path, f"struct holder {{ u64 other; {part} }} __cacheline_aligned any;")
    assert (one.member, one.subject) == ("part.first.hot", "other, part.near")


def test_another_arm_of_a_union_is_no_company(tmp_path: Path) -> None:
    assert (
        held_in(tmp_path, "struct holder { union { struct subject one; u64 word; }; } __cacheline_aligned any;") == []
    )


def test_what_the_base_had_is_not_told_between_two_builds() -> None:
    record = struct("subject", scalar("hot"))
    near, far = scalar("near"), scalar("far")
    old = struct("holder", held("first", record), near, align=64)
    new = struct("holder", held("first", record), near, far, align=64)
    fresh = struct("fresh", far, held("first", record), align=64)
    (one,) = broken("isolation-broken", before_and_now((record, old), (record, new, fresh), "asked", ALONE))
    assert one.type == "struct fresh"


def test_more_objects_than_before_are_told() -> None:
    record = struct("subject", scalar("hot"))
    old = struct("holder", held("first", record), scalar("near", align=32))
    new = struct("holder", held("first", record), scalar("near"))
    (one,) = broken("isolation-broken", before_and_now((record, old), (record, new), "asked", ALONE))
    assert one.message.startswith("can share a line with near in 7 of 8 phases")


def test_of_many_holders_the_others_are_counted() -> None:
    record = struct("subject", scalar("hot"))
    many = [struct(f"holder{number}", held("first", record), scalar("near")) for number in range(40)]
    *each, last = broken("isolation-broken", alone(record, *many, tuned="asked", intents=ALONE))
    assert len({one.type for one in each}) == 32
    assert (last.type, last.message) == (
        "struct subject",
        "is not alone in 8 more places where other records hold it",
    )


def test_as_many_holders_as_are_told_leave_none_to_count() -> None:
    record = struct("subject", scalar("hot"))
    many = [struct(f"holder{number}", held("first", record), scalar("near")) for number in range(32)]
    found = broken("isolation-broken", alone(record, *many, tuned="asked", intents=ALONE))
    assert sorted(one.type for one in found) == sorted(one.title for one in many)


@given(st.integers(0, 20), st.sampled_from((64, 128)))
def test_a_neighbour_is_told_for_exactly_the_gaps_that_allow_it(words: int, size: int) -> None:
    record = struct("subject", scalar("hot"))
    gap, near = scalar("gap", 8 * words, dimensions=(words,)), scalar("near")
    holder = (
        struct("holder", held("first", record), gap, near) if words else struct("holder", held("first", record), near)
    )
    wanted = (TypeIntent("subject", "measured", isolations=(Isolation(("hot",), bytes=size),)),)
    (one,) = broken("isolation-broken", alone(record, holder, tuned="asked", intents=wanted))
    span = Span(8 * (words + 1), 8)
    assert ("near" in one.subject.split(", ")) == any(meet(Span(0, 8), span, size, phase) for phase in phases(8, size))
