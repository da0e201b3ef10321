# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a patch fits is seen from the tree as it lies there."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.projects import plant

from linesmith.analyzer.errors import PatchRefused, TreeError
from linesmith.plugins.builders.fitting import check_fit

PATCH = "--- a/a.h\n+++ b/a.h\n@@ -1 +1 @@\n-one\n+1\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return plant({"a.h": "one\n", "sub/b.c": "two\n"}, tmp_path / "tree")


def test_a_patch_that_fits_is_passed_over_in_silence(tree: Path) -> None:
    check_fit(tree, (PATCH,))
    assert (tree / "a.h").read_text() == "one\n"


def test_a_later_patch_fits_what_an_earlier_one_made(tree: Path) -> None:
    check_fit(tree, (PATCH, PATCH.replace("+1", "+uno").replace("-one", "-1")))
    with pytest.raises(PatchRefused, match=r"hunk 1 of a\.h"):
        check_fit(tree, (PATCH, PATCH))


def test_an_empty_patch_is_none(tree: Path) -> None:
    with pytest.raises(PatchRefused, match="holds no unified diff"):
        check_fit(tree, ("",))


def test_what_lies_behind_a_link_is_not_patched(tree: Path) -> None:
    (tree / "link").symlink_to("sub")
    with pytest.raises(PatchRefused, match="behind a symbolic link"):
        check_fit(tree, ("--- a/link/b.c\n+++ b/link/b.c\n@@ -1 +1 @@\n-two\n+2\n",))


def test_a_file_that_a_build_has_left_does_not_keep_a_patch_from_making_it(tree: Path) -> None:
    (tree / "a.o").write_text("left\n")
    check_fit(tree, ("--- /dev/null\n+++ b/a.o\n@@ -0,0 +1 @@\n+made\n",))


def test_a_tree_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="name the source tree"):
        check_fit(tmp_path / "none", (PATCH,))
