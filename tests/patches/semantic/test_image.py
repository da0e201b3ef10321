# SPDX-License-Identifier: GPL-2.0-or-later
"""The image of a tree: links until a file is changed, and the tree itself stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.errors import TreeError
from linesmith.analyzer.model import FileChange
from linesmith.patches.semantic.image import tree_image


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "lib" / "deep").mkdir(parents=True)
    (root / "doc").mkdir()
    (root / "lib" / "one.c").write_bytes(b"int one;\n")
    (root / "lib" / "deep" / "two.c").write_bytes(b"int two;\n")
    return root


def test_only_folders_on_the_way_to_a_changed_file_are_made_anew(tree: Path) -> None:
    with tree_image(tree) as image:
        image.put("lib/one.c", b"int uno;\n")
        assert not (image.root / "lib").is_symlink()
        assert (image.root / "doc").is_symlink()
        assert (image.root / "lib" / "deep").is_symlink()
        assert image.read("lib/deep/two.c") == b"int two;\n"
    assert (tree / "lib" / "one.c").read_bytes() == b"int one;\n"


def test_a_commit_gives_what_changed_since_the_last_one(tree: Path) -> None:
    with tree_image(tree) as image:
        image.make_own(["lib/one.c", "lib/deep/two.c"])
        image.put("lib/one.c", b"int uno;\n")
        assert image.commit() == (FileChange("lib/one.c", b"int one;\n", b"int uno;\n"),)
        image.put("lib/one.c", b"int un;\n")
        image.put("lib/new.c", b"int new;\n")
        image.put("lib/deep/two.c", None)
        assert image.commit() == (
            FileChange("lib/deep/two.c", b"int two;\n", None),
            FileChange("lib/new.c", None, b"int new;\n"),
            FileChange("lib/one.c", b"int uno;\n", b"int un;\n"),
        )
        assert image.commit() == ()
    assert sorted(path.name for path in (tree / "lib").iterdir()) == ["deep", "one.c"]


def test_a_tree_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="is no directory; --tree takes the root"), tree_image(tmp_path / "none"):
        pass
