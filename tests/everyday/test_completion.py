# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion: what the program answers a shell whose script click writes: commands, options, types of an index."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith

SOURCE = "struct session_index { int a; } i; struct session_table { long b, bits; void *next; } t;"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Object files whose layouts have been read, one with a name that a shell would run, and other files."""
    folder = tmp_path_factory.mktemp("completed")
    (folder / "unit.c").write_text(SOURCE)
    (folder / "hostile.c").write_text("struct hostile_$HOME { int a; } h; struct hostile_plain { int a; } p;")
    for name in ("unit", "hostile"):
        subprocess.run(["gcc", "-g", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
        assert linesmith("index", folder / f"{name}.o").returncode == 0
    for name, content in (("old.patch", b""), ("text", b"no ELF file"), ("cut", b"\x7fELF\x02")):
        (folder / name).write_bytes(content)
    return folder


def offered(line: str, **variables: str) -> str:
    """What the program offers bash for the last word of a line."""
    words = f"linesmith {line}"
    asked = {"_LINESMITH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([LINESMITH], capture_output=True, text=True, check=False, env=os.environ | asked | variables)
    assert done.stderr == ""
    return done.stdout


_TABLE = Path(__file__).with_name("offered.txt").read_text().splitlines()
OFFERED = {line: found for line, _, found in (row.partition(" =>") for row in _TABLE if not row.startswith("#"))}


@pytest.mark.parametrize("line", OFFERED)
def test_what_is_offered(folder: Path, line: str) -> None:
    found = offered(line.replace("F/", f"{folder}/")).replace(f"{folder}/", "F/").split()
    assert found == [one if "," in one else f"plain,{one}" for one in OFFERED[line].split()]


def test_a_file_is_not_read_for_its_types(folder: Path, tmp_path: Path) -> None:
    assert offered(f"layout {folder}/unit.o s", LINESMITH_CACHE_DIR=str(tmp_path / "cache")).strip() == ""
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_the_program(shell: str) -> None:
    assert f"_LINESMITH_COMPLETE={shell}_complete" in linesmith("completion", shell).stdout
