# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a checkout is in no commit: a lint of ``HEAD`` says that it does not judge it."""

from __future__ import annotations

from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import Commits, repository

HEADER = "struct cache {\n\tlong uses;\n};\n"
REMARK = "changes of 1 file (a.h) are not committed, and not judged: HEAD is"


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    """A checkout of one commit."""
    made = repository(tmp_path / "tree")
    made.git("reset", "-q", "--hard", made.commit({"a.h": HEADER, "text": "t\n", ".gitattributes": "* filter=evil\n"}))
    return made


def remarks(made: Commits, *options: str) -> str:
    done = linesmith("lint", "--tree", made.root, "--base-ref", "HEAD", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("--head-ref", "HEAD")])
def test_a_tracked_file_that_was_changed_is_told(made: Commits, options: tuple[str, ...]) -> None:
    assert REMARK not in remarks(made, *options)
    (made.root / "a.h").write_text(HEADER.replace("long", "int"))
    assert REMARK in remarks(made, *options)


def test_a_file_that_is_staged_is_told(made: Commits) -> None:
    (made.root / "a.h").write_text(HEADER.replace("long", "int"))
    made.git("add", "a.h")
    assert REMARK in remarks(made)


def test_a_file_that_was_only_touched_is_as_it_was(made: Commits) -> None:
    (made.root / "a.h").write_text(HEADER)
    assert "not committed" not in remarks(made)


def test_a_file_that_a_sparse_checkout_leaves_out_is_not_told(made: Commits) -> None:
    made.git("update-index", "--skip-worktree", "a.h")
    (made.root / "a.h").unlink()
    assert "not committed" not in remarks(made)


def test_what_says_nothing_of_layouts_is_not_told(made: Commits) -> None:
    (made.root / "text").write_text("u\n")
    assert "not committed" not in remarks(made)


def test_another_head_is_not_what_is_checked_out(made: Commits) -> None:
    (made.root / "a.h").write_text(HEADER.replace("long", "int"))
    assert "not committed" not in remarks(made, "--head-ref", made.git("rev-parse", "HEAD"))


def test_no_filter_of_the_repository_runs(made: Commits) -> None:
    made.git("config", "filter.evil.clean", f"touch {made.root / 'ran'}; cat")
    (made.root / "a.h").write_text(HEADER.replace("long", "int"))
    assert REMARK in remarks(made)
    assert not (made.root / "ran").exists()
