# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that got another name with a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith

LINE = "__attribute__((aligned(64)))"
HEAD = '[[type]]\nname = "s"\nreason = "measured"\n'
APART = f'{HEAD}[[type.isolate]]\nmembers = ["guard"]\nfrom = ["key"]\n'
WAY = "went from byte 64 (line 1) to byte 16 (line 0)"
PARTED = "struct s { long key; char pad[56]; long guard; } LINE s;"


def told(folder: Path, old: str, new: str, intent: str = "") -> tuple[int, str]:
    """Exit status and text of a lint of two builds."""
    (folder / "linesmith.toml").write_text(intent)
    base, head = (
        compiled(folder, text.replace("LINE", LINE), name=name) for name, text in (("old", old), ("new", new))
    )
    done = linesmith(
        "lint", "--intent", folder / "linesmith.toml", "--base", base, "--head", head, cache=folder / "cache"
    )
    return done.returncode, done.stdout + done.stderr


def test_what_an_intent_wants_holds_under_the_new_name(tmp_path: Path) -> None:
    status, text = told(tmp_path, PARTED, PARTED.replace("guard", "lock").replace("pad[56]", "pad[8]"), APART)

    assert status == 1
    assert f"struct s: lock shares a line with key; lock {WAY}; it was likely called guard [isolation-broken]" in text
    assert (
        "struct s: guard is not there; it is likely called lock now, and judged as the same member [intent-stale]"
        in text
    )
    assert (
        "write the new name into the entry; given both builds, `linesmith intent NEW --update --base OLD` does" in text
    )


def test_a_new_name_alone_is_no_more_than_a_stale_entry(tmp_path: Path) -> None:
    _, text = told(tmp_path, PARTED, PARTED.replace("guard", "lock"), APART)

    assert text.count("WARNING") == 1
    assert "[intent-stale]" in text


def test_what_was_so_under_the_old_name_is_no_news(tmp_path: Path) -> None:
    across = "struct s { char head[60]; struct { int a, b; } pair; long end; } LINE s;"
    _, text = told(tmp_path, across, across.replace("pair;", "both;"), f'{HEAD}hot = ["pair"]\n')

    assert "NOTE: struct s: both lies across two lines" in text
    assert "as before; it was likely called pair [straddle]" in text


def test_a_member_is_followed_into_what_its_record_holds(tmp_path: Path) -> None:
    old = "struct lock { int word; }; struct s { long key; char pad[56]; struct lock guard; } LINE s;"
    new = old.replace("word", "state").replace("pad[56]", "pad[8]")
    _, text = told(tmp_path, old, new, APART.replace('"guard"', '"guard.word"'))

    said = f"guard.state shares a line with key; guard.state {WAY}; it was likely called guard.word [isolation-broken]"
    assert said in text


def test_a_part_without_a_name_is_looked_into(tmp_path: Path) -> None:
    old = PARTED.replace("long guard;", "struct { long guard; };")
    _, text = told(tmp_path, old, old.replace("guard", "lock").replace("pad[56]", "pad[8]"), APART)

    assert f"lock shares a line with key; lock {WAY}; it was likely called guard [isolation-broken]" in text


def test_an_alignment_is_looked_for_under_the_new_name(tmp_path: Path) -> None:
    old = "struct s { long a; long guard LINE; } s;"
    status, text = told(tmp_path, old, "struct s { long a; long lock; int more; } s;")

    assert status == 1
    assert (
        "struct s: lock was aligned to 64 bytes and is not any more; it was likely called guard [alignment-lost]"
        in text
    )


def test_a_suppression_of_the_old_name_still_accepts(tmp_path: Path) -> None:
    accepted = '[[suppress]]\nrule = "isolation-broken"\ntype = "s"\nmember = "guard"\nreason = "cold"\n'
    new = PARTED.replace("guard", "lock").replace("pad[56]", "pad[8]")
    _, text = told(tmp_path, PARTED, new, f"{APART}\n{accepted}")

    assert "[isolation-broken]" not in text
    assert "1 accepted" in text


@pytest.mark.parametrize("came", ["long lock; long turn;", "int lock;"])
def test_what_is_not_sure_to_be_the_same_is_not_followed(came: str, tmp_path: Path) -> None:
    _, text = told(tmp_path, PARTED, PARTED.replace("long guard;", came), APART)

    assert "struct s: guard is not there [intent-stale]" in text
    assert "likely called" not in text


def test_what_takes_the_room_of_a_reserve_is_something_new(tmp_path: Path) -> None:
    old, entry = PARTED.replace("guard", "reserved"), APART.replace("guard", "reserved")
    _, text = told(tmp_path, old, old.replace("reserved", "stats"), entry)

    assert "struct s: reserved is not there [intent-stale]" in text
