# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change did to layouts, told from two compiled files."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def difference(folder: Path, old: str, new: str, *arguments: str) -> tuple[int, list[str]]:
    """Exit status and lines of ``linesmith diff`` on two versions of a source."""
    before, after = compiled(folder, old, name="old"), compiled(folder, new, name="new")
    done = linesmith("diff", before, after, *arguments, cache=folder / "cache")
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_the_same_layout_is_no_difference(tmp_path: Path) -> None:
    source = "struct s { int a; long b; } s;"
    assert difference(tmp_path, source, source) == (0, ["no layout differs"])


def test_a_member_added_moves_what_follows(tmp_path: Path) -> None:
    old, new = "struct s { int a; long b; } s;", "struct s { long x; int a; long b; } s;"
    assert difference(tmp_path, old, new) == (
        1,
        [
            "struct s: grew by 8 bytes (16 -> 24)",
            "  + x: added at 0 (cache line 0), long int, 8 bytes",
            "  ~ a: moved 0 -> 8",
            "  ~ b: moved 8 -> 16",
        ],
    )


def test_a_member_that_fills_a_hole_closes_it(tmp_path: Path) -> None:
    old, new = "struct s { int a; long b; } s;", "struct s { int a; int x; long b; } s;"
    assert difference(tmp_path, old, new) == (
        1,
        [
            "struct s: 16 bytes as before",
            "  + x: added at 4 (cache line 0), int, 4 bytes",
            "  byte hole closed behind a: 4 bytes",
        ],
    )


def test_a_removed_member_opens_a_hole(tmp_path: Path) -> None:
    old, new = "struct s { int a; int x; long b; } s;", "struct s { int a; long b; } s;"
    assert difference(tmp_path, old, new)[1][1:] == [
        "  - x: removed from 4 (cache line 0), int",
        "  byte hole opened behind a: 4 bytes",
    ]


def test_a_wider_type_grows_and_takes_the_padding(tmp_path: Path) -> None:
    old, new = "struct s { long a; int b; } s;", "struct s { long a; long b; } s;"
    assert difference(tmp_path, old, new)[1] == [
        "struct s: 16 bytes as before, padding 4 -> 0",
        "  ~ b: grew 4 bytes -> 8 bytes, type int -> long int",
    ]


def test_a_member_pushed_over_a_boundary_is_told(tmp_path: Path) -> None:
    old, new = "struct s { long a[7]; long b; } s;", "struct s { long a[8]; long b; } s;"
    assert difference(tmp_path, old, new)[1] == [
        "struct s: grew by 8 bytes (64 -> 72), cache lines 1 -> 2",
        "  ~ a: grew 56 bytes -> 64 bytes, type long int [7] -> long int [8]",
        "  ~ b: moved 56 -> 64, cache line 0 -> 1",
    ]


def test_a_member_that_comes_to_lie_across_a_boundary_is_told(tmp_path: Path) -> None:
    old = "struct s { char a[48]; struct p { long x, y; } p; } s;"
    new = "struct s { char a[56]; struct p { long x, y; } p; } s;"
    assert "  ~ p: moved 48 -> 56, now straddles two cache lines" in difference(tmp_path, old, new)[1]


def test_members_of_anonymous_records_are_called_as_c_calls_them(tmp_path: Path) -> None:
    old = "struct s { int kind; union { struct { int a, b; }; long c; }; } s;"
    new = "struct s { int kind; union { struct { int b, a; }; long c; }; } s;"
    assert difference(tmp_path, old, new)[1][1:] == ["  ~ b: moved 12 -> 8", "  ~ a: moved 8 -> 12"]


def test_bit_fields_move_by_bits(tmp_path: Path) -> None:
    old, new = "struct s { int a:3; int b:7; } s;", "struct s { int a:4; int b:7; } s;"
    assert difference(tmp_path, old, new)[1] == [
        "struct s: 4 bytes as before",
        "  ~ a: grew 3 bits -> 4 bits",
        "  ~ b: moved 0:3 -> 0:4",
    ]


def test_an_alignment_is_a_change_of_its_own(tmp_path: Path) -> None:
    old = "struct s { long a[8]; } s;"
    new = "struct s { long a[8]; } __attribute__((aligned(64))) s;"
    assert difference(tmp_path, old, new) == (1, ["struct s: 64 bytes as before, alignment natural -> 64"])


@pytest.mark.skipif(shutil.which("pahole") is None, reason="pahole is not installed (Debian package dwarves)")
def test_btf_and_dwarf_of_one_file_are_no_difference(tmp_path: Path) -> None:
    elf = compiled(tmp_path, "struct s { int a:3; union { long b; char c[9]; }; } __attribute__((aligned(64))) s;")
    btf = tmp_path / "subject.btf"
    subprocess.run(["pahole", f"--btf_encode_detached={btf}", elf], check=True)
    assert linesmith("diff", btf, elf, cache=tmp_path / "cache").stdout == "no layout differs\n"


def test_records_only_one_file_has_are_told(tmp_path: Path) -> None:
    old, new = "struct gone { int a; } gone;", "struct come { long a; } come;"
    assert difference(tmp_path, old, new)[1] == [
        "struct gone: removed, 4 bytes, declared at old.c:1",
        "",
        "struct come: added, 8 bytes, declared at new.c:1",
    ]


def test_a_type_narrows_the_comparison(tmp_path: Path) -> None:
    old = "struct a { int x; } a; struct b { int x; } b;"
    new = "struct a { long x; } a; struct b { int x; } b;"
    assert difference(tmp_path, old, new, "b") == (0, ["no layout differs"])
    assert difference(tmp_path, old, new, "struct *")[0] == 1


def test_json_carries_both_sides(tmp_path: Path) -> None:
    old, new = "struct s { int a; long b; } s;", "struct s { long b; int a; } s;"
    status, text = difference(tmp_path, old, new, "--format", "json")
    (record,) = json.loads("\n".join(text))["records"]
    assert status == 1
    assert (record["old"]["padding"], record["new"]["padding"]) == (0, 4)
    assert [(one["path"], one["old"]["offset"], one["new"]["offset"]) for one in record["members"]] == [
        ("b", 8, 0),
        ("a", 0, 8),
    ]
    assert record["holes"] == [{"after": "a", "old": 4, "new": 0}]


def test_a_type_that_neither_file_has_is_an_error(tmp_path: Path) -> None:
    elf = compiled(tmp_path, "struct sockaddr { int a; } s;")
    done = linesmith("diff", elf, elf, "sockadr", cache=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("did you mean sockaddr?\n")
