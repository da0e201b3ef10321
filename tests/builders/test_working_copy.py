# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a tree is source, and the worker's copy of it, which becomes any version by writing what differs."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from builders.projects import KERNEL, plant
from patch_cases import git

from linesmith.analyzer.base.errors import (
    BuildFailed,
    CompilerKilled,
    DiskFull,
    LinesmithError,
    PatchRefused,
    ToolMissing,
    TreeError,
)
from linesmith.plugins.builders.building import failure
from linesmith.plugins.builders.sources import Census, sources, take, unfinished
from linesmith.plugins.builders.working_copy import Plain, WorkingCopy, bring, changes, check_fit, patched

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
    for changed, text in ((patched(census(tree), (PATCH,), {}), "1\n"), ({}, "one\n"), (None, "three\n")):
        if changed is None:  # an older file of the user's is newer than what was built
            (tree / "a.h").write_text(text)
            os.utime(tree / "a.h", ns=(OLD, OLD))
        before = time.time_ns()
        assert bring(copy, census(tree), changed or {}) == 1
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


def test_a_git_tree_of_which_no_program_is_run(tmp_path: Path) -> None:
    tree = planted(tmp_path, "a.c", "new.c", "prebuilt.o", "a.o", "ignored.log", "gone.c")
    (tree / ".gitignore").write_text("*.log\n")
    git(tree, "init")
    git(tree, "add", "a.c", "gone.c", "prebuilt.o", ".gitignore")
    (tree / "gone.c").unlink()
    git(tree, "config", "core.fsmonitor", f"touch {tree}/run.c")
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


def test_a_run_directory_in_the_tree(tmp_path: Path) -> None:
    tree = planted(tmp_path, "a.c", "old.run/journal.sqlite", "old.run/artifacts/x", "new.run/workers/0/a.c")
    assert sources(tree, [tree / "new.run"]) == ("a.c",)


def test_links_are_not_followed(tmp_path: Path) -> None:
    tree = planted(tmp_path, "a.c")
    (tree / "loop").symlink_to(".")
    (tree / "nowhere").symlink_to("/nonexistent")
    assert sources(tree) == ("a.c", "loop", "nowhere")


# Patches are applied by git, in a scratch folder


TEN = "".join(f"line {number}\n" for number in range(1, 11))
CHANGED = "--- a/f\n+++ b/f\n@@ -4,3 +4,3 @@ some heading\n line 4\n-line 5\n+line five\n line 6\n"
FIVE = TEN.replace("line 5\n", "line five\n")
MAIL = f"From: someone\nSubject: [PATCH] f: five\n\nWhy.\n---\n f | 2 +-\n\n{CHANGED}-- \n2.39.2\n"
DOS = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\r\n+two\r\n"
EMPTY = "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n"
NEW = "diff --git a/f b/f\nnew file mode 100755\nindex 0000000..5ea2ed4\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+hi\n"
REMOVED = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
RENAMED = "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n"
MODE = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
APPLIED = {
    "what stands around a diff is passed over": (MAIL, TEN, {"f": FIVE}),
    "carriage returns are content": (DOS, "one\r\n", {"f": "two\r\n"}),
    "a new file that is empty": (EMPTY, "", {"n": ""}),
    "a file that is removed": (REMOVED, "one\n", {"f": None}),
    "a file that is renamed and changed": (RENAMED + CHANGED.replace("b/f", "b/g"), TEN, {"f": None, "g": FIVE}),
    "a file that is copied": (RENAMED.replace("rename", "copy"), TEN, {"g": TEN}),
    "the old name may be that of a backup": (CHANGED.replace("--- a/f", "--- a/f.orig\t2026-01-01"), TEN, {"f": FIVE}),
}
LINK = "diff --git a/l b/l\nnew file mode {}\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
REFUSED = {
    "other context": (CHANGED, TEN.replace("line 6", "line 6 "), "(patch failed: f:4); rebase it on these sources"),
    "a file that is not there": (CHANGED.replace("/f", "/g"), "", "g: No such file or directory"),
    "a new file that is there": (NEW, "one\n", "f: already exists"),
    "a renaming out of the tree": (RENAMED.replace("to g", "to ../f"), "", "names '../f', which is not a path within"),
    "a binary file": (
        "diff --git a/b b/b\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n",
        "",
        "corrupt binary patch",
    ),
    "a binary file that differs": (
        "diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n",
        "",
        "the patch changes the binary file b",
    ),
    "a hunk that is cut off": (CHANGED.partition("-line 5")[0], TEN, "corrupt patch at line 5"),
    "nothing": ("", TEN, "(No valid patches in input)"),
    "a link": (LINK.format("120000"), "", "makes l something else than a regular file"),
    "a submodule": (LINK.format("160000"), "", "makes l something else than a regular file"),
}


def refusal(patch: str, file: str) -> str:
    with pytest.raises(PatchRefused) as raised:
        changes((patch,), {"f": Plain(file.encode())}.get)
    return str(raised.value)


@pytest.mark.parametrize("name", APPLIED)
def test_what_becomes_of_a_file(name: str) -> None:
    patch, file, files = APPLIED[name]
    found = changes((patch,), {"f": Plain(file.encode())}.get)
    assert {path: plain and plain.content.decode() for path, plain in found.items()} == files


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    patch, file, why = REFUSED[name]
    assert why in refusal(patch, file)


@pytest.mark.parametrize("name", ["a/../f", "a/x/../../f", "a/.git/config", "a//f"])
def test_paths_out_of_the_tree(name: str) -> None:
    assert "which is not a path within the tree" in refusal(f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-1\n+2\n", "1\n")


def test_bytes_that_are_no_text_stay() -> None:
    tree = {"f": Plain(b"a\nb\nd\n\xff\xfe\n")}
    patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"
    assert changes((patch,), tree.get) == {"f": Plain(b"a\nc\nd\n\xff\xfe\n")}


def test_a_file_may_be_run() -> None:
    assert changes((NEW,), dict[str, Plain]().get) == {"f": Plain(b"hi\n", executable=True)}
    assert changes((MODE,), {"f": Plain(b"#!\n")}.get) == {"f": Plain(b"#!\n", executable=True)}


def test_a_name_with_unusual_characters() -> None:
    patch = '--- "a/\\303\\251t\\303\\251.h"\n+++ "b/\\303\\251t\\303\\251.h"\n@@ -1 +1 @@\n-1\n+2\n'
    assert changes((patch,), {"été.h": Plain(b"1\n")}.get) == {"été.h": Plain(b"2\n")}


# What a failed build says comes down to one line, and to what kind of failure it is

MAKE = "make[1]: *** [Makefile:7: a.o] Error 1\nmake: *** [Makefile:3: all] Error 2\n"


def failed(folder: Path, text: str, status: int) -> LinesmithError:
    """The error of a command that has said this and ended so."""
    (folder / "log").write_text(text)
    return failure(folder / "log", status)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            f"  CC a.o\nb.c:1:2: warning: odd\na.c: In function 'f':\na.c:5:3: error: none\n{MAKE}",
            "a.c:5:3: error: none",
        ),
        (f"a.c:1:10: fatal error: none.h: No such file or directory\n{MAKE}", "a.c:1:10: fatal error: none.h: No such"),
        (f"{{standard input}}:9: Error: no such instruction\n{MAKE}", "{standard input}:9: Error: no such instruction"),
        (f"/bin/ld: a.o: in function `f':\na.c:3: undefined reference to `g'\n{MAKE}", "a.c:3: undefined reference"),
        (
            "CMake Error at CMakeLists.txt:3 (add):\n  Cannot find b.c\n\nmore\n",
            "CMake Error at CMakeLists.txt:3 (add)",
        ),
        ("configure: error: no libfoo\n", "configure: error: no libfoo"),
        (MAKE, "make[1]: *** [Makefile:7: a.o] Error 1"),
        ("***\n*** The source tree is not clean\n***\n", "*** The source tree is not clean"),
        ("\nsomething odd\n\n", "something odd"),
        ("", "the build failed without a word"),
    ],
)
def test_the_first_complaint(tmp_path: Path, text: str, line: str) -> None:
    assert str(failed(tmp_path, text, 2)).startswith(line)


@pytest.mark.parametrize(
    ("text", "status", "kind", "words"),
    [
        ("a.c:1: error: x\n", 2, BuildFailed, r"^a\.c:1: error: x; see "),
        ("gcc: fatal error: Killed signal terminated program cc1\n", 2, CompilerKilled, "program cc1; use fewer"),
        ("collect2: fatal error: ld terminated with signal 9 [Killed]\n", 2, CompilerKilled, "ld terminated with"),
        ("clang: error: unable to execute command: Killed\n", 1, CompilerKilled, "unable to execute command: Killed"),
        ("cc1: out of memory allocating 65536 bytes after a total of 7 bytes\n", 2, CompilerKilled, "out of memory"),
        ("make: *** [Makefile:2: a.o] Error 137\n", 2, CompilerKilled, "Error 137"),
        ("", 139, CompilerKilled, "the build was killed by Segmentation fault"),
        ("ld: final link failed: No space left on device\n", 1, DiskFull, "no space left on a disk"),
        ("sh: 1: cmake: not found\n", 127, ToolMissing, "cmake is not installed; install the package cmake"),
        ("sh: 1: ninja: not found\n", 127, ToolMissing, "install the package ninja-build"),
        ("make: autoreconf: No such file or directory\n", 2, ToolMissing, "install the package autoconf"),
        ("/bin/sh: 1: pahole: not found\nmake: *** [x] Error 127\n", 2, ToolMissing, "install the package dwarves"),
        ("sh: 1: git: not found\na.c:1: error: x\n", 2, BuildFailed, "error: x"),
    ],
)
def test_the_kind_of_failure(tmp_path: Path, text: str, status: int, kind: type[Exception], words: str) -> None:
    error = failed(tmp_path, text, status)
    assert type(error) is kind
    assert re.search(words, str(error))
    assert str(error).endswith(f" {tmp_path / 'log'}")
