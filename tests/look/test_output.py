# SPDX-License-Identifier: GPL-2.0-or-later
"""Where results go: what a slip of ``-o`` must not destroy, outputs that cannot be written, names of any bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer.demo import program


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the example program, compiled with debug information, and its profile."""
    directory = program.unpack(tmp_path_factory.mktemp("example") / "sources")
    program.build(directory, program.find_compiler())
    return directory


def test_what_a_command_reads_is_not_replaced_by_its_result(example: Path) -> None:
    elf, profile, header = (example / name for name in ("bench", "bench.c2c", "session_index.h"))
    before = [one.read_bytes() for one in (elf, profile, header)]
    twice = example / "twice"
    patch = ("patch", elf, profile, "--tree", example, "--dry-run", "-o")
    for words, said in (
        (
            ("hot", elf, profile, "-o", example / "." / "bench.c2c"),
            f"linesmith: {profile} is an input of this command and is not replaced; name another file with -o\n",
        ),
        (
            ("lint", elf, "-o", twice, "--also", f"sarif={twice}"),
            f"{twice} would be written twice; name different files",
        ),
        ((*patch, elf), "is an ELF or BTF file and is not replaced"),
        ((*patch, header), f"{header} belongs to {example}, which is not modified"),
    ):
        done = linesmith(*words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert [one.read_bytes() for one in (elf, profile, header)] == before
    assert not twice.exists()


def test_a_patch_kept_in_the_tree_is_replaced_by_the_next(example: Path) -> None:
    kept = example / "guard.patch"
    kept.write_text("of yesterday")
    done = linesmith("patch", example / "bench", example / "bench.c2c", "--tree", example, "--dry-run", "-o", kept)
    assert done.returncode == 0, done.stderr
    assert "diff --git" in kept.read_text()


@pytest.mark.parametrize("words", [("--version",), ("hot", "bench", "bench.c2c")])
def test_a_full_disk_behind_standard_output_is_one_sentence(example: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [str(LINESMITH), *words]
        done = subprocess.run(command, cwd=example, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "linesmith: standard output: No space left on device; free space there or change its permissions\n"
    )


def test_a_profile_comes_from_standard_input(example: Path) -> None:
    done = linesmith("hot", "bench", "-", "--line", "0", cwd=example, stdin=(example / "bench.c2c").read_text())
    assert done.returncode == 0, done.stderr
    assert "object    session_index" in done.stdout


def test_the_name_of_a_profile_may_be_no_utf8(example: Path, tmp_path: Path) -> None:
    name = tmp_path / os.fsdecode(b"r\xff.c2c")
    shutil.copy(example / "bench.c2c", name)
    done = linesmith("hot", example / "bench", name, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["source"].endswith(r"r\xff.c2c")


def test_the_next_command_explains_the_profile_in_the_same_way(example: Path) -> None:
    files, how = ("bench", "bench.c2c"), ("--by-symbol", "--section", "1")
    shown = " ".join(linesmith("hot", *files, *how, cwd=example).stdout.split())
    assert "next: linesmith suggest bench bench.c2c --section 1 --by-symbol --type session_index" in shown
    shown = " ".join(linesmith("suggest", *files, *how, "--cpus", "8", cwd=example).stdout.split())
    assert "linesmith patch bench bench.c2c --section 1 --by-symbol --cpus 8 --type session_index" in shown
