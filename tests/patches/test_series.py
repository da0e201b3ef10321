# SPDX-License-Identifier: GPL-2.0-or-later
"""A series as files, the diffs in them, and what git and patch make of both."""

from __future__ import annotations

import random
import subprocess
import tempfile
from email import message_from_bytes
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patch_cases import git, stamps, write_files

from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.model import FileChange, PatchSeries, SeriesStep
from linesmith.patches.series.mails import PatchFile, differing_lines, diffstat, patch_files, unified_diff

HEADER = "struct cache {\n\tlong root;\n\tlong lock;\n\tlong uses;\n};\n"
MOVED = "struct cache {\n\tlong root;\n\tlong uses;\n\tlong lock;\n};\n"
ALIGNED = "struct cache {\n\tlong root;\n\tlong uses;\n\tlong lock __aligned(64);\n};\n"
FILE = "include/linux/cache.h"


def change(before: str, after: str, file: str = FILE) -> FileChange:
    return FileChange(file, before.encode(), after.encode())


MOVE = SeriesStep("cache: move lock\n\nIt meets root.\n", (change(HEADER, MOVED),))
ALIGN = SeriesStep("cache: align lock\n\nIt meets uses.\n", (change(MOVED, ALIGNED),))
BOTH = PatchSeries((MOVE, ALIGN))


def repository(tree: Path, header: str = HEADER) -> Path:
    write_files(tree, {FILE: header})
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "user.name", "Ann Other")
    git(tree, "config", "user.email", "ann@example.org")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "cache: begin")
    return tree


def kept(files: tuple[PatchFile, ...], folder: Path) -> list[str]:
    folder.mkdir()
    for file in files:
        (folder / file.name).write_bytes(file.content)
    return [str(folder / file.name) for file in files]


def test_a_series_becomes_the_mails_that_git_takes(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    before = stamps(tree)
    names = kept(patch_files(BOTH, tree), tmp_path / "out")
    assert stamps(tree) == before, "the user's repository is only read"
    assert [Path(name).name for name in names] == ["0001-cache-move-lock.patch", "0002-cache-align-lock.patch"]
    first, last = (Path(name).read_bytes() for name in names)
    assert message_from_bytes(first)["Subject"] == "[PATCH 1/2] cache: move lock"
    assert first.endswith(f"\nbase-commit: {git(tree, 'rev-parse', 'HEAD').strip()}\n".encode())
    assert b"base-commit" not in last
    git(tree, "am", "-q", *names)
    assert (tree / FILE).read_text() == ALIGNED
    assert git(tree, "log", "-2", "--format=%an <%ae>%n%B") == (
        "Ann Other <ann@example.org>\ncache: align lock\n\nIt meets uses.\n\n"
        "Ann Other <ann@example.org>\ncache: move lock\n\nIt meets root.\n\n"
    )


def test_what_is_not_committed_has_no_base(tmp_path: Path) -> None:
    tree = repository(tmp_path, "struct cache;\n")
    (tree / FILE).write_text(HEADER, encoding="utf-8")
    (only,) = patch_files(PatchSeries((MOVE,)), tree)
    assert b"base-commit" not in only.content
    assert b"\n-\tlong lock;\n \tlong uses;\n+\tlong lock;\n" in only.content


def test_a_folder_of_a_repository_gets_plain_diffs_with_its_own_names(tmp_path: Path) -> None:
    tree = repository(tmp_path)
    inner = SeriesStep("linux: move lock\n", (change(HEADER, MOVED, "linux/cache.h"),))
    (only,) = patch_files(PatchSeries((inner,)), tree / "include")
    assert only.content.startswith(b"linux: move lock\n---\n linux/cache.h | 2 +-\n")


def test_a_tree_without_git_gets_plain_diffs(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {FILE: HEADER})
    files = patch_files(BOTH, tree)
    assert [file.name for file in files] == ["0001-cache-move-lock.patch", "0002-cache-align-lock.patch"]
    assert files[0].content == (
        b"cache: move lock\n\nIt meets root.\n---\n include/linux/cache.h | 2 +-\n"
        b" 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
        b"diff --git a/include/linux/cache.h b/include/linux/cache.h\n"
        b"--- a/include/linux/cache.h\n+++ b/include/linux/cache.h\n"
        b"@@ -1,5 +1,5 @@\n struct cache {\n \tlong root;\n-\tlong lock;\n \tlong uses;\n+\tlong lock;\n };\n"
    )
    for name in kept(files, tmp_path / "out"):
        subprocess.run(["patch", "-p1", "-s", "-i", name], cwd=tree, check=True, capture_output=True, timeout=300)
    assert (tree / FILE).read_text() == ALIGNED


def test_a_line_of_a_message_cannot_end_it(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    step = SeriesStep("cache: move lock\n\nIt said:\n---\nFrom here\ndiff -u\n", MOVE.changes)
    (name,) = kept(patch_files(PatchSeries((step,)), tree), tmp_path / "out")
    git(tree, "am", "-q", name)
    assert git(tree, "log", "-1", "--format=%b").rstrip() == "It said:\n ---\n From here\n diff -u"


def test_a_file_that_changed_meanwhile_gets_no_patch(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {FILE: MOVED})
    with pytest.raises(TreeError, match=r"cache\.h has changed meanwhile; run the command again"):
        patch_files(PatchSeries((MOVE,)), tree)


def test_the_configuration_of_a_user_changes_no_mail(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    plain = patch_files(PatchSeries((MOVE,)), tree)
    for setting in ("format.signOff true", "diff.noprefix true", "core.hooksPath /", "diff.external false"):
        git(tree, "config", *setting.split())
    (first,), (second,) = plain, patch_files(PatchSeries((MOVE,)), tree)
    assert first.content.partition(b"Subject:")[2] == second.content.partition(b"Subject:")[2]


# Diffs: the text, and that git and patch make the new file of the old one

NUMBERS = [b"%d\n" % number for number in range(1, 13)]
APPLIERS = (("git", "apply", "../p"), ("patch", "-p1", "--binary", "-s", "-i", "../p"))


def test_one_moved_line_is_one_hunk_with_its_function() -> None:
    old = b"struct s {\n" + b"".join(NUMBERS) + b"};\n"
    new = b"struct s {\n" + b"".join([*NUMBERS[:4], *NUMBERS[5:8], NUMBERS[4], *NUMBERS[8:]]) + b"};\n"
    assert unified_diff(old, new, "include/linux/s.h") == (
        b"diff --git a/include/linux/s.h b/include/linux/s.h\n--- a/include/linux/s.h\n+++ b/include/linux/s.h\n"
        b"@@ -3,10 +3,10 @@ struct s {\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n+5\n 9\n 10\n 11\n"
    )


def test_the_statistics_are_those_of_git() -> None:
    diff = unified_diff(b"a\n++ b\n-- c\n", b"++ b\n-- c\na\nd\n", "dir/s.h")
    assert diffstat(diff) == " dir/s.h | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)\n"


def test_the_lines_that_differ_are_counted_from_nought() -> None:
    old, new = b"a\nb\nc\nd\n", b"a\nB\nc\nx\nd\n"
    assert list(differing_lines(old, new)) == [(range(1, 2), range(1, 2)), (range(3, 3), range(3, 4))]


ANY = (b"a\n", b"b\n", b"\n", b"  c\r\n", b"int f(void)\n", b"-- x\n", b"++ y\n")
LINES = st.lists(st.sampled_from(ANY), max_size=14)


@settings(max_examples=12)
@given(LINES, LINES, st.booleans(), st.randoms(use_true_random=False))
def test_git_and_patch_make_the_new(start: list[bytes], extra: list[bytes], cut: bool, chance: random.Random) -> None:
    lines = [*start, *extra[:3], b"last\n"]
    changed = [line for line in lines if chance.random() > 0.2]
    for line in extra[:3]:
        changed.insert(chance.randrange(len(changed) + 1), line)
    old, new = b"".join(lines)[: -1 if cut else None], b"".join(changed)
    if new and old != new:
        diff = unified_diff(old, new, "d/s.h")
        assert [applied(argv, old, diff) for argv in APPLIERS] == [new, new]


def applied(argv: tuple[str, ...], old: bytes, diff: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as made:
        tree = Path(made) / "tree"
        (tree / "d").mkdir(parents=True)
        (tree / "d" / "s.h").write_bytes(old)
        (Path(made) / "p").write_bytes(diff)
        subprocess.run(argv, cwd=tree, check=True, capture_output=True, timeout=300)
        return (tree / "d" / "s.h").read_bytes()
