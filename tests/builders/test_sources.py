# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a tree is source: neither version control's data nor what a build has left there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from builders.projects import KERNEL, plant

from linesmith.analyzer.base.errors import TreeError
from linesmith.plugins.builders.sources import sources


def planted(tree: Path, *names: str) -> Path:
    return plant(dict.fromkeys(names, ""), tree)


def git(tree: Path, *words: str) -> None:
    subprocess.run(
        ("git", "-c", "user.name=n", "-c", "user.email=e", *words), cwd=tree, check=True, capture_output=True
    )


@pytest.mark.parametrize(
    ("left", "tree"),
    [
        ([], ["Makefile", "src/a.c", ".hidden"]),
        ([".hg/store", "src/CVS/Root"], ["src/a.c"]),
        (["a.o", "l.lo", ".libs/l.so", "__pycache__/x.pyc"], ["a.c", "blob.o_shipped"]),
        (["out/CMakeCache.txt", "out/a", "out/CMakeFiles/a.dir/a.c.o"], ["CMakeLists.txt", "a.c"]),
        (["CMakeCache.txt", "CMakeFiles/x"], ["CMakeLists.txt", "a.c"]),
        (["out/meson-private/x", "out/a"], ["meson.build"]),
        # Makefiles of a configured tree name the tree itself; what they are made from is enough.
        (["Makefile", "config.status", "config.log"], ["configure", "configure.in", "Makefile.in", "a.h"]),
        (
            [
                *(".config", "include/config/auto.conf", "include/generated/a.h", "arch/x86/include/generated/b.h"),
                *("init/main.o", "init/.main.o.cmd", "vmlinux", ".vmlinux.cmd"),
            ],
            [*KERNEL, "init/main.c", "include/linux/a.h"],
        ),
    ],
)
def test_what_a_build_has_left_in_a_tree_is_no_source(tmp_path: Path, left: list[str], tree: list[str]) -> None:
    assert sources(planted(tmp_path, *left, *tree)) == tuple(sorted(tree))


def test_a_git_tree(tmp_path: Path) -> None:
    tree = planted(tmp_path, "a.c", "new.c", "prebuilt.o", "a.o", "ignored.log", "gone.c")
    (tree / ".gitignore").write_text("*.log\n")
    git(tree, "init")
    git(tree, "add", "a.c", "gone.c", "prebuilt.o", ".gitignore")
    (tree / "gone.c").unlink()
    assert sources(tree) == (".gitignore", "a.c", "new.c", "prebuilt.o")


def test_a_folder_of_a_git_tree(tmp_path: Path) -> None:
    tree = planted(tmp_path, "top.c", "part/a.c", "part/a.o")
    git(tree, "init")
    git(tree, "add", "-f", "part/a.c")
    assert sources(tree / "part") == ("a.c",)


def test_a_tree_that_an_outer_repository_ignores(tmp_path: Path) -> None:
    planted(tmp_path, "build/tree/a.c", "a.c")
    (tmp_path / ".gitignore").write_text("build\n")
    git(tmp_path, "init")
    assert sources(tmp_path / "build/tree") == ("a.c",)


def test_a_repository_within_a_repository(tmp_path: Path) -> None:
    planted(tmp_path, "a.c", "sub/b.c", "sub/b.o")
    git(tmp_path / "sub", "init")
    git(tmp_path / "sub", "add", "b.c")
    git(tmp_path / "sub", "commit", "-m", "b")
    git(tmp_path, "init")
    git(tmp_path, "add", "a.c", "sub")
    assert sources(tmp_path) == ("a.c", "sub/b.c")


def test_no_program_that_a_repository_names_is_run(tmp_path: Path) -> None:
    tree = planted(tmp_path, "a.c")
    git(tree, "init")
    git(tree, "add", "a.c")
    git(tree, "config", "core.fsmonitor", f"touch {tree}/run")
    assert sources(tree) == ("a.c",)


def test_a_run_directory_in_the_tree(tmp_path: Path) -> None:
    tree = planted(tmp_path, "a.c", "old.run/journal.sqlite", "old.run/artifacts/x", "new.run/workers/0/a.c")
    assert sources(tree, [tree / "new.run"]) == ("a.c",)


def test_links_are_not_followed(tmp_path: Path) -> None:
    tree = planted(tmp_path, "a.c")
    (tree / "loop").symlink_to(".")
    (tree / "nowhere").symlink_to("/nonexistent")
    assert sources(tree) == ("a.c", "loop", "nowhere")


def test_no_tree(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match=r"nowhere is not a folder; name the source tree"):
        sources(tmp_path / "nowhere")
