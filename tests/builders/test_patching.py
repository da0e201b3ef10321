# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches are applied by git, in a scratch folder, and what a failed build says comes down to one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linesmith.analyzer.base.errors import (
    BuildFailed,
    CompilerKilled,
    DiskFull,
    LinesmithError,
    PatchRefused,
    ToolMissing,
)
from linesmith.plugins.builders.building import failure
from linesmith.plugins.builders.patches import Plain, changes

TEN = "".join(f"line {number}\n" for number in range(1, 11))
CHANGED = "--- a/f\n+++ b/f\n@@ -4,3 +4,3 @@ some heading\n line 4\n-line 5\n+line five\n line 6\n"
FIVE = TEN.replace("line 5\n", "line five\n")
MAIL = f"From: someone\nSubject: [PATCH] f: five\n\nWhy.\n---\n f | 2 +-\n\n{CHANGED}-- \n2.39.2\n"
NO_END = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n"
DOS = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\r\n+two\r\n"
EMPTY = "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n"
NEW = "diff --git a/f b/f\nnew file mode 100755\nindex 0000000..5ea2ed4\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+hi\n"
REMOVED = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
RENAMED = "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n"
MODE = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
APPLIED = {
    "what stands around a diff is passed over": (MAIL, TEN, {"f": FIVE}),
    "lines may have moved": (CHANGED, "new\n" * 7 + TEN, {"f": "new\n" * 7 + FIVE}),
    "a last line without its end": (NO_END, "one", {"f": "two"}),
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
    "lines without carriage returns": (DOS.replace("\r", ""), "one\r\n", "patch failed"),
    "a file that is removed and longer": (REMOVED, "one\ntwo\n", "patch failed"),
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
    "a text": ("nothing to see\n", TEN, "(No valid patches in input)"),
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


def test_patches_build_on_each_other() -> None:
    second = CHANGED.replace("-line 5", "-line five").replace("+line five", "+line 5!")
    tree = {"f": Plain(TEN.encode())}
    assert changes((CHANGED, second), tree.get) == {"f": Plain(TEN.replace("5", "5!").encode())}


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
