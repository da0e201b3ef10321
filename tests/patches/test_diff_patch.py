# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith diff --patch``: what a patch makes of the records that it changes, as a program that checks patches."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from linesmith_command import command
from patch_cases import write_files

HEADER = """\
struct cache {
\tlong root;
\tchar name[48];
\tlong uses;
};

struct holder {
\tstruct cache cache;
};

struct other {
\tint x;
};
"""
GROWN = HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tlong misses;\n")
MOVED = HEADER.replace("\tlong root;\n", "").replace("\tlong uses;\n", "\tlong uses;\n\tlong root;\n")
BROKEN = HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tword_t misses;\n")


def diff(folder: Path, after: str, before: str = HEADER) -> bytes:
    """The patch from the header to ``after``, as git writes it."""
    tree = write_files(folder, {"a/src/cache.h": before, "b/src/cache.h": after})
    argv = ["git", "diff", "--no-index", "--no-prefix", "a/src/cache.h", "b/src/cache.h"]
    return subprocess.run(argv, cwd=tree, capture_output=True, check=False, timeout=30).stdout


def check(tree: Path, patch: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return command("diff", "--patch", "-", "--tree", tree, *options, stdin=patch)


@pytest.mark.parametrize("header", [HEADER, GROWN])
def test_what_grows_is_told_whether_the_patch_is_applied_or_not(tmp_path: Path, header: str) -> None:
    tree = write_files(tmp_path / "tree", {"src/cache.h": header})
    done = check(tree, diff(tmp_path, GROWN))
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode() == (
        "src/cache.h:1: WARNING: cache grows from 64 to 72 bytes, from 1 to 2 lines\n"
        "src/cache.h:1: WARNING: holder grows with it from 64 to 72 bytes, from 1 to 2 lines\n"
    )


@pytest.mark.parametrize(
    "record",
    [
        "struct cache {{\n\tlong uses;\n}}{};\n",
        "struct{} cache {{\n\tlong uses;\n}};\n",
        "typedef struct {{\n\tlong uses;\n}}{} cache;\n",
    ],
)
def test_an_attribute_beside_the_braces_counts(tmp_path: Path, record: str) -> None:
    before, after = record.format(""), record.format(" __attribute__((aligned(64)))")
    tree = write_files(tmp_path / "tree", {"src/cache.h": before})
    done = check(tree, diff(tmp_path, after, before))
    assert done.stdout.decode() == "src/cache.h:1: WARNING: cache grows from 8 to 64 bytes\n"


def test_only_records_that_grow_or_do_not_compile_are_complaints(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"src/cache.h": HEADER})
    done = check(tree, diff(tmp_path, MOVED))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"linesmith: no record that the patch changes grows\n"
    done = check(tree, diff(tmp_path, BROKEN))
    assert done.returncode == 1
    assert b"src/cache.h:1: ERROR: " in done.stdout
    assert b"word_t" in done.stdout


def test_json_has_the_sizes(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"src/cache.h": HEADER})
    document = json.loads(check(tree, diff(tmp_path, GROWN), "--format", "json").stdout)
    (told,) = document["records"]
    assert document["schema"] == 1
    sizes = [(one["record"], one["before"]["size"], one["after"]["size"]) for one in told["records"]]
    assert (told["place"], sizes) == ("src/cache.h:1", [("cache", 64, 72), ("holder", 64, 72)])


@pytest.mark.parametrize(
    ("patch", "complaint"),
    [
        (b"nothing\n", b" is no patch of files in"),
        (b"--- a/../x.h\n+++ b/../x.h\n@@ -1 +1 @@\n-a\n+b\n", b" is no patch of files in"),
        (b"--- a/src/cache.h\n+++ b/src/cache.h\n@@ -1 +1 @@\n-a\n+b\n", b"applies to"),
    ],
)
def test_what_is_no_patch_of_the_tree(tmp_path: Path, patch: bytes, complaint: bytes) -> None:
    done = check(write_files(tmp_path, {"src/cache.h": HEADER}), patch)
    assert (done.returncode, done.stdout) == (2, b"")
    assert complaint in done.stderr


@pytest.mark.parametrize("options", [[], ["--patch", "-"]])
def test_builds_and_a_patch_exclude_each_other(tmp_path: Path, options: list[str]) -> None:
    done = command("diff", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert b"--patch" in done.stderr
