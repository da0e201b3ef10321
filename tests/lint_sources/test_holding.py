# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers that hold a record by value, as a tree has them now."""

from __future__ import annotations

from pathlib import Path

import pytest
from patch_cases import write_files

from linesmith.patches.versions.holding import holding

HOLDER = "struct {0} {{\n\tstruct inode vfs_inode;\n}};\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    pointer = "struct user {\n\tstruct inode *inode;\n};\n/*\n\tstruct inode inode;\n*/\n"
    files = {"fs/b.h": HOLDER.format("b"), "fs/a.h": HOLDER.format("a"), "fs/user.h": pointer, "fs/a.c": HOLDER}
    return write_files(tmp_path / "tree", {**files, "tools/a.h": HOLDER.format("a"), "include/c.h": HOLDER.format("c")})


def test_headers_with_members_of_the_type_are_found(tree: Path) -> None:
    assert holding(tree, {"struct inode"}, (), ()) == ("include/c.h", "fs/a.h", "fs/b.h")
    assert holding(tree, {"struct inode"}, ("include/c.h",), ("b",)) == ("fs/b.h", "fs/a.h")
    assert holding(tree, (), (), ()) == ()


def test_what_changed_since_is_seen(tree: Path) -> None:
    holding(tree, {"struct inode"}, (), ())
    (tree / "fs" / "a.h").write_text("struct a;\n")
    (tree / "fs" / "b.h").unlink()
    (tree / "fs" / "new.h").write_text(HOLDER.format("fresh"))
    assert holding(tree, {"struct inode"}, (), ()) == ("include/c.h", "fs/new.h")


def test_a_record_that_only_a_typedef_names_is_found(tree: Path) -> None:
    (tree / "fs" / "a.h").write_text("struct a {\n\tstate_t state[2];\n};\n")
    assert holding(tree, {"state_t"}, (), ()) == ("fs/a.h",)
