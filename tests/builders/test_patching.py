# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches are applied as strictly as git does, and their paths are not trusted."""

from __future__ import annotations

import shutil
import subprocess
from difflib import unified_diff
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.base.errors import PatchRefused
from linesmith.plugins.builders.patches import Plain, changes

TEN = "".join(f"line {number}\n" for number in range(1, 11))
CHANGED = "--- a/f\n+++ b/f\n@@ -4,3 +4,3 @@ some heading\n line 4\n-line 5\n+line five\n line 6\n"


def applied(patch: str, **files: str) -> dict[str, str | None]:
    """What the patch makes of these files; a name ending in ``x`` may be run."""
    tree = {name: Plain(text.encode(), name.endswith("x")) for name, text in files.items()}
    return {path: plain.content.decode() if plain else None for path, plain in changes((patch,), tree.get).items()}


def refusal(patch: str, **files: str) -> str:
    with pytest.raises(PatchRefused) as raised:
        applied(patch, **files)
    return str(raised.value)


FIVE = TEN.replace("line 5\n", "line five\n")
MAIL = f"From: someone\nSubject: [PATCH] f: five\n\nWhy.\n---\n f | 2 +-\n\n{CHANGED}-- \n2.39.2\n"
FIRST = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-line 1\n+one\n line 2\n"
LAST = "--- a/f\n+++ b/f\n@@ -9,2 +9,2 @@\n line 9\n-line 10\n+ten\n"
NO_END = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n"
DOS = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\r\n+two\r\n"
EMPTY = "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n"
NEW = "diff --git a/x b/x\nnew file mode 100755\nindex 0000000..5ea2ed4\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+hi\n"
REMOVED = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
RENAMED = "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n"
BLOCK, FAR = "line 4\nline 5\nline 6\n", "x\n" * 40
APPLIED = {
    "lines are replaced": (CHANGED, TEN, {"f": FIVE}),
    "what stands around a diff is passed over": (MAIL, TEN, {"f": FIVE}),
    "lines may have moved down": (CHANGED, "new\n" * 7 + TEN, {"f": "new\n" * 7 + FIVE}),
    "lines may have moved up": (CHANGED, TEN.removeprefix("line 1\n"), {"f": FIVE.removeprefix("line 1\n")}),
    "of two places the nearer one is taken": (
        CHANGED,
        f"{BLOCK}\n{BLOCK}{FAR}{BLOCK}",
        {"f": f"{BLOCK}\n{BLOCK.replace('5', 'five')}{FAR}{BLOCK}"},
    ),
    "a hunk at the beginning": (FIRST, TEN, {"f": TEN.replace("line 1\n", "one\n")}),
    "a hunk at the end": (LAST, f"new\n{TEN}", {"f": f"new\n{TEN.replace('line 10', 'ten')}"}),
    "an insertion without context": (
        "--- a/f\n+++ b/f\n@@ -2,0 +3 @@\n+between\n",
        "1\n2\n3\n",
        {"f": "1\n2\nbetween\n3\n"},
    ),
    "a last line without its end": (NO_END, "one", {"f": "two"}),
    "an empty line that lost its blank": (
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n",
        "a\n\nb\n",
        {"f": "a\n\nc\n"},
    ),
    "carriage returns are content": (DOS, "one\r\n", {"f": "two\r\n"}),
    "a new file that is empty": (EMPTY, "", {"n": ""}),
    "a file that is removed": (REMOVED, "one\n", {"f": None}),
    "a file that is renamed": (RENAMED, TEN, {"f": None, "g": TEN}),
    "a file that is renamed and changed": (RENAMED + CHANGED.replace("b/f", "b/g"), TEN, {"f": None, "g": FIVE}),
    "a file that is copied": (RENAMED.replace("rename", "copy"), TEN, {"g": TEN}),
    "the old name may be that of a backup": (CHANGED.replace("--- a/f", "--- a/f.orig\t2026-01-01"), TEN, {"f": FIVE}),
}
TWICE = CHANGED + CHANGED.partition("\n")[2].partition("\n")[2]
NOT_THERE = "does not apply: the tree has other lines there; rebase the patch"
REFUSED = {
    "other context": (CHANGED, TEN.replace("line 6", "line 6 "), f"hunk 1 of f (line 4) {NOT_THERE}"),
    "hunks that overlap": (TWICE, TEN, "hunk 2 of f (line 4) does not apply"),
    "a hunk that is not at the beginning": (FIRST, f"new\n{TEN}", "does not apply"),
    "a hunk that is not at the end": (LAST, f"{TEN}new\n", "does not apply"),
    "a last line with its end": (NO_END, "one\n", "does not apply"),
    "lines without carriage returns": (DOS.replace("\r", ""), "one\r\n", "does not apply"),
    "a file that is removed and longer": (REMOVED, "one\ntwo\n", "removes f, which has more lines than it lists"),
    "a file that is not there": (REMOVED, None, "changes f, which the tree does not have"),
    "a renaming out of the tree": (
        "diff --git a/f b/f\nrename from f\nrename to ../f\n",
        "",
        "not a path within the tree",
    ),
    "a binary file": (
        "diff --git a/b b/b\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n",
        "",
        "binary file",
    ),
    "a hunk that is cut off in a line": (CHANGED.removesuffix(" line 6\n"), TEN, "hunk 1 of f is damaged; create the"),
    "a hunk that is cut off": (CHANGED.partition("-line 5")[0], TEN, "hunk 1 of f is damaged; create the patch again"),
    "no patch": ("", TEN, "holds no unified diff"),
    "a text": ("nothing to see\n", TEN, "holds no unified diff"),
    "half a head": ("--- a/f\n", TEN, "holds no unified diff"),
    "a hunk without a head": ("@@ -1 +1 @@\n-1\n+2\n", TEN, "holds no unified diff"),
}


@pytest.mark.parametrize("name", APPLIED)
def test_what_becomes_of_a_file(name: str) -> None:
    patch, file, files = APPLIED[name]
    assert applied(patch, f=file) == files


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    patch, file, why = REFUSED[name]
    assert why in (refusal(patch) if file is None else refusal(patch, f=file))


def test_patches_build_on_each_other() -> None:
    second = CHANGED.replace("-line 5", "-line five").replace("+line five", "+line 5!")
    tree = {"f": Plain(TEN.encode())}
    assert changes((CHANGED, second), tree.get) == {"f": Plain(TEN.replace("5", "5!").encode())}


def test_bytes_that_are_no_text_stay() -> None:
    tree = {"f": Plain(b"a\nb\nd\n\xff\xfe\n")}
    patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"
    assert changes((patch,), tree.get) == {"f": Plain(b"a\nc\nd\n\xff\xfe\n")}


def test_a_new_file_may_be_run() -> None:
    assert changes((NEW,), dict[str, Plain]().get) == {"x": Plain(b"hi\n", executable=True)}
    assert "creates x, which already exists" in refusal(NEW, x="")
    mode = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    assert changes((mode,), {"f": Plain(b"#!\n")}.get) == {"f": Plain(b"#!\n", executable=True)}


def test_a_name_with_unusual_characters() -> None:
    patch = '--- "a/\\303\\251t\\303\\251.h"\n+++ "b/\\303\\251t\\303\\251.h"\n@@ -1 +1 @@\n-1\n+2\n'
    assert changes((patch,), {"été.h": Plain(b"1\n")}.get) == {"été.h": Plain(b"2\n")}


@pytest.mark.parametrize("name", ["a/../f", "a/x/../../f", "/etc/passwd", "a/.git/config", "f", "a//f", '"a/\\0f"'])
def test_paths_out_of_the_tree(name: str) -> None:
    assert "the patch names" in refusal(f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-1\n+2\n", f="1\n")


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_no_links_are_made(mode: str) -> None:
    patch = f"diff --git a/l b/l\nnew file mode {mode}\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
    assert refusal(patch) == "the patch makes l something other than a regular file; only regular files can be patched"


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "-- c\n", "+++ d\n", "@@ -1 +1 @@\n"]), max_size=12)


@settings(max_examples=60)
@given(LINES, LINES)
def test_what_diff_writes_leads_from_old_to_new(old: list[str], new: list[str]) -> None:
    patch = "".join(unified_diff(old, new, "a/f", "b/f"))
    assume(patch)
    assert applied(patch, f="".join(old)) == {"f": "".join(new)}


@settings(max_examples=40)
@given(st.lists(st.integers(0, 9), min_size=8, max_size=30), st.data())
def test_git_makes_the_same_of_it(numbers: list[int], data: st.DataObject) -> None:
    """Also where the file has changed elsewhere meanwhile; what git refuses, we refuse."""
    git = shutil.which("git")
    if not git:
        pytest.skip("git is not installed")
    old = [f"{number}\n" for number in numbers]
    place = data.draw(st.integers(0, len(old) - 1))
    new = [*old[:place], "changed\n", *old[place + 1 :]]
    patch = "".join(unified_diff(old, new, "a/f", "b/f"))
    other = data.draw(st.integers(0, len(old) - 1))
    file = "".join([*old[:other], *data.draw(st.lists(st.just("more\n"), max_size=2)), *old[other:]])
    assert ours(patch, file) == by_git(git, patch, file)


def ours(patch: str, file: str) -> str | None:
    try:
        return applied(patch, f=file)["f"]
    except PatchRefused:
        return None


def by_git(git: str, patch: str, file: str) -> str | None:
    folder = Path(subprocess.run(("mktemp", "-d"), capture_output=True, text=True, check=True).stdout.strip())
    try:
        (folder / "f").write_text(file)
        ended = subprocess.run(
            (git, "apply", "-"), cwd=folder, input=patch, text=True, capture_output=True, check=False
        )
        return (folder / "f").read_text() if ended.returncode == 0 else None
    finally:
        shutil.rmtree(folder)
