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

SOURCES = Path(__file__).with_name("sources")
OLD = (SOURCES / "before.c").read_text()
NEW = (SOURCES / "after.c").read_text()
EXPECTED = (SOURCES / "difference.txt").read_text()


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
