# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint --patch``: what mails of git make of a tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import LINK, Commits, Entry, repository
from patch_cases import write_files

from linesmith.patches.build.confinement import is_confinable

HEADER = "struct cache {\n\tlong uses;\n\tlong hits __attribute__((aligned(64)));\n\tlong misses;\n};\n"
UNALIGNED = HEADER.replace(" __attribute__((aligned(64)))", "")
RENAMED = UNALIGNED.replace("misses", "lost")
LOST = "a.h:3: WARNING: struct cache: hits was aligned to 64 bytes and is no longer"

Files = dict[str, str | bytes | Entry]


def mails(made: Commits, *versions: Files) -> list[str]:
    """What ``git format-patch`` writes of commits with these files, one after the other."""
    commits = [made.commit(versions[0])]
    for files in versions[1:]:
        commits.append(made.commit(files, commits[-1]))
    return [made.git("format-patch", "--stdout", "-1", one) + "\n" for one in commits[1:]]


def lint(tree: Path, *patches: str) -> subprocess.CompletedProcess[str]:
    """Judge the patches, the first of which comes over standard input."""
    files = [tree.parent / f"{number}.patch" for number in range(1, len(patches))]
    for file, text in zip(files, patches[1:], strict=True):
        file.write_text(text)
    options = [part for one in (Path("-"), *files) for part in ("--patch", one)]
    return linesmith("lint", "--tree", tree, *options, stdin=patches[0])


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    return repository(tmp_path / "made")


@pytest.mark.parametrize("header", [HEADER, UNALIGNED])
def test_a_patch_is_judged_whether_the_tree_has_it_or_not(tmp_path: Path, made: Commits, header: str) -> None:
    tree = write_files(tmp_path / "tree", {"a.h": header})
    done = lint(tree, *mails(made, {"a.h": HEADER}, {"a.h": UNALIGNED}))
    assert (done.returncode, done.stderr) == (1, "")
    assert LOST in done.stdout
    assert (tree / "a.h").read_text() == header


def test_a_series_is_judged_as_a_whole(tmp_path: Path, made: Commits) -> None:
    tree = write_files(tmp_path / "tree", {"a.h": HEADER})
    texts = mails(made, {"a.h": HEADER}, {"a.h": UNALIGNED}, {"a.h": RENAMED})
    assert LOST in lint(tree, *texts).stdout
    assert LOST in lint(tree, "".join(texts)).stdout
    assert LOST not in lint(write_files(tmp_path / "other", {"a.h": UNALIGNED}), texts[1]).stdout


def test_a_series_may_take_back_what_it_did_and_files_may_come_and_go(tmp_path: Path, made: Commits) -> None:
    tree = write_files(tmp_path / "tree", {"a.h": HEADER, "gone.h": "int g;\n"})
    old: Files = {"a.h": HEADER, "gone.h": "int g;\n"}
    changed = mails(made, old, {"a.h": UNALIGNED, "came.h": "int c;\n"}, {"a.h": HEADER, "came.h": "int c;\n"})
    assert LOST in lint(tree, changed[0]).stdout
    assert lint(tree, *changed).returncode == 0


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("--- a/a.h\n+++ b/a.h\n@@ -1 +1 @@\n-int x;\n+int y;\n", "neither forwards nor backwards"),
        ("--- a/../out.h\n+++ b/../out.h\n@@ -0,0 +1 @@\n+int y;\n", "is no patch of files"),
        ("--- /etc/passwd\n+++ /etc/passwd\n@@ -0,0 +1 @@\n+int y;\n", "is no patch of files"),
        ("nothing\n", "standard input is no patch of files"),
    ],
)
def test_what_is_no_patch_of_the_tree_is_an_error(tmp_path: Path, patch: str, said: str) -> None:
    done = lint(write_files(tmp_path / "tree", {"a.h": HEADER}), patch)
    assert done.returncode == 2
    assert said in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]


def test_a_patch_that_writes_through_its_own_link_does_not_apply(tmp_path: Path, made: Commits) -> None:
    tree = write_files(tmp_path / "tree", {"a.h": HEADER})
    linked: Files = {"a.h": HEADER, "sub": (LINK, str(tmp_path).encode())}
    first, second = mails(made, {"a.h": HEADER}, linked, {"a.h": HEADER, "sub/x.h": "1\n"})
    second = second.replace("deleted file mode 120000", "old mode 120000")
    lint(tree, first, second)
    assert not (tmp_path / "x.h").exists()


def test_no_link_is_followed_whether_a_patch_makes_it_or_the_tree_has_it(tmp_path: Path, made: Commits) -> None:
    tree = write_files(tmp_path / "tree", {"a.h": HEADER})
    done = lint(tree, *mails(made, {"a.h": HEADER}, {"a.h": (LINK, b"/etc/passwd")}))
    assert (done.returncode, "root:" in done.stdout + done.stderr) == (0, False)
    (tree / "a.h").rename(tmp_path / "secret")
    (tree / "a.h").symlink_to(tmp_path / "secret")
    assert lint(tree, *mails(made, {"a.h": HEADER}, {"a.h": UNALIGNED})).returncode == 2


def test_a_tree_that_has_a_changed_build_already_is_refused(tmp_path: Path, made: Commits) -> None:
    after: Files = {"a.h": UNALIGNED, "Makefile": "$(shell touch ran)\n"}
    text = mails(made, {"a.h": HEADER, "Makefile": "all:\n"}, after)
    fresh = lint(write_files(tmp_path / "tree", {"a.h": HEADER, "Makefile": "all:\n"}), *text)
    assert LOST in fresh.stdout
    done = lint(write_files(tmp_path / "other", {"a.h": UNALIGNED, "Makefile": "$(shell touch ran)\n"}), *text)
    assert done.returncode == 2
    assert "which changes Makefile of the build; give the tree without it" in done.stderr


@pytest.mark.skipif(not is_confinable(), reason="this kernel has no Landlock")
def test_gits_own_files_of_the_tree_are_not_read(tmp_path: Path, made: Commits) -> None:
    """Checkouts of a CI have tokens in .git/config."""
    head: Files = {"a.h": '#include ".git/config"\n' + UNALIGNED}
    tree = write_files(tmp_path / "tree", {"a.h": HEADER, ".git/config": "squeamish ossifrage;\n"})
    done = lint(tree, *mails(made, {"a.h": HEADER}, head))
    assert done.returncode == 2
    assert "ossifrage" not in done.stdout + done.stderr
