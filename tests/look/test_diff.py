# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change did to layouts, read from two compiled files."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith

OLD = """\
struct gone { int a; } gone;
struct same { int a; long b; } same;
struct added { int a; long b; } added;
struct filled { int a; long b; } filled;
struct removed { int a; int x; long b; } removed;
struct wider { long a; int b; } wider;
struct pushed { long a[7]; long b; } pushed;
struct across { char a[48]; struct p { long x, y; } p; } across;
struct nested { int kind; union { struct { int a, b; }; long c; }; } nested;
struct bits { int a:3; int b:7; } bits;
struct inner { long x; struct { int a:3; int b:7; }; } inner;
struct swapped { int a; long b; } swapped;
struct aligned { long a[8]; } aligned;
"""
NEW = """\
struct come { long a; } come;
struct same { int a; long b; } same;
struct added { long x; int a; long b; } added;
struct filled { int a; int x; long b; } filled;
struct removed { int a; long b; } removed;
struct wider { long a; long b; } wider;
struct pushed { long a[8]; long b; } pushed;
struct across { char a[56]; struct p { long x, y; } p; } across;
struct nested { int kind; union { struct { int b, a; }; long c; }; } nested;
struct bits { int a:4; int b:7; } bits;
struct inner { long x; struct { int a:4; int b:7; }; } inner;
struct swapped { long b; int a; } swapped;
struct aligned { long a[8]; } __attribute__((aligned(64))) aligned;
"""
EXPECTED = """\
struct gone: removed, 4 bytes, declared at old.c:1

struct added: grew by 8 bytes (16 -> 24)
  + x: added at 0 (cache line 0), long int, 8 bytes
  ~ a: moved 0 -> 8
  ~ b: moved 8 -> 16

struct filled: 16 bytes as before
  + x: added at 4 (cache line 0), int, 4 bytes
  byte hole closed behind a: 4 bytes

struct removed: 16 bytes as before
  - x: removed from 4 (cache line 0), int
  byte hole opened behind a: 4 bytes

struct wider: 16 bytes as before, padding 4 -> 0
  ~ b: grew 4 bytes -> 8 bytes, type int -> long int

struct pushed: grew by 8 bytes (64 -> 72), cache lines 1 -> 2
  ~ a: grew 56 bytes -> 64 bytes, type long int [7] -> long int [8]
  ~ b: moved 56 -> 64, cache line 0 -> 1

struct across: grew by 8 bytes (64 -> 72), cache lines 1 -> 2
  ~ a: grew 48 bytes -> 56 bytes, type char [48] -> char [56]
  ~ p: moved 48 -> 56, now straddles two cache lines

struct nested: 16 bytes as before
  ~ b: moved 12 -> 8
  ~ a: moved 8 -> 12

struct bits: 4 bytes as before
  ~ a: grew 3 bits -> 4 bits
  ~ b: moved 0:3 -> 0:4

struct inner: 16 bytes as before
  ~ a: grew 3 bits -> 4 bits
  ~ b: moved 8:3 -> 8:4

struct swapped: 16 bytes as before, padding 0 -> 4
  ~ b: moved 8 -> 0
  ~ a: moved 0 -> 8
  byte hole closed behind a: 4 bytes

struct aligned: 64 bytes as before, alignment natural -> 64

struct come: added, 8 bytes, declared at new.c:1
"""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("builds")
    return compiled(folder, OLD, name="old"), compiled(folder, NEW, name="new")


def difference(builds: tuple[Path, Path], *arguments: str) -> tuple[int, str]:
    """Exit status and output of ``linesmith diff``."""
    done = linesmith("diff", *builds, *arguments)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_what_a_change_did_to_each_record(builds: tuple[Path, Path]) -> None:
    assert difference(builds) == (1, EXPECTED)


def test_types_and_patterns_narrow_the_comparison(builds: tuple[Path, Path]) -> None:
    assert difference(builds, "same") == (0, "no layout differs\n")
    status, text = difference(builds, "struct sw*")
    assert (status, text.partition(":")[0], text in EXPECTED) == (1, "struct swapped", True)


def test_json_carries_both_sides(builds: tuple[Path, Path]) -> None:
    status, text = difference(builds, "swapped", "--format", "json")
    (record,) = json.loads(text)["records"]
    assert (status, record["old"]["padding"], record["new"]["padding"]) == (1, 0, 4)
    moved = [(one["path"], one["old"]["offset"], one["new"]["offset"]) for one in record["members"]]
    assert moved == [("b", 8, 0), ("a", 0, 8)]
    assert record["holes"] == [{"after": "a", "old": 4, "new": 0}]


@pytest.mark.skipif(shutil.which("pahole") is None, reason="pahole is not installed (Debian package dwarves)")
def test_btf_and_dwarf_of_one_file_are_no_difference(tmp_path: Path) -> None:
    elf = compiled(tmp_path, "struct s { int a:3; union { long b; char c[9]; }; } __attribute__((aligned(64))) s;")
    btf = tmp_path / "subject.btf"
    subprocess.run(["pahole", f"--btf_encode_detached={btf}", elf], check=True)
    assert linesmith("diff", btf, elf).stdout == "no layout differs\n"


def test_a_type_that_neither_file_has_is_an_error(builds: tuple[Path, Path]) -> None:
    done = linesmith("diff", *builds, "swapd")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("did you mean swapped?\n")
