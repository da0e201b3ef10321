# SPDX-License-Identifier: GPL-2.0-or-later
"""``intent-stale``: members that linesmith.toml names and the build does not have."""

from __future__ import annotations

from pathlib import Path

from rule_builds import subject
from rule_cases import broken

from linesmith.analyzer.model import Isolation, MemberGroup, Severity, TypeIntent, Violation

WANTED = TypeIntent(
    "subject",
    "look-ups",
    groups=(MemberGroup("keys", ("first", "second")),),
    isolations=(Isolation(("lock.word",), ("second",)),),
    place="linesmith.toml:4",
)
NOW = "u64 first; u64 second; struct spinlock lock;"


def stale(folder: Path, old: str | None, new: str) -> list[Violation]:
    return broken("intent-stale", subject(folder, old, new, (WANTED,)))


def test_what_is_there_is_not_told(tmp_path: Path) -> None:
    assert stale(tmp_path, None, NOW) == []


def test_a_member_that_was_renamed_is_told_once_at_the_entry(tmp_path: Path) -> None:
    (one,) = stale(tmp_path, NOW, NOW.replace("second", "seconds"))

    assert one.message == "is not there; did you mean seconds?"
    assert (one.file, one.line, one.member, one.severity) == ("linesmith.toml", 4, "second", Severity.WARNING)


def test_a_part_of_a_member_is_looked_for_in_its_record(tmp_path: Path) -> None:
    (one,) = stale(tmp_path, None, NOW.replace("struct spinlock lock", "struct rw_semaphore lock"))

    assert one.member == "lock.word"


def test_what_the_base_lacks_as_well_is_a_note(tmp_path: Path) -> None:
    (one,) = stale(tmp_path, "u64 first; struct spinlock lock;", "struct spinlock lock; u64 first;")

    assert (one.message, one.severity) == ("is not there, as before", Severity.NOTE)
