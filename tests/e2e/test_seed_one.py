# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole way on real input: a profile of ``struct address_space``, Debian's kernel 6.1, and its source tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from keeping import Keeper
from kernel_index import cached_kernel
from linesmith_command import command

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("seed one")]

# The figures of a report from a 224-CPU machine on 6.4, in a table of our own.
REPORT = Path(__file__).with_name("address_space.c2c")


@pytest.fixture(scope="module", autouse=True)
def index(vmlinux: Path, kept: Keeper) -> Iterator[None]:
    """The commands find the kernel's index and access map ready."""
    with cached_kernel(vmlinux, kept):
        yield


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copy(REPORT, tmp_path_factory.mktemp("profile") / "report.txt"))


@pytest.fixture(scope="module")
def first(vmlinux: Path, profile: Path) -> dict[str, Any]:
    """The first candidate of ``suggest``: the recommended one."""
    done = command("suggest", vmlinux, profile, "--format", "json")
    assert done.returncode in (0, 1), done.stderr.decode()
    return dict(json.loads(done.stdout)["candidates"][0])


@pytest.fixture(scope="module")
def told(vmlinux: Path, kernel_tree: Path, profile: Path) -> dict[str, Any]:
    """What ``patch`` says of the recommended candidate; it writes nothing into the tree."""

    def stamps() -> dict[str, int]:
        places = (kernel_tree, *(kernel_tree / name for name in ("include/linux", "scripts", "kernel", "arch/x86")))
        return {
            entry.path: entry.stat(follow_symlinks=False).st_mtime_ns for one in places for entry in os.scandir(one)
        }

    before = stamps()
    done = command("patch", vmlinux, profile, "--tree", kernel_tree, "--format", "json")
    assert done.returncode == 0, done.stderr.decode()
    assert stamps() == before
    return dict(json.loads(done.stdout))


def test_the_message_says_what_moves_and_how_it_was_compiled(told: dict[str, Any]) -> None:
    message = told["patch"].partition("\n---\n")[0]
    assert "struct address_space" in message.splitlines()[0]
    assert "i_mmap" in message.splitlines()[0]
    assert "The size stays 192 bytes;" in message
    assert "Compiled with gcc" in " ".join(message.split())


def test_checkpatch_misses_the_sign_off_only(kernel_tree: Path, told: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "fs.patch"
    file.write_text(told["patch"])
    assert "off the cache line of i_mmap" in " ".join(told["patch"].replace("+\t", " ").replace(" * ", " ").split())
    script = str(kernel_tree / "scripts" / "checkpatch.pl")
    argv = ["perl", script, "--strict", f"--root={kernel_tree}", "--terse", str(file)]
    said = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300).stdout
    complaints = [line for line in said.splitlines() if re.search("ERROR|WARNING|CHECK", line)]
    assert [line.partition("ERROR: ")[2] for line in complaints] == ["Missing Signed-off-by: line(s)"]


def test_the_json_says_by_what_it_is_verified(told: dict[str, Any]) -> None:
    assert (told["type"], told["file"], told["candidate"]) == ("address_space", "include/linux/fs.h", 1)
    assert "gcc" in told["verified"]
    assert told["exact"] is True
    assert sum("gcc" in command for command in told["commands"]) >= 2


def test_the_lock_is_to_go_where_it_never_meets_what_it_protects(first: dict[str, Any]) -> None:
    assert first["recommended"]
    assert [(step["kind"], step["member"]) for step in first["moves"]] == [("move", "i_mmap_rwsem")]
    assert first["size"] == 192
    assert [one["after"] for one in first["residual_phases"] if one["line_bytes"] == 64] == [0.0]


def together(proofs: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """In how many phases the two share a line of 64 bytes, and of how many, by the cache (empty: every start)."""
    lines = [proof for proof in proofs if proof["line_bytes"] == 64]
    return {proof["place"].partition(",")[0]: (proof["together"], proof["phases"]) for proof in lines}


def test_the_pair_meets_in_no_phase_of_any_cache(first: dict[str, Any]) -> None:
    assert {count for count, _ in together(first["proofs"]).values()} == {0}
