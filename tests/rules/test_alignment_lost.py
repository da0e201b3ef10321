# SPDX-License-Identifier: GPL-2.0-or-later
"""``alignment-lost``: a record or member is no longer aligned as it was asked to be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rule_builds import subject
from rule_cases import broken, figure

from linesmith.analyzer.model import Violation

LINE = "__attribute__((aligned(64)))"


def lost(folder: Path, old: str, new: str, around: str = "") -> list[Violation]:
    return broken("alignment-lost", subject(folder, old, new, around=around))


def test_a_member_that_asked_for_a_line_and_does_no_more(tmp_path: Path) -> None:
    (one,) = lost(tmp_path, f"u64 a; u64 b {LINE};", "u64 a; u64 b;")
    assert (one.member, one.message) == ("b", "was aligned to 64 bytes and is not any more")


def test_it_is_told_at_the_line_of_the_member(tmp_path: Path) -> None:
    """There the change is; what stands at other lines a review folds away."""
    change = subject(tmp_path, f"u64 a; u64 b {LINE};", "u64 a;\n\nu64 b;")
    (one,) = broken("alignment-lost", change)
    assert change.new.line is not None
    assert one.line == change.new.line + 2


def test_less_than_a_line_is_less(tmp_path: Path) -> None:
    (one,) = lost(tmp_path, f"u64 a; u64 b {LINE};", "u64 a; u64 b __attribute__((aligned(16)));")
    assert one.message == "was aligned to 64 bytes and is aligned to 16"


def test_more_than_before_is_not_lost(tmp_path: Path) -> None:
    assert lost(tmp_path, f"u64 a; u64 b {LINE};", "u64 a; u64 b __attribute__((aligned(128)));") == []


def test_a_member_that_is_gone_lost_nothing(tmp_path: Path) -> None:
    assert lost(tmp_path, f"u64 a; u64 b {LINE};", "u64 a;") == []


def test_a_part_without_a_name_is_called_by_its_first_member(tmp_path: Path) -> None:
    (one,) = lost(tmp_path, f"u64 a; struct {{ u64 b, c; }} {LINE};", "u64 a; struct { u64 b, c; };")
    assert one.message == "the part without a name that begins with b was aligned to 64 bytes and is not any more"


def test_the_first_member_of_a_record_that_took_the_attribute_over_kept_it(tmp_path: Path) -> None:
    new = f"u64 a, b; }} {LINE}; struct rest {{ u64 c;"
    assert lost(tmp_path, f"u64 a {LINE}; u64 b;", new, "struct subject one;") == []


def test_parts_in_parts_are_looked_into(tmp_path: Path) -> None:
    """As struct mm_struct has it."""
    old = f"struct {{ struct {{ u64 count; }} {LINE}; u64 z; }}; u64 last;"
    (one,) = lost(tmp_path, old, "struct { struct { u64 count; }; u64 z; }; u64 last;")
    assert one.subject == "count"


def test_a_part_whose_members_stay_aligned_by_themselves_kept_it(tmp_path: Path) -> None:
    assert lost(tmp_path, f"u64 a; struct {{ u64 b, c; }} {LINE};", f"u64 a; u64 b {LINE}; u64 c;") == []


def test_a_part_that_begins_with_another_member_now_kept_it(tmp_path: Path) -> None:
    assert lost(tmp_path, f"struct {{ u64 b, c; }} {LINE}; u64 a;", f"struct {{ u64 c, b; }} {LINE}; u64 a;") == []


TYPED = "struct inner { u64 x; }"


def test_a_type_that_lost_it_is_told_at_a_tuned_record_that_holds_it(tmp_path: Path) -> None:
    (one,) = lost(tmp_path, f"u64 a; {TYPED} {LINE} held;", f"u64 a; {TYPED} held;")
    assert (one.member, one.subject) == ("held", "struct inner")
    assert one.message == "was aligned to 64 bytes because struct inner was, and is not any more"


def test_records_that_nobody_tuned_leave_it_to_the_type(tmp_path: Path) -> None:
    made = subject(tmp_path, f"u64 a; {TYPED} {LINE} held;", f"u64 a; {TYPED} held;")
    assert broken("alignment-lost", replace(made, tuned="")) == []


def test_all_members_of_the_type_are_told_at_once(tmp_path: Path) -> None:
    (one,) = lost(tmp_path, f"{TYPED} {LINE} a; struct inner b, c[2];", f"{TYPED} a; struct inner b, c[2];")
    assert one.message == "a, b and c were aligned to 64 bytes because struct inner was, and are not any more"
    assert (one.member, one.subject) == ("", "struct inner")


def test_the_member_that_asked_is_found_in_what_is_held(tmp_path: Path) -> None:
    held = "struct { int n; struct deep { u64 x; u64 word %s; } deep; } held;"
    (one,) = lost(tmp_path, f"u64 a; {held % LINE}", f"u64 a; {held % ''}")
    assert one.message == "was aligned to 64 bytes because word of struct deep was, and is not any more"


def test_a_member_that_asks_for_what_its_type_gave_up_kept_it(tmp_path: Path) -> None:
    assert lost(tmp_path, f"u64 a; {TYPED} {LINE} held;", f"u64 a; {TYPED} held {LINE};") == []


def test_a_first_member_keeps_what_its_record_asks_for(tmp_path: Path) -> None:
    new = f"{TYPED} held; u64 a; }} {LINE}; struct rest {{ u64 c;"
    assert lost(tmp_path, f"{TYPED} {LINE} held; u64 a;", new, "struct subject one;") == []


def test_of_members_that_lost_the_alignment_of_their_type_the_most_that_one_has_left_is_the_figure(
    tmp_path: Path,
) -> None:
    old = f"struct held {{ u64 word; }} {LINE} one; struct held two;"
    new = "u64 first; struct held { u64 word; } one; struct held two __attribute__((aligned(16)));"
    (violation,) = lost(tmp_path, old, new)
    assert violation.message == "one and two were aligned to 64 bytes because struct held was, and are not any more"
    assert figure(violation, "alignment") == (64, 16)
