# SPDX-License-Identifier: GPL-2.0-or-later
"""Two revisions of a repository as files before and after, without a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_commits import LINK, MODULE, Commits, repository

from linesmith.analyzer.base.errors import TreeError
from linesmith.patches.revisions.git import repository_of
from linesmith.patches.revisions.versions import Versions, revisions


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    return repository(tmp_path / "tree")


def compare(made: Commits, old: str, new: str, folder: str = "") -> tuple[Versions, dict[str, str]]:
    """The versions, and the files of the image by name; a link is told by what it points to."""
    with revisions(repository_of(made.root / folder), old, new, lambda _: None) as found:
        paths = [path for path in sorted(found.root.rglob("*")) if path.is_symlink() or path.is_file()]
        told = {
            str(path.relative_to(found.root)): str(path.readlink()) if path.is_symlink() else path.read_text()
            for path in paths
        }
        return found, told


def test_files_that_differ_are_read_from_git_and_the_first_version_lies_in_the_cache(made: Commits) -> None:
    old = made.commit({"a.h": "int x;", "sub/b.c": "int y;", "text": "t"})
    new = made.commit({"a.h": "long x;", "sub/b.c": "int y;", "c.h": "new", "text": "u"}, old)
    found, files = compare(made, old, new)
    assert [(one.file, one.before, one.after) for one in found.changes] == [
        ("a.h", b"int x;", b"long x;"),
        ("c.h", None, b"new"),
    ]
    assert files == {"a.h": "int x;", "sub/b.c": "int y;", "text": "t"}
    assert found.remarks == ()
    assert [path.name for path in made.root.iterdir()] == [".git"]


def test_the_image_follows_from_one_base_to_the_next(made: Commits) -> None:
    first = made.commit({"a/x.h": "1", "b.h": "2", "gone/z.h": "3", "link": (LINK, b"b.h")})
    second = made.commit({"a": "now a file", "b.h": "2", "link/y.h": "4"}, first)
    assert compare(made, first, first)[1] == {"a/x.h": "1", "b.h": "2", "gone/z.h": "3", "link": "b.h"}
    assert compare(made, second, first)[1] == {"a": "now a file", "b.h": "2", "link/y.h": "4"}
    assert compare(made, first, second)[1] == {"a/x.h": "1", "b.h": "2", "gone/z.h": "3", "link": "b.h"}


def test_a_folder_of_a_repository_is_a_tree_of_its_own(made: Commits) -> None:
    old = made.commit({"sub/a.h": "1", "b.h": "1"})
    new = made.commit({"sub/a.h": "2", "b.h": "2"}, old)
    (made.root / "sub").mkdir()
    found, files = compare(made, old, new, "sub")
    assert [one.file for one in found.changes] == ["a.h"]
    assert files == {"a.h": "1"}


@pytest.mark.parametrize("name", ["", "nothing", "--upload-pack=touch /tmp/x", "-h", "HEAD:a.h", "a\nb"])
def test_what_names_no_commit_is_an_error(made: Commits, name: str) -> None:
    with pytest.raises(TreeError, match="revision"):
        compare(made, name, made.commit({"a.h": "1"}))


def test_a_folder_outside_of_any_repository_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="is not in a git repository"):
        repository_of(tmp_path)


@pytest.mark.parametrize("name", ["..", ".git", ".GIT", "."])
def test_names_that_lead_out_of_the_tree_are_never_written(made: Commits, name: str) -> None:
    evil = made.commit_tree_of({name: ("100644", b"x"), "a.h": ("100644", b"1")})
    assert compare(made, evil, evil)[1] == {"a.h": "1"}


@pytest.mark.parametrize("target", [b"/etc/passwd", b"../../etc/passwd", b"../../out", b"a/../b", b""])
def test_links_that_leave_the_tree_are_not_made(made: Commits, target: bytes) -> None:
    evil = made.commit({"a.h": "1", "sub/link.h": (LINK, target), "good.h": (LINK, b"a.h")})
    assert compare(made, evil, evil)[1] == {"a.h": "1", "good.h": "a.h"}


NOT_FOLLOWED = "not followed: check out what both revisions name, and what differs there is judged"


def with_submodule(folder: Path, text: str) -> tuple[Commits, Commits, str]:
    """A repository, one that is checked out in it, and a commit of the first that names a commit of the second."""
    made, inner = repository(folder), repository(folder / "lib")
    first = inner.commit({"inner.h": text})
    return made, inner, made.commit({".gitmodules": "[submodule]\n", "lib": (MODULE, first.encode())})


def test_a_submodule_is_read_at_the_commit_that_the_base_names_once_it_is_checked_out(tmp_path: Path) -> None:
    made, inner, old = with_submodule(tmp_path, "1")
    inner.root.rename(tmp_path / "later")
    assert "lib/inner.h" not in compare(made, old, old)[1]
    (tmp_path / "later").rename(inner.root)
    second = inner.commit({"inner.h": "2"})
    inner.git("update-ref", "HEAD", second)
    assert compare(made, old, old)[1]["lib/inner.h"] == "1"
    new = made.commit({".gitmodules": "[submodule]\n", "lib": (MODULE, second.encode())}, old)
    assert compare(made, new, new)[1]["lib/inner.h"] == "2"


def changes(found: Versions) -> list[tuple[str, bytes | None, bytes | None]]:
    return [(one.file, one.before, one.after) for one in found.changes]


def naming(commit: str, **files: str) -> dict[str, str | tuple[str, bytes]]:
    """The files of a commit that names one of the submodule."""
    return {".gitmodules": "[submodule]\n", "lib": (MODULE, commit.encode()), **files}


def test_what_another_commit_of_a_submodule_changes_is_a_change(tmp_path: Path) -> None:
    made, inner, old = with_submodule(tmp_path, "1")
    second = inner.commit({"inner.h": "2", "new/x.h": "x", "text": "t", "Makefile": "m"})
    found, files = compare(made, old, made.commit({**naming(second), "a.h": "a"}, old))
    assert changes(found) == [("a.h", None, b"a"), ("lib/inner.h", b"1", b"2"), ("lib/new/x.h", None, b"x")]
    (remark,) = found.remarks
    assert remark.startswith("1 file (lib/Makefile) of the build differs")
    assert files["lib/inner.h"] == "1"


def test_a_submodule_that_came_went_or_became_a_folder_is_as_many_files(tmp_path: Path) -> None:
    made, _, with_it = with_submodule(tmp_path, "1")
    without, folder = made.commit({"a.h": "a"}), made.commit({"lib/inner.h": "2"})
    assert changes(compare(made, without, with_it)[0]) == [("a.h", b"a", None), ("lib/inner.h", None, b"1")]
    assert changes(compare(made, with_it, without)[0]) == [("a.h", None, b"a"), ("lib/inner.h", b"1", None)]
    assert changes(compare(made, with_it, folder)[0]) == [("lib/inner.h", b"1", b"2")]
    assert changes(compare(made, folder, with_it)[0]) == [("lib/inner.h", b"2", b"1")]


@pytest.mark.parametrize("case", ["not at hand", "not checked out", "behind a link"])
def test_commits_of_a_submodule_that_cannot_be_read_are_told(tmp_path: Path, case: str) -> None:
    made, inner, old = with_submodule(tmp_path / "made", "1")
    second = "1" * 40 if case == "not at hand" else inner.commit({"inner.h": "2"})
    if case != "not at hand":
        inner.root.rename(tmp_path / "elsewhere")
    if case == "behind a link":
        inner.root.symlink_to(tmp_path / "elsewhere")
    found, files = compare(made, old, made.commit(naming(second), old))
    assert (found.changes, found.remarks) == ((), (f"1 submodule (lib) {NOT_FOLLOWED}",))
    assert ("lib/inner.h" in files) == (case == "not at hand")


def test_changed_files_of_the_build_are_told_and_not_run(made: Commits) -> None:
    old = made.commit({"Makefile": "all:\n", "a.h": "1"})
    new = made.commit({"Makefile": "$(shell touch /tmp/evil)\n", "fs/Kbuild": "x", "a.h": "1"}, old)
    found, files = compare(made, old, new)
    assert files["Makefile"] == "all:\n"
    (remark,) = found.remarks
    assert remark.startswith("2 files (Makefile, …) of the build differ: what they would do was not run")
