# SPDX-License-Identifier: GPL-2.0-or-later
"""``write-near-read-mostly``: what is written often on the line of what is only read, by an intent or by code."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_builds import subject
from rule_cases import broken

from linesmith.analyzer.model import Isolation, Severity, TypeIntent, Violation

FRONT = "u64 front[8] __cacheline_aligned;"
KNOWN = TypeIntent("subject", "a profile saw it", read_mostly=("ops", "flags"), write_hot=("count",))
READERS, UPDATERS = 10, 3


def touching(read: str, updated: str, readers: int = READERS, updaters: int = UPDATERS) -> str:
    """Functions of which each does one of both."""
    reads = [f"u64 read{number}(struct subject *s) {{ return s->{read}; }}" for number in range(readers)]
    updates = [
        f"void count{number}(struct subject *s) {{ __atomic_fetch_add(&s->{updated}, 1, 5); }}"
        for number in range(updaters)
    ]
    return " ".join((*reads, *updates))


def near(folder: Path, old: str | None, new: str, *intents: TypeIntent, around: str = "") -> list[Violation]:
    return broken("write-near-read-mostly", subject(folder, old, new, intents, around=around))


def test_a_written_member_on_the_line_of_read_ones(tmp_path: Path) -> None:
    (one,) = near(tmp_path, None, f"{FRONT} u64 ops, flags, count;", KNOWN)
    assert one.message == "is written often and shares a line with ops and flags, read mostly"
    assert (one.member, one.subject, one.severity) == ("count", "ops, flags", Severity.WARNING)


def test_only_those_that_can_meet_are_named(tmp_path: Path) -> None:
    (one,) = near(tmp_path, None, "u64 ops, x[5], flags, y[2], count;", KNOWN)
    assert one.message == "is written often and can share a line with flags, read mostly in 5 of 8 phases"


def test_what_an_isolation_asks_for_is_told_by_its_rule(tmp_path: Path) -> None:
    apart = TypeIntent("subject", "measured", isolations=(Isolation(("count",), ("ops",)),))
    (one,) = near(tmp_path, None, f"{FRONT} u64 ops, flags, count;", KNOWN, apart)
    assert one.message == "is written often and shares a line with flags, read mostly"


def test_lines_of_their_own(tmp_path: Path) -> None:
    assert near(tmp_path, None, f"{FRONT} u64 ops, flags, x[6], count;", KNOWN) == []


def test_what_was_so_before_is_a_note(tmp_path: Path) -> None:
    (one,) = near(tmp_path, f"{FRONT} u64 ops, flags, count;", f"{FRONT} u64 ops, flags, x, count;", KNOWN)
    assert one.severity is Severity.NOTE
    assert one.message.endswith(", as before")


def test_code_tells_where_nothing_else_does(tmp_path: Path) -> None:
    code = touching("ops", "count")
    (one,) = near(tmp_path, f"{FRONT} u64 ops, x[7], count;", f"{FRONT} u64 ops, count, x[7];", around=code)
    assert one.message == (
        "is updated atomically by count0, count1 and count2 and now shares a line with ops, "
        "which 10 functions read and none writes once set up"
    )
    assert (one.member, one.subject, one.severity) == ("count", "ops", Severity.NOTE)


@pytest.mark.parametrize(("words", "told"), [(3, True), (4, False)])
def test_code_tells_of_what_meets_in_half_of_the_objects(tmp_path: Path, words: int, told: bool) -> None:
    old, new = "u64 ops, x[16], count;", f"u64 ops, x[{words}], count;"
    assert bool(near(tmp_path, old, new, around=touching("ops", "count"))) == told


def test_neighbours_of_old_are_not_told_by_code(tmp_path: Path) -> None:
    code = touching("ops", "count")
    assert near(tmp_path, f"{FRONT} u64 ops, count;", f"{FRONT} u64 x, ops, count;", around=code) == []


def test_a_member_that_code_writes_plainly_is_not_taken_for_hot(tmp_path: Path) -> None:
    code = touching("ops", "count").replace("__atomic_fetch_add(&s->count, 1, 5)", "s->count = 1")
    assert near(tmp_path, f"{FRONT} u64 ops, x[7], count;", f"{FRONT} u64 ops, count, x[7];", around=code) == []


def test_a_member_that_few_functions_read_is_not_told(tmp_path: Path) -> None:
    code = touching("ops", "count", readers=READERS - 1)
    assert near(tmp_path, f"{FRONT} u64 ops, x[7], count;", f"{FRONT} u64 ops, count, x[7];", around=code) == []


def test_a_lock_is_written_whoever_takes_it(tmp_path: Path) -> None:
    code = touching("ops", "other", updaters=0)
    old, new = f"{FRONT} u64 ops, x[7]; struct spinlock lock;", f"{FRONT} u64 ops; struct spinlock lock; u64 x[7];"
    (one,) = near(tmp_path, old, new, around=code)
    shared = "is a lock and now shares a line with ops"
    assert one.message == f"{shared}, which 10 functions read and none writes once set up"


def test_functions_that_set_a_member_up_do_not_count_as_writing_it(tmp_path: Path) -> None:
    code = touching("ops", "count") + " void subject_init(struct subject *s) { s->ops = 1; }"
    (one,) = near(tmp_path, f"{FRONT} u64 ops, x[7], count;", f"{FRONT} u64 ops, count, x[7];", around=code)
    assert one.message.endswith("which 10 functions read and none writes once set up")


def test_one_in_ten_functions_may_write_what_is_read(tmp_path: Path) -> None:
    old, new = f"{FRONT} u64 ops, x[7], count;", f"{FRONT} u64 ops, count, x[7];"
    change = "void change{}(struct subject *s) {{ s->ops = 1; }}"
    code = touching("ops", "count") + change.format(0)
    (one,) = near(tmp_path, old, new, around=code)
    assert one.message.endswith("which 10 functions read and one writes once set up")
    assert near(tmp_path, old, new, around=code + change.format(1)) == []


def test_alternatives_of_a_union_are_left_out(tmp_path: Path) -> None:
    code = touching("ops", "count")
    old, new = "u64 ops, x[7]; union { u64 count, other; };", "u64 ops; union { u64 count, other; }; u64 x[7];"
    assert near(tmp_path, f"{FRONT} {old}", f"{FRONT} {new}", around=code) == []


def test_intents_speak_louder_than_code(tmp_path: Path) -> None:
    other = TypeIntent("subject", "a profile saw it", read_mostly=("x",), write_hot=("front",))
    old, new = f"{FRONT} u64 ops, x[7], count;", f"{FRONT} u64 ops, count, x[7];"
    assert near(tmp_path, old, new, other, around=touching("ops", "count")) == []


def test_a_name_that_only_begins_like_setting_up_writes_it(tmp_path: Path) -> None:
    """``freeze`` is no ``free``, ``address`` no ``add``, ``newest`` no ``new``."""
    names = ("freeze", "subject_address", "newest")
    writing = " ".join(f"void {name}(struct subject *s) {{ s->ops = 1; }}" for name in names)
    code = touching("ops", "count") + writing
    assert near(tmp_path, f"{FRONT} u64 ops, x[7], count;", f"{FRONT} u64 ops, count, x[7];", around=code) == []
