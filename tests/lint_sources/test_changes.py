# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint --base-ref --head-ref``: the changes of ``changes.txt``, and what concerns the commits."""

from __future__ import annotations

from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import Commits, repository
from said_tables import Case, cases, filled

TEXTS = {
    "CACHE": """\
#ifndef CACHE_H
#define CACHE_H
#define NAME_BYTES 40
struct cache {
\tint uses;
\tint state;
\tlong root;
\tchar name[NAME_BYTES];
\tlong hits A;
\tlong misses;
};
#endif
""",
    "SMALL": "struct cache {\n\tlong uses;\n\tlong hits A;\n};\n",
    "NAMED": "struct cache {\n\tlong uses, size;\n\tstruct cache *next;\n\tlong hits A;\n};\n",
    "CACHED": "#define ____cacheline_aligned A\nstruct cache {\n\tlong hits;\n} ____cacheline_aligned;\n",
    "RELEASED": "struct cache {\n\tlong uses;\n#ifdef NDEBUG\n\tlong hits A;\n#endif\n};\n",
    "USER": '#include "cache.h"\nstatic struct cache c = { 1, 2 };\nlong f(void) { return c.hits; }\n',
    "BUDGET": '[[type]]\nname = "cache"\nreason = "hot"\nbudget = { bytes = 64 }\n',
}
UNALIGNED = TEXTS["CACHE"].replace(" A;", ";")
LOST = "was aligned to 64 bytes and is no longer"
CASES = cases(Path(__file__).with_name("changes.txt"))


def text(of: str) -> str:
    return filled(of, TEXTS)


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> Commits:
    """A repository in which nothing is checked out."""
    return repository(tmp_path_factory.mktemp("commits") / "tree")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_said_of_a_change(commits: Commits, case: Case) -> None:
    base, head = (
        {name: text(content.removeprefix(" ")) for name, _, content in (one.partition(":") for one in lines)}
        for lines in (case.all("-="), case.all("+="))
    )
    old = commits.commit(base)
    case.check(commits.lint(old, commits.commit(head, old), *" ".join(case.all("$")).split()))
    assert [path.name for path in commits.root.iterdir()] == [".git"]


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    """A checkout of one commit."""
    made = repository(tmp_path / "tree")
    files = {"a.h": text("@CACHE"), "text": "t\n", ".gitattributes": "* filter=evil\n"}
    made.git("reset", "-q", "--hard", made.commit(files))
    return made


def test_the_head_is_the_commit_that_is_checked_out_unless_another_is_named(made: Commits) -> None:
    old = made.git("rev-parse", "HEAD")
    made.git("update-ref", "HEAD", made.commit({"a.h": text("@CACHE s/ A;/;/")}, old))
    assert LOST in linesmith("lint", "--tree", made.root, "--base-ref", old).stdout
    (made.root / "linesmith.toml").write_text(text("@BUDGET"))
    assert "are the same commit: there is nothing to compare" in made.lint("HEAD", "HEAD").stdout
    assert "struct cache: has" not in made.lint("HEAD", old).stdout, "intents are those of the head"


def test_a_patch_that_renames_a_file_is_judged_too(made: Commits) -> None:
    new = made.commit({"inc/a.h": text("@CACHE s/ A;/;/")}, made.git("rev-parse", "HEAD"))
    patch = made.root / "0001.patch"
    patch.write_text(made.git("format-patch", "--stdout", "-1", new) + "\n")
    assert (
        f"a.h:9: WARNING: struct cache: hits {LOST}" in linesmith("lint", "--tree", made.root, "--patch", patch).stdout
    )


REMARK = "changes of 1 file (a.h) are not committed, and not judged: HEAD is"


def remarks(made: Commits, *options: str) -> str:
    done = linesmith("lint", "--tree", made.root, "--base-ref", "HEAD", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("--head-ref", "HEAD")])
def test_a_tracked_file_that_was_changed_is_told_and_no_filter_runs(made: Commits, options: tuple[str, ...]) -> None:
    made.git("config", "filter.evil.clean", f"touch {made.root / 'ran'}; cat")
    (made.root / "a.h").write_text(text("@CACHE"))
    (made.root / "text").write_text("u\n")
    assert "not committed" not in remarks(made, *options), "touched only, and what says nothing of layouts"
    (made.root / "a.h").write_text("int a;\n")
    assert REMARK in remarks(made, *options)
    assert "not committed" not in remarks(made, "--head-ref", made.git("rev-parse", "HEAD"))
    assert not (made.root / "ran").exists()
    made.git("add", "a.h")
    assert REMARK in remarks(made, *options), "what is staged"


def test_a_file_that_a_sparse_checkout_leaves_out_is_not_told(made: Commits) -> None:
    made.git("update-index", "--skip-worktree", "a.h")
    (made.root / "a.h").unlink()
    assert "not committed" not in remarks(made)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--base-ref", "HEAD", "--base", "/bin/true"), "give one kind"),
        (("--base-ref", "HEAD", "--head-ref", ""), "a revision is empty"),
    ],
)
def test_options_that_do_not_go_together(made: Commits, options: tuple[str, ...], said: str) -> None:
    done = linesmith("lint", *options, cwd=made.root)
    assert done.returncode == 2
    assert said in done.stderr
