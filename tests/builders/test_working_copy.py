# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a tree is source, and the worker's copy of it, which becomes any version by writing what differs."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from builders.projects import KERNEL, plant

from linesmith.analyzer.base.errors import PatchRefused, TreeError
from linesmith.plugins.builders.patches import Plain, check_fit
from linesmith.plugins.builders.sources import Census, sources, take, unfinished
from linesmith.plugins.builders.working_copy import WorkingCopy, bring, patched

FILES = {"a.h": "one\n", "sub/b.c": "two\n"}
PATCH = "--- a/a.h\n+++ b/a.h\n@@ -1 +1 @@\n-one\n+1\n"
OLD = 1_000_000_000


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of two files, not of today."""
    planted = plant(FILES, tmp_path / "tree")
    for name in FILES:
        os.utime(planted / name, ns=(OLD, OLD))
    return planted


@pytest.fixture
def copy(tmp_path: Path) -> WorkingCopy:
    return WorkingCopy(tmp_path / "warm/source")


def census(tree: Path) -> Census:
    return take(tree, tree.with_name("digests"))


def content(copy: WorkingCopy) -> dict[str, str]:
    return {str(path.relative_to(copy.folder)): path.read_text() for path in copy.folder.rglob("*") if path.is_file()}


def test_only_what_differs_is_written_and_is_new(tree: Path, copy: WorkingCopy) -> None:
    assert bring(copy, census(tree), {}) == len(FILES)
    assert content(copy) == FILES
    assert {(copy.folder / name).stat().st_mtime_ns for name in FILES} == {OLD}
    untouched = (copy.folder / "sub/b.c").stat()
    for changes, text in ((patched(census(tree), (PATCH,), {}), "1\n"), ({}, "one\n"), (None, "three\n")):
        if changes is None:  # an older file of the user's is newer than what was built
            (tree / "a.h").write_text(text)
            os.utime(tree / "a.h", ns=(OLD, OLD))
        before = time.time_ns()
        assert bring(copy, census(tree), changes or {}) == 1
        assert (copy.folder / "a.h").read_text() == text
        assert (copy.folder / "a.h").stat().st_mtime_ns >= before
    assert (copy.folder / "sub/b.c").stat() == untouched
    assert bring(copy, census(tree), {}) == 0


def test_files_come_and_go_and_change_their_kind(tree: Path, copy: WorkingCopy) -> None:
    bring(copy, census(tree), {})
    (copy.folder / "sub/b.o").write_text("an object of the build")
    (tree / "sub/b.c").unlink()
    (tree / "sub").rmdir()
    (tree / "sub").write_text("now a file\n")
    (tree / "a.h").unlink()
    plant({"a.h/inner": "now a folder\n"}, tree)
    bring(copy, census(tree), {})
    assert content(copy) == {"sub": "now a file\n", "a.h/inner": "now a folder\n"}


def test_a_program_may_be_run_in_the_copy(tree: Path, copy: WorkingCopy) -> None:
    (tree / "sub/b.c").chmod(0o555)
    bring(copy, census(tree), {})
    assert os.access(copy.folder / "sub/b.c", os.X_OK)
    (tree / "sub/b.c").chmod(0o644)
    assert bring(copy, census(tree), {}) == 1
    assert not (copy.folder / "sub/b.c").stat().st_mode & 0o111


def test_links_lead_to_the_copy_or_to_where_they_led(tree: Path, copy: WorkingCopy, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("")
    (tree / "relative").symlink_to("sub/b.c")
    (tree / "absolute").symlink_to(tree / "a.h")
    (tree / "sub/out").symlink_to("../../outside")
    bring(copy, census(tree), {})
    ends = {name: (copy.folder / name).resolve() for name in ("relative", "absolute", "sub/out")}
    assert ends == {
        "relative": copy.folder / "sub/b.c",
        "absolute": copy.folder / "a.h",
        "sub/out": tmp_path / "outside",
    }


@pytest.mark.parametrize("name", ["link", "folder/inner"])
def test_nothing_behind_a_link_is_patched(tree: Path, tmp_path: Path, name: str) -> None:
    plant({"inner": "one\n"}, tmp_path / "outside")
    (tree / "link").symlink_to("a.h")
    (tree / "folder").symlink_to(tmp_path / "outside")
    with pytest.raises(PatchRefused, match=f"changes {name}, which is behind a symbolic link"):
        patched(census(tree), (PATCH.replace("a.h", name),), {})


def test_a_copy_that_was_killed_is_made_whole(tree: Path, copy: WorkingCopy) -> None:
    """It had said what it was about to write, and had written something else by then; a first copy begins anew."""
    plant({"a.h": "o", "rest": ""}, copy.folder)
    assert bring(copy, census(tree), {}) == len(FILES)
    assert content(copy) == FILES
    copy.doubt(["a.h"])
    (copy.folder / "a.h").write_text("o")
    assert bring(copy, census(tree), {}) == 1
    assert content(copy) == FILES


def test_a_file_that_changes_while_it_is_copied(tree: Path, copy: WorkingCopy) -> None:
    before = census(tree)
    (tree / "a.h").write_text("other\n")
    with pytest.raises(TreeError, match=r"a\.h changed while it was being read"):
        bring(copy, before, {})
    with pytest.raises(TreeError, match=r"a\.h changed while it was being read"):
        patched(before, (PATCH,), {})
    assert bring(copy, census(tree), {}) == len(FILES)


def test_digests_notice_every_change_and_are_made_again_when_damaged(tree: Path) -> None:
    before = census(tree).digest()
    tree.with_name("digests").write_text('{"a.h": 1}')
    assert census(tree).digest() == before
    (tree / "a.h").write_text("eno\n")  # of the same size and time
    os.utime(tree / "a.h", ns=(OLD, OLD))
    assert census(tree).digest() != before


def test_a_new_file_by_a_patch_is_gone_without_it_and_what_the_build_left_stays(tree: Path, copy: WorkingCopy) -> None:
    bring(copy, census(tree), {"new/n.h": Plain(b"n\n")})
    (copy.folder / "a.o").write_text("object")
    assert content(copy) == {**FILES, "new/n.h": "n\n", "a.o": "object"}
    bring(copy, census(tree), {})
    assert content(copy) == {**FILES, "a.o": "object"}


def test_text_is_appended_to_what_the_patches_leave(tree: Path) -> None:
    assert patched(census(tree), (PATCH,), {"a.h": "more\n"}) == {"a.h": Plain(b"1\nmore\n")}
    with pytest.raises(TreeError, match="has no none\\.c, which a placebo changes; run without placebos"):
        patched(census(tree), (), {"none.c": ""})


# Whether a patch fits is seen from the tree as it lies there.
def test_a_patch_that_fits_is_passed_over_in_silence(tree: Path) -> None:
    check_fit(tree, (PATCH,))
    assert (tree / "a.h").read_text() == "one\n"
    check_fit(tree, (PATCH, PATCH.replace("\n+1", "\n+uno").replace("-one", "-1")))  # fits what an earlier one made
    (tree / "a.o").write_text("left by a build\n")
    check_fit(tree, ("--- /dev/null\n+++ b/a.o\n@@ -0,0 +1 @@\n+made\n",))


def test_a_patch_that_does_not_fit_is_refused(tree: Path) -> None:
    (tree / "link").symlink_to("sub")
    for patches, why in (
        ((PATCH, PATCH), r"patch failed: a\.h:1"),
        (("",), "No valid patches"),
        (("--- a/link/b.c\n+++ b/link/b.c\n@@ -1 +1 @@\n-two\n+2\n",), "behind a symbolic link"),
    ):
        with pytest.raises(PatchRefused, match=why):
            check_fit(tree, patches)
    with pytest.raises(TreeError, match="name the source tree"):
        check_fit(tree / "none", (PATCH,))


# What a build that was stopped has left is trusted only when Kbuild's record says that it was finished.
def test_only_targets_with_a_newer_record_are_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linesmith.plugins.builders.sources._LAST", 50_000_000)
    assert list(unfinished(tmp_path, 0)) == []
    plant({"old.o": ""}, tmp_path)
    time.sleep(0.05)
    since = time.time_ns() - 20_000_000
    plant({"a.o": "", ".a.o.cmd": "", "sub/built-in.a": "", "sub/.built-in.a.cmd": ""}, tmp_path)
    plant({"no_record.o": "", ".again.o.cmd": ""}, tmp_path)
    time.sleep(0.05)
    plant({"again.o": ""}, tmp_path)
    time.sleep(0.1)
    plant({"last.o": "", ".last.o.cmd": ""}, tmp_path)
    assert sorted(unfinished(tmp_path, since)) == [".last.o.cmd", "again.o", "last.o", "no_record.o"]


# Neither version control's data nor what a build has left in a tree is source


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
