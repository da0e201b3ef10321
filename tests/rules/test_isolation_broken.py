# SPDX-License-Identifier: GPL-2.0-or-later
"""``isolation-broken``: members on a line, or a pair of lines, with what they must be kept from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_made import scalar, struct
from hypothesis import given
from hypothesis import strategies as st
from rule_builds import subject
from rule_cases import alone, broken

from linesmith.analyzer.geometry import Span, meet, phases
from linesmith.analyzer.model import Isolation, Severity, SizeBudget, TypeIntent, Violation

ALIGNED = "u64 front[8] __cacheline_aligned;"
ALONE = "u64 hot __cacheline_aligned; u64 after[8] __cacheline_aligned;"


def apart(*members: str, other: tuple[str, ...] = (), size: int = 64, share: float = 0.0) -> TypeIntent:
    return TypeIntent("subject", "measured", isolations=(Isolation(members, other, size, share),))


def met(folder: Path, old: str | None, new: str, *intents: TypeIntent, record: str = "subject") -> list[Violation]:
    return broken("isolation-broken", subject(folder, old, new, intents, record))


def test_two_members_on_one_line(tmp_path: Path) -> None:
    (one,) = met(tmp_path, None, f"{ALIGNED} u64 hot, x, y, cold;", apart("hot", other=("cold",)))
    assert one.message == "shares a line with cold"
    assert (one.member, one.subject, one.severity) == ("hot", "cold", Severity.WARNING)


def test_two_members_on_two_lines(tmp_path: Path) -> None:
    assert met(tmp_path, None, f"{ALIGNED} u64 hot, x[7], cold;", apart("hot", other=("cold",))) == []


def test_a_pair_of_lines_is_asked_for_with_its_size(tmp_path: Path) -> None:
    aligned = "u64 front[16] __attribute__((aligned(128)));"
    (one,) = met(tmp_path, None, f"{aligned} u64 hot, x[7], cold;", apart("hot", other=("cold",), size=128))
    assert one.message == "shares a block of 128 bytes with cold"


def test_what_breaks_line_and_pair_is_told_once(tmp_path: Path) -> None:
    pair = Isolation(("hot",), ("cold",), 128), Isolation(("hot",), ("cold",), 64)
    (one,) = met(tmp_path, None, f"{ALIGNED} u64 hot, cold;", TypeIntent("subject", "measured", isolations=pair))
    assert one.message == "shares a line with cold"


def test_a_pair_of_which_both_are_wanted_alone_is_told_once(tmp_path: Path) -> None:
    wanted = apart("hot"), apart("cold")
    (one,) = met(tmp_path, None, f"{ALIGNED} u64 hot, cold;", *wanted)
    assert (one.member, one.message) == ("hot", "shares a line with cold")


def test_who_meets_one_more_than_was_told_is_told(tmp_path: Path) -> None:
    found = met(tmp_path, None, f"{ALIGNED} u64 hot, cold, late;", apart("hot", other=("cold",)), apart("cold"))
    assert [one.message for one in found] == ["shares a line with cold", "shares a line with hot and late"]


def test_objects_that_begin_anywhere_are_judged_in_every_phase(tmp_path: Path) -> None:
    (one,) = met(tmp_path, None, "u64 hot, x[5], cold;", apart("hot", other=("cold",)))
    assert one.message == "can share a line with cold in 2 of 8 phases"


def test_the_phases_are_those_of_the_slab(tmp_path: Path) -> None:
    """Objects of a size of 192 bytes begin on lines only, those of 200 bytes also between."""
    wanted = apart("hot", other=("cold",))
    assert met(tmp_path, None, "u64 hot, x[7], cold, y[15];", wanted, record="dentry") == []
    (one,) = met(tmp_path, None, "u64 hot, x[6], cold, y[17];", wanted, record="dentry")
    assert one.message == "can share a line with cold in 1 of 8 phases of dentry"


def test_a_share_of_objects_may_be_allowed(tmp_path: Path) -> None:
    assert met(tmp_path, None, "u64 hot, x[5], cold;", apart("hot", other=("cold",), share=0.25)) == []


def test_without_others_every_member_is_one_too_many(tmp_path: Path) -> None:
    (one,) = met(tmp_path, None, f"{ALIGNED} u64 hot; u32 a, b; u64 c, d, e;", apart("hot"))
    assert one.message == "shares a line with a, b, c and 2 more"
    assert one.subject == "a, b, c, d, e"


def test_what_the_build_has_not_is_not_met(tmp_path: Path) -> None:
    assert met(tmp_path, None, f"{ALIGNED} u64 hot, near;", apart("hot", other=("gone",))) == []


def test_isolated_members_may_be_together(tmp_path: Path) -> None:
    assert met(tmp_path, None, f"{ALIGNED} u64 hot, warm; u64 z[8] __cacheline_aligned;", apart("hot", "warm")) == []


def test_the_record_around_an_isolated_member_is_looked_into(tmp_path: Path) -> None:
    (one,) = met(tmp_path, None, "struct { u64 hot, near; } in __cacheline_aligned;", apart("in.hot"))
    assert (one.member, one.subject) == ("in.hot", "in.near")


def test_another_name_for_the_same_bytes_is_no_company(tmp_path: Path) -> None:
    assert met(tmp_path, None, "union { u64 hot; u32 low; } __cacheline_aligned;", apart("hot")) == []


def test_what_was_so_before_is_a_note(tmp_path: Path) -> None:
    wanted = apart("hot", other=("cold",))
    (one,) = met(tmp_path, f"{ALIGNED} u64 hot, cold;", f"{ALIGNED} u64 hot, new, cold;", wanted)
    assert (one.message, one.severity) == ("shares a line with cold, as before", Severity.NOTE)


def test_what_became_more_likely_is_a_warning(tmp_path: Path) -> None:
    (one,) = met(tmp_path, "u64 hot, x[6], cold;", "u64 hot, x[5], cold;", apart("hot", other=("cold",)))
    moved = "cold went from byte 56 (line 0) to byte 48 (line 0)"
    assert one.message == f"can share a line with cold in 2 of 8 phases; {moved}"
    assert one.severity == Severity.WARNING


def test_a_member_that_had_a_line_to_itself_has_company(tmp_path: Path) -> None:
    (one,) = met(tmp_path, ALONE, f"u64 hot __cacheline_aligned; u32 added; {ALONE.partition(';')[2]}")
    assert one.message == "shares a line with added; before it had a line to itself"
    assert one.member == "hot"


def test_an_intent_for_something_else_leaves_that_in_force(tmp_path: Path) -> None:
    budget = TypeIntent("subject", "small", budget=SizeBudget(bytes=4096))
    assert len(met(tmp_path, ALONE, f"u64 hot __cacheline_aligned; u32 added; {ALONE.partition(';')[2]}", budget)) == 1


def test_a_member_that_an_intent_isolates_is_told_once(tmp_path: Path) -> None:
    new = f"u64 hot __cacheline_aligned; u32 added; {ALONE.partition(';')[2]}"
    (one,) = met(tmp_path, ALONE, new, apart("hot"))
    assert one.message == "shares a line with added; added is new"


def test_an_aligned_record_without_a_name_gave_its_member_a_line(tmp_path: Path) -> None:
    """As mm_count of mm_struct has it: the alignment is that of the record around it."""
    alone_in = "struct { u32 hot; } __cacheline_aligned; u64 after;"
    (one,) = met(tmp_path, alone_in, "u32 hot; u64 after; u64 rest[16] __cacheline_aligned;")
    assert one.message == "shares a line with after; before it had a line to itself"


def test_a_member_moved_through_a_wall(tmp_path: Path) -> None:
    old = "u64 numa_node, x; u64 lock __cacheline_aligned; u64 owner;"
    (one,) = met(tmp_path, old, "u64 x; u64 lock __cacheline_aligned; u64 owner; u64 numa_node;")
    assert one.message == "shares a line with numa_node, from which alignment parted it before"
    assert one.member == "lock"


@pytest.mark.parametrize(("size", "members"), [(64, ["hot"]), (128, ["hot", "near"])])
def test_whom_an_intent_keeps_off_a_line_is_not_told_again_for_a_wall_that_fell(
    tmp_path: Path, size: int, members: list[str]
) -> None:
    """As struct page_counter without its paddings; off a pair of lines is less than what parted the two."""
    old = f"{ALIGNED} u64 hot; CACHELINE_PADDING(_pad1_); u64 near;"
    found = met(tmp_path, old, f"{ALIGNED} u64 hot; u64 near;", apart("hot", other=("near",), size=size))
    assert [one.member for one in found] == members


def test_a_padding_that_is_gone_parted_its_neighbours(tmp_path: Path) -> None:
    old = "u64 reads, x; CACHELINE_PADDING(_pad1_); u64 writes; u64 tail[8] __cacheline_aligned;"
    (one,) = met(tmp_path, old, "u64 reads, x; u64 writes; u64 tail[8] __cacheline_aligned;")
    assert (one.member, one.subject) == ("writes", "reads, x")


def test_an_alignment_that_is_gone_is_told_by_another_rule(tmp_path: Path) -> None:
    assert met(tmp_path, f"u64 x; {ALONE}", "u64 x; u64 hot; u64 after[8] __cacheline_aligned;") == []


def test_a_line_that_is_full_gets_no_company(tmp_path: Path) -> None:
    old, new = "u64 full[8] __cacheline_aligned; u64 z;", "u64 full[8] __cacheline_aligned; u64 y, z;"
    assert met(tmp_path, old, new) == []


def test_the_head_of_aligned_data_has_no_line_to_itself(tmp_path: Path) -> None:
    """As struct devres has it on arm64, for devices that write what is behind it."""
    data = "unsigned char data[] __attribute__((aligned(128)));"
    assert met(tmp_path, f"u64 node; {data}", f"u64 node, release; {data}") == []


@pytest.mark.parametrize("old", ["u64 hot, x;", f"{ALIGNED} u64 hot, x;"])
def test_what_nothing_parted_may_meet(old: str, tmp_path: Path) -> None:
    assert met(tmp_path, old, f"{old} u64 added;") == []


@given(st.integers(0, 20), st.sampled_from((64, 128)))
def test_a_meeting_is_told_for_exactly_the_gaps_that_allow_it(words: int, size: int) -> None:
    layout = struct("subject", scalar("hot"), scalar("gap", 8 * words, dimensions=(words,)), scalar("cold"))
    found = broken(
        "isolation-broken", alone(layout, tuned="asked", intents=(apart("hot", other=("cold",), size=size),))
    )
    cold = Span(8 * (words + 1), 8)
    assert bool(found) == any(meet(Span(0, 8), cold, size, phase) for phase in phases(8, size))


QUEUE = "u64 head, seen; char pad[48]; u64 tail, left;"


@pytest.mark.parametrize("now", ["char pad[40];", "", "char pad[32];"])
def test_members_that_a_padding_parted_are_told(tmp_path: Path, now: str) -> None:
    (one,) = met(tmp_path, QUEUE, QUEUE.replace("char pad[48];", now))
    assert one.member == "tail"
    assert one.message.endswith(" phases, from which pad parted it before") or one.message.startswith(
        "shares a line with"
    )
    assert one.subject.startswith("head")


@pytest.mark.parametrize("name", ["scratch_pad", "one_time_pad", "touch_pad", "padlock"])
def test_a_pad_that_holds_data_parts_nothing(tmp_path: Path, name: str) -> None:
    assert met(tmp_path, QUEUE.replace("pad", name), QUEUE.replace("char pad[48];", f"char {name}[40];")) == []


@pytest.mark.parametrize("now", ["char more[48];", "u64 late[6];", "char pad[112];", "char pad[44]; int late;"])
def test_members_that_something_else_parts_now_are_not_told(tmp_path: Path, now: str) -> None:
    assert met(tmp_path, QUEUE, QUEUE.replace("char pad[48];", now)) == []
