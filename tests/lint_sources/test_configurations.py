# SPDX-License-Identifier: GPL-2.0-or-later
"""Revisions judged under several configurations."""

from __future__ import annotations

import json
import subprocess
from html import unescape
from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import Commits, repository

ALIGNED = "struct cache {\n\tlong uses;\n#ifdef NDEBUG\n\tlong hits __attribute__((aligned(64)));\n#endif\n};\n"
UNALIGNED = ALIGNED.replace(" __attribute__((aligned(64)))", "")
BROKEN = ALIGNED.replace("long hits", "word_t hits")
LOST = "struct cache: hits was aligned to 64 bytes and is not any more"


def lint(made: Commits, old: str, new: str, *options: str | Path) -> subprocess.CompletedProcess[str]:
    return linesmith("lint", "--tree", made.root, "--base-ref", old, "--head-ref", new, *options)


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    return repository(tmp_path / "tree")


def test_what_one_configuration_alone_shows_names_it(made: Commits) -> None:
    old = made.commit({"cache.h": ALIGNED})
    new = made.commit({"cache.h": UNALIGNED}, old)
    assert lint(made, old, new).returncode == 0
    done = lint(made, old, new, "--on", "release", "--on", "debug")
    assert done.returncode == 1
    assert f"cache.h:4: WARNING: {LOST} (with -O2 -DNDEBUG) [alignment-lost]" in done.stdout
    assert "1 warning in 1 record, 1 changed, 1 watched" in done.stdout


def test_what_all_show_names_none(made: Commits) -> None:
    old = made.commit({"cache.h": ALIGNED})
    new = made.commit({"cache.h": UNALIGNED}, old)
    done = lint(made, old, new, "--cflags=-DNDEBUG", "--on", "release", "--format", "json")
    (found,) = json.loads(done.stdout)["violations"]
    assert found["configuration"] == ""


@pytest.mark.parametrize("names", [("tree",), ("release", "release")])
def test_a_configuration_that_is_named_twice_is_one(made: Commits, names: tuple[str, ...]) -> None:
    old = made.commit({"cache.h": ALIGNED})
    new = made.commit({"cache.h": UNALIGNED}, old)
    options = [part for name in names for part in ("--on", name)]
    done = lint(made, old, new, "--cflags=-DNDEBUG", *options)
    assert f"WARNING: {LOST} [alignment-lost]" in done.stdout


def test_a_configuration_is_part_of_a_comment_too(made: Commits) -> None:
    old = made.commit({"cache.h": ALIGNED})
    new = made.commit({"cache.h": UNALIGNED}, old)
    comment = lint(made, old, new, "--on", "release", "--format", "markdown").stdout
    assert "and is not any more (with -O2 -DNDEBUG)<br>" in unescape(comment)


def test_a_change_that_only_one_does_not_compile_is_an_error_that_names_it(made: Commits) -> None:
    old = made.commit({"cache.h": ALIGNED})
    done = lint(made, old, made.commit({"cache.h": BROKEN}, old), "--on", "release")
    assert done.returncode == 2
    assert "with release: in " in done.stderr


def test_a_name_that_is_not_known_is_an_error_that_lists_those_that_are(made: Commits) -> None:
    old = made.commit({"cache.h": ALIGNED})
    done = lint(made, old, old, "--on", "vax")
    assert done.returncode == 2
    assert f"there is no configuration 'vax' for {made.root}; known" in done.stderr
    assert "are tree, debug, release" in done.stderr
