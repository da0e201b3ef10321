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

from linesmith.analyzer.errors import PatchRefused
from linesmith.plugins.builders.patching import Plain, changes

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


def test_lines_are_replaced() -> None:
    assert applied(CHANGED, f=TEN) == {"f": TEN.replace("line 5\n", "line five\n")}


def test_what_stands_around_a_diff_is_passed_over() -> None:
    mail = f"From: someone\nSubject: [PATCH] f: five\n\nWhy.\n---\n f | 2 +-\n\n{CHANGED}-- \n2.39.2\n"
    assert applied(mail, f=TEN) == {"f": TEN.replace("line 5\n", "line five\n")}


def test_lines_may_have_moved() -> None:
    assert applied(CHANGED, f="new\n" * 7 + TEN) == {"f": "new\n" * 7 + TEN.replace("line 5\n", "line five\n")}
    assert applied(CHANGED, f=TEN.removeprefix("line 1\n")) == {"f": TEN[7:].replace("line 5\n", "line five\n")}


def test_of_two_places_the_nearer_one_is_taken() -> None:
    block, far = "line 4\nline 5\nline 6\n", "x\n" * 40
    near = block.replace("5", "five")
    assert applied(CHANGED, f=f"{block}\n{block}{far}{block}")["f"] == f"{block}\n{near}{far}{block}"


def test_other_context_is_refused() -> None:
    assert refusal(CHANGED, f=TEN.replace("line 6", "line 6 ")) == (
        "hunk 1 of f (line 4) does not apply: its lines are not there; make the patch for this state of the tree"
    )


def test_hunks_do_not_overlap() -> None:
    twice = CHANGED + CHANGED.partition("\n")[2].partition("\n")[2]
    assert "hunk 2 of f (line 4) does not apply" in refusal(twice, f=TEN)


def test_patches_build_on_each_other() -> None:
    second = CHANGED.replace("-line 5", "-line five").replace("+line five", "+line 5!")
    tree = {"f": Plain(TEN.encode())}
    assert changes((CHANGED, second), tree.get) == {"f": Plain(TEN.replace("5", "5!").encode())}


def test_a_hunk_at_the_beginning_or_the_end_stays_there() -> None:
    first = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-line 1\n+one\n line 2\n"
    last = "--- a/f\n+++ b/f\n@@ -9,2 +9,2 @@\n line 9\n-line 10\n+ten\n"
    assert applied(first, f=TEN)["f"] == TEN.replace("line 1\n", "one\n")
    assert applied(last, f=f"new\n{TEN}")["f"] == f"new\n{TEN.replace('line 10', 'ten')}"
    assert "does not apply" in refusal(first, f=f"new\n{TEN}")
    assert "does not apply" in refusal(last, f=f"{TEN}new\n")


def test_insertion_without_context() -> None:
    assert applied("--- a/f\n+++ b/f\n@@ -2,0 +3 @@\n+between\n", f="1\n2\n3\n") == {"f": "1\n2\nbetween\n3\n"}


def test_a_last_line_without_its_end() -> None:
    patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n"
    assert applied(patch, f="one") == {"f": "two"}
    assert "does not apply" in refusal(patch, f="one\n")


def test_an_empty_line_that_lost_its_blank() -> None:
    assert applied("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", f="a\n\nb\n") == {"f": "a\n\nc\n"}


def test_carriage_returns_are_content() -> None:
    assert applied("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\r\n+two\r\n", f="one\r\n") == {"f": "two\r\n"}
    assert "does not apply" in refusal("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n", f="one\r\n")


def test_bytes_that_are_no_text_stay() -> None:
    tree = {"f": Plain(b"a\nb\nd\n\xff\xfe\n")}
    patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n d\n"
    assert changes((patch,), tree.get) == {"f": Plain(b"a\nc\nd\n\xff\xfe\n")}


def test_a_new_file() -> None:
    patch = (
        "diff --git a/x b/x\nnew file mode 100755\nindex 0000000..5ea2ed4\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+hi\n"
    )
    assert changes((patch,), dict[str, Plain]().get) == {"x": Plain(b"hi\n", executable=True)}
    assert "makes x, which the tree has already" in refusal(patch, x="")


def test_a_new_file_that_is_empty() -> None:
    assert applied("diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n") == {"n": ""}


def test_a_file_that_is_removed() -> None:
    patch = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
    assert applied(patch, f="one\n") == {"f": None}
    assert "removes f, which has more lines than it names" in refusal(patch, f="one\ntwo\n")
    assert "changes f, which the tree does not have" in refusal(patch)


def test_a_renamed_file_and_a_copied_one() -> None:
    head = "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n"
    assert applied(head, f=TEN) == {"f": None, "g": TEN}
    changed = head + CHANGED.replace("b/f", "b/g")
    assert applied(changed, f=TEN) == {"f": None, "g": TEN.replace("line 5", "line five")}
    assert applied(head.replace("rename", "copy"), f=TEN) == {"g": TEN}


def test_a_file_that_may_be_run_from_now_on() -> None:
    patch = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    assert changes((patch,), {"f": Plain(b"#!\n")}.get) == {"f": Plain(b"#!\n", executable=True)}


def test_the_old_name_may_be_that_of_a_backup() -> None:
    assert applied(CHANGED.replace("--- a/f", "--- a/f.orig\t2026-01-01"), f=TEN)["f"] != TEN


def test_a_name_with_unusual_characters() -> None:
    patch = '--- "a/\\303\\251t\\303\\251.h"\n+++ "b/\\303\\251t\\303\\251.h"\n@@ -1 +1 @@\n-1\n+2\n'
    assert changes((patch,), {"été.h": Plain(b"1\n")}.get) == {"été.h": Plain(b"2\n")}


@pytest.mark.parametrize("name", ["a/../f", "a/x/../../f", "/etc/passwd", "a/.git/config", "f", "a//f", '"a/\\0f"'])
def test_paths_out_of_the_tree(name: str) -> None:
    assert "the patch names" in refusal(f"--- {name}\n+++ {name}\n@@ -1 +1 @@\n-1\n+2\n", f="1\n")


def test_a_renaming_out_of_the_tree() -> None:
    assert "no path within the tree" in refusal("diff --git a/f b/f\nrename from f\nrename to ../f\n", f="")


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_no_links_are_made(mode: str) -> None:
    patch = f"diff --git a/l b/l\nnew file mode {mode}\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
    assert refusal(patch) == "the patch makes l something else than a plain file; only plain files can be patched"


def test_no_binary_files() -> None:
    assert "binary file" in refusal("diff --git a/b b/b\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n", b="")


@pytest.mark.parametrize("text", ["", "nothing to see\n", "--- a/f\n", "@@ -1 +1 @@\n-1\n+2\n"])
def test_no_diff_at_all(text: str) -> None:
    assert "holds no unified diff" in refusal(text, f=TEN)


@pytest.mark.parametrize("cut", [" line 6\n", "-line 5\n+line five\n line 6\n"])
def test_a_hunk_that_is_cut_off(cut: str) -> None:
    assert refusal(CHANGED.removesuffix(cut), f=TEN) == "hunk 1 of f is damaged; make the patch again"


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
