# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint --base-ref --head-ref``: two revisions of a program's sources."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from linesmith_command import linesmith
from lint_commits import Commits, repository

HEADER = """\
#ifndef CACHE_H
#define CACHE_H
#define NAME_BYTES 40
struct cache {
\tint uses;
\tint state;
\tlong root;
\tchar name[NAME_BYTES];
\tlong hits __attribute__((aligned(64)));
\tlong misses;
};
#endif
"""
UNALIGNED = HEADER.replace(" __attribute__((aligned(64)))", "")
SWAPPED = HEADER.replace("\tint uses;\n\tint state;\n", "\tint state;\n\tint uses;\n")
USER = '#include "cache.h"\nstatic struct cache c = { 1, 2 };\nlong f(void) { return c.hits; }\n'
BUDGET = '[[type]]\nname = "cache"\nreason = "hot"\nbudget = { bytes = 64 }\n'
LOST = "was aligned to 64 bytes and is not any more"


def lint(made: Commits, old: str, new: str, *options: str | Path) -> subprocess.CompletedProcess[str]:
    return linesmith("lint", "--tree", made.root, "--base-ref", old, "--head-ref", new, *options)


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    return repository(tmp_path / "tree")


def test_what_a_revision_spoils_is_told_where_its_text_has_it(made: Commits) -> None:
    old = made.commit({"src/cache.h": HEADER})
    new = made.commit({"src/cache.h": "\n\n" + UNALIGNED}, old)
    done = lint(made, old, new)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"src/cache.h:11: WARNING: struct cache: hits {LOST}" in done.stdout
    assert [path.name for path in made.root.iterdir()] == [".git"]


def test_revisions_alike_are_clean(made: Commits) -> None:
    old = made.commit({"src/cache.h": HEADER})
    new = made.commit(
        {"src/cache.h": HEADER.replace("\tlong root;", "\tlong root; /* of the tree */"), "a.c": "x"}, old
    )
    assert lint(made, old, new).returncode == 0


def test_the_head_is_the_commit_that_is_checked_out_unless_another_is_named(made: Commits) -> None:
    old = made.commit({"src/cache.h": HEADER})
    made.git("update-ref", "HEAD", made.commit({"src/cache.h": UNALIGNED}, old))
    assert LOST in linesmith("lint", "--tree", made.root, "--base-ref", old).stdout


@pytest.mark.parametrize(("parent", "told"), [(False, False), (True, True)])
def test_a_commit_that_is_compared_with_itself_is_told(made: Commits, parent: bool, told: bool) -> None:
    old = made.commit({"src/cache.h": HEADER})
    new = old if parent else made.commit({"src/cache.h": HEADER}, old)
    done = lint(made, old, new)
    assert (done.returncode, "are the same commit: there is nothing to compare" in done.stdout) == (0, told)


def test_a_number_that_a_macro_gives_counts(made: Commits) -> None:
    files = {
        "src/size.h": "#define NAME_BYTES 40\n",
        "src/cache.h": '#include "size.h"\n' + HEADER.replace("#define N", "//"),
    }
    old = made.commit(files)
    new = made.commit(
        {**files, "src/size.h": "#define NAME_BYTES 44\n", "src/cache.h": files["src/cache.h"] + "//\n"}, old
    )
    assert report(lint(made, old, new, "--format", "json"))["changed"] == 1
    new = made.commit({"src/cache.h": HEADER.replace("NAME_BYTES 40", "NAME_BYTES 52")}, old)
    assert report(lint(made, made.commit({"src/cache.h": HEADER}), new, "--format", "json"))["changed"] == 1


def test_an_initialiser_by_position_is_told_with_its_place(made: Commits) -> None:
    old = made.commit({"src/cache.h": HEADER, "src/user.c": USER})
    new = made.commit({"src/cache.h": SWAPPED, "src/user.c": USER}, old)
    done = lint(made, old, new)
    assert done.returncode == 1
    assert (
        "src/cache.h:5: WARNING: struct cache: state is member 1 now instead of uses, and src/user.c:2 gives the first "
        "2 members by position"
    ) in done.stdout


def test_an_initialiser_that_changed_with_the_record_is_right(made: Commits) -> None:
    old = made.commit({"src/cache.h": HEADER, "src/user.c": USER})
    new = made.commit({"src/cache.h": SWAPPED, "src/user.c": USER.replace("c = { 1, 2 }", "c = { 2, 1 }")}, old)
    assert "position" not in lint(made, old, new).stdout


def test_members_behind_those_that_are_given_move_nothing(made: Commits) -> None:
    old = made.commit({"src/cache.h": HEADER, "src/user.c": USER})
    new = made.commit(
        {"src/cache.h": HEADER.replace("\tlong misses;\n", "\tlong misses, more;\n"), "src/user.c": USER}, old
    )
    assert "position" not in lint(made, old, new).stdout


def test_intents_are_those_of_the_head(made: Commits) -> None:
    old = made.commit({"src/cache.h": HEADER, "linesmith.toml": ""})
    new = made.commit({"src/cache.h": HEADER, "linesmith.toml": BUDGET}, old)
    assert "struct cache" in lint(made, old, new).stdout
    (made.root / "linesmith.toml").write_text(BUDGET)
    assert "struct cache" not in lint(made, new, old).stdout


def test_what_does_not_compile_is_an_error_of_the_head(made: Commits) -> None:
    old = made.commit({"src/cache.h": HEADER})
    done = lint(made, old, made.commit({"src/cache.h": HEADER.replace("long root", "word_t root")}, old))
    assert done.returncode == 2
    assert "src/cache.h does not compile: src/cache.h:7: unknown type name" in done.stderr


@pytest.mark.parametrize(
    "record",
    [
        "struct cache {{\n\tlong uses;\n}}{};\n",
        "struct{} cache {{\n\tlong uses;\n}};\n",
        "typedef struct {{\n\tlong uses;\n}}{} cache;\n",
    ],
)
def test_an_attribute_beside_the_braces_counts(made: Commits, record: str) -> None:
    old = made.commit({"a.h": record.format(" __attribute__((aligned(64)))")})
    assert "alignment-lost" in lint(made, old, made.commit({"a.h": record.format("")}, old)).stdout


def test_records_that_hold_what_grew_are_looked_at_too(made: Commits) -> None:
    files = {"a.h": "struct a {\n\tlong x;\n};\n", "b.h": '#include "a.h"\nstruct b {\n\tstruct a one;\n};\n'}
    old = made.commit(files)
    grown = made.commit({**files, "a.h": "struct a {\n\tlong x, y;\n};\n"}, old)
    assert report(lint(made, old, grown, "--format", "json"))["changed"] == 2
    turned = made.commit({**files, "a.h": "struct a {\n\tunsigned long x;\n};\n"}, old)
    assert report(lint(made, old, turned, "--format", "json"))["changed"] == 1


def test_what_never_compiled_is_a_remark(made: Commits) -> None:
    files = {"a.h": "struct a { word_t x; };\n", "src/cache.h": HEADER}
    old = made.commit(files)
    found = report(lint(made, old, made.commit({**files, "a.h": "struct a { word_t y; };\n"}, old), "--format", "json"))
    assert any("a.h was not compiled" in one for one in found["remarks"])


def test_a_file_that_is_only_seen_by_a_path_past_the_change_is_not_said_to_be_clean(made: Commits) -> None:
    files = {
        "c/user.c": '#include "way.h"\n#include "cache.h"\nstruct cache cache;\n',
        "c/way.h": 'typedef long word;\n#include "../b/between.h"\n',
        "b/between.h": '#include "../c/cache.h"\n',
        "c/cache.h": HEADER.replace("long", "word"),
    }
    old = made.commit(files)
    done = lint(made, old, made.commit({**files, "c/cache.h": UNALIGNED.replace("long", "word")}, old))
    assert "note: c/cache.h was not compiled" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--head-ref", "HEAD"), "add --base-ref REV"),
        (("--base-ref", "HEAD", "--patch", "-"), "give one of them"),
        (("--cflags", "-O2"), "add --base-ref REV or --patch FILE"),
        (("--base-ref", "HEAD", "--base", "/bin/true"), "give one kind"),
    ],
)
def test_options_that_do_not_go_together(options: tuple[str, ...], said: str) -> None:
    done = linesmith("lint", *options)
    assert done.returncode == 2
    assert said in done.stderr
