# SPDX-License-Identifier: GPL-2.0-or-later
"""The word in front of a commit's subject."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from patch_cases import write_files

from linesmith.patches.prefix import prefix, prefix_by_path

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def committed(tree: Path, subjects: list[str]) -> Path:
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True, capture_output=True, timeout=300)
    for number, subject in enumerate(subjects):
        (tree / "include" / "linux" / "fs.h").write_text(f"int a{number};\n", encoding="utf-8")
        for argv in (["add", "."], ["commit", "-q", "-m", subject]):
            subprocess.run(["git", *WHO, *argv], cwd=tree, check=True, capture_output=True, timeout=300)
    return tree


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("include/linux/fs.h", "fs"),
        ("include/linux/mm_types.h", "mm"),
        ("include/linux/sched/signal.h", "sched"),
        ("include/net/tcp.h", "net"),
        ("kernel/sched/sched.h", "sched"),
        ("mm/slab.h", "mm"),
        ("arch/x86/include/asm/processor.h", "x86"),
        ("bench.c", "bench"),
        ("src/session_index.h", "session"),
    ],
)
def test_a_path_gives_a_prefix(file: str, expected: str) -> None:
    assert prefix_by_path(file) == expected


def test_history_decides_where_there_is_one(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/linux/fs.h": ""})
    subjects = ["Merge tag 'x'", "vfs: add a", "treewide: b", "vfs: c", "fs/dax: d", "no prefix at all"]
    assert prefix(committed(tree, subjects), "include/linux/fs.h") == "vfs"


def test_one_commit_is_no_habit(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/linux/fs.h": ""})
    assert prefix(committed(tree, ["vfs: add a"]), "include/linux/fs.h") == "fs"


def test_a_repository_cannot_make_git_run_a_program(tmp_path: Path) -> None:
    tree = committed(write_files(tmp_path, {"include/linux/fs.h": ""}), ["vfs: a", "vfs: b"])
    with (tree / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(f'[core]\n\tfsmonitor = "touch {tree}/ran"\n\tpager = "touch {tree}/ran"\n')
        config.write(f'[log]\n\tshowSignature = true\n[gpg]\n\tprogram = "{tree}/evil"\n')
    assert prefix(tree, "include/linux/fs.h") == "vfs"
    assert not (tree / "ran").exists()
