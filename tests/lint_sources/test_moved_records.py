# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that a change declares in another file than before, for the first time, or no more."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import Commits, repository

from linesmith.analyzer.model import FileChange
from linesmith.patches.versions.vanished import vanished

HEADER = "struct cache {\n\tlong uses;\n\tlong hits __attribute__((aligned(64)));\n};\n"
UNALIGNED = HEADER.replace(" __attribute__((aligned(64)))", "")
NAMELESS = "typedef struct {\n\tlong uses;\n} __attribute__((aligned(64))) cache;\n"
LOST = "WARNING: struct cache: hits was aligned to 64 bytes and is not any more"
BUDGET = '[[type]]\nname = "cache"\nreason = "hot"\nbudget = { bytes = 64 }\n'


def lint(made: Commits, old: str, new: str) -> subprocess.CompletedProcess[str]:
    return linesmith("lint", "--tree", made.root, "--base-ref", old, "--head-ref", new)


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    return repository(tmp_path / "tree")


def test_a_file_that_was_renamed_is_compared_with_what_it_was(made: Commits) -> None:
    old = made.commit({"s.h": HEADER, "a.c": '#include "s.h"\nstruct cache a;\n'})
    new = made.commit({"inc/s.h": UNALIGNED, "a.c": '#include "inc/s.h"\nstruct cache a;\n'}, old)
    assert f"inc/s.h:3: {LOST}" in lint(made, old, new).stdout


def test_a_patch_that_renames_a_file_is_judged_too(made: Commits) -> None:
    old = made.commit({"s.h": HEADER})
    new = made.commit({"inc/s.h": UNALIGNED}, old)
    made.git("reset", "-q", "--hard", old)
    patch = made.root / "0001.patch"
    patch.write_text(made.git("format-patch", "--stdout", "-1", new) + "\n")
    assert f"s.h:3: {LOST}" in linesmith("lint", "--tree", made.root, "--patch", patch).stdout


def test_a_typedef_is_found_in_its_new_file(made: Commits) -> None:
    old = made.commit({"x.c": NAMELESS})
    new = made.commit({"y.c": NAMELESS.replace(" __attribute__((aligned(64)))", "")}, old)
    assert "alignment-lost" in lint(made, old, new).stdout


def test_a_tag_that_became_a_typedef_is_the_same_record(made: Commits) -> None:
    old = made.commit({"s.h": HEADER})
    typedef = "typedef " + UNALIGNED.replace(" cache", "").replace("};", "} cache;")
    assert "alignment-lost" in lint(made, old, made.commit({"s.h": typedef}, old)).stdout


def test_a_record_that_went_to_another_header_is_compared(made: Commits) -> None:
    old = made.commit({"all.h": "typedef long word;\n" + HEADER, "types.h": "struct t {\n\tint x;\n};\n"})
    parted = {"all.h": 'typedef long word;\n#include "types.h"\n', "types.h": "struct t {\n\tint x;\n};\n" + UNALIGNED}
    assert f"types.h:6: {LOST}" in lint(made, old, made.commit(parted, old)).stdout


def test_a_header_that_needs_what_included_it_is_compiled_through_the_one_it_came_from(made: Commits) -> None:
    old = made.commit({"all.h": "typedef long word;\n" + HEADER.replace("long", "word")})
    parted = {"all.h": 'typedef long word;\n#include "cache.h"\n', "cache.h": UNALIGNED.replace("long", "word")}
    assert f"cache.h:3: {LOST}" in lint(made, old, made.commit(parted, old)).stdout


def test_a_file_that_is_only_renamed_is_not_compiled(made: Commits) -> None:
    old = made.commit({"s.h": HEADER})
    assert "in 0 records" in lint(made, old, made.commit({"t.h": HEADER}, old)).stdout


def test_a_record_of_a_new_file_is_held_to_its_intents(made: Commits) -> None:
    old = made.commit({"a.h": "int a;\n"})
    new = made.commit({"a.h": "int a;\n", "s.h": HEADER, "linesmith.toml": BUDGET}, old)
    done = lint(made, old, new)
    assert done.returncode == 1
    assert "s.h:1: WARNING: struct cache" in done.stdout


def test_a_new_file_that_does_not_compile_is_a_remark(made: Commits) -> None:
    old = made.commit({"a.h": "int a;\n"})
    done = lint(made, old, made.commit({"a.h": "int a;\n", "s.h": HEADER.replace("long", "word_t")}, old))
    assert done.returncode == 0
    assert "s.h was not compiled" in done.stdout + done.stderr


def test_a_record_that_compiles_only_now_is_held_to_its_intents(made: Commits) -> None:
    old = made.commit({"s.h": HEADER.replace("uses;", "uses")})
    done = lint(made, old, made.commit({"s.h": HEADER, "linesmith.toml": BUDGET}, old))
    assert done.returncode == 1
    assert "s.h was compared with nothing: in " in done.stdout + done.stderr


@pytest.mark.parametrize("head", [{"a.h": "int a;\n"}, {"a.h": "int a;\n", "s.h": HEADER.replace("cache", "store")}])
def test_an_aligned_record_that_is_gone_is_told(made: Commits, head: dict[str, str]) -> None:
    old = made.commit({"a.h": "int a;\n", "s.h": HEADER})
    done = lint(made, old, made.commit(head, old))
    assert done.returncode == 0
    assert "1 record with an alignment in no changed file any more" in done.stdout + done.stderr
    assert "cache of s.h" in done.stdout + done.stderr


def test_an_attribute_behind_a_record_is_not_its_name() -> None:
    attributed = b"struct cache {\n\tlong hits;\n} ____cacheline_aligned;\n"
    (told,) = vanished((FileChange("s.h", attributed, None),), ())
    assert told == "1 record with an alignment in no changed file any more, compared with nothing: cache of s.h"


def test_a_header_that_the_change_takes_from_what_includes_it_is_named(made: Commits) -> None:
    user = '#include "s.h"\nstruct user {\n\tstruct cache cache;\n};\n'
    old = made.commit({"s.h": HEADER, "user.h": user})
    done = lint(made, old, made.commit({"t.h": HEADER.replace("uses;", "uses[64];"), "user.h": user}, old))
    assert done.returncode == 2
    assert "user.h includes s.h, which the change takes away" in done.stderr


def test_an_intent_of_a_record_that_is_gone_is_stale(made: Commits) -> None:
    old = made.commit({"s.h": HEADER, "linesmith.toml": BUDGET})
    done = lint(made, old, made.commit({"s.h": HEADER.replace("cache", "store"), "linesmith.toml": BUDGET}, old))
    assert done.returncode == 1
    assert "linesmith.toml:1: WARNING: cache: no struct or union is called so [intent-stale]" in done.stdout
    assert "in no changed file any more" not in done.stdout


def test_an_intent_stands_while_another_file_declares_the_record(made: Commits) -> None:
    files = {"arm/s.h": HEADER, "x86/s.h": HEADER, "linesmith.toml": BUDGET}
    old = made.commit(files)
    assert "intent-stale" not in lint(made, old, made.commit({**files, "arm/s.h": "int gone;\n"}, old)).stdout


NAMED = "struct cache {\n\tlong uses, size;\n\tstruct cache *next;\n\tlong hits __attribute__((aligned(64)));\n};\n"
ANEW = NAMED.replace("struct cache", "struct store")


def test_a_record_with_another_name_is_judged_as_the_same(made: Commits) -> None:
    old = made.commit({"s.h": NAMED})
    done = lint(made, old, made.commit({"s.h": ANEW.replace(" __attribute__((aligned(64)))", "")}, old))
    assert "WARNING: struct store: hits was aligned to 64 bytes and is not any more" in done.stdout
    assert "struct cache is gone, and struct store, which is new, has 4 of its 4 members" in done.stdout
    assert "compared with nothing" not in done.stdout


def test_the_intent_of_a_renamed_record_is_told_the_new_name(made: Commits) -> None:
    old = made.commit({"s.h": NAMED, "linesmith.toml": BUDGET})
    done = lint(made, old, made.commit({"s.h": ANEW, "linesmith.toml": BUDGET}, old))
    assert "no struct or union is called so; struct store, which is new, has 4 of its 4 members" in done.stdout
    assert "struct store: has 128 bytes" in done.stdout
