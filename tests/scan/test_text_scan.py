# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree is looked through once; later only what changed since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scan.trees import written

from linesmith.patches.scan import stamped, text_scan
from linesmith.patches.scan.text_scan import text_places
from linesmith.patches.source_bytes import source_bytes


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(stamped, "_SLACK_NS", 0)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that were read."""
    names: list[str] = []

    def watched(root: Path, file: str, most: int) -> bytes | None:
        names.append(Path(file).name)
        return source_bytes(root, file, most)

    monkeypatch.setattr(text_scan, "source_bytes", watched)
    return names


def lines(tree: Path) -> dict[str, list[int]]:
    found = text_places(tree, ["rec"], lambda _remark: None)["rec"]
    return {file: [one.line for one in places.places] for file, places in found.items()}


def test_a_second_look_reads_only_what_changed(tmp_path: Path, read: list[str]) -> None:
    files = {"a.c": "struct rec r = { 1 };", "b.c": "\nstruct rec r = { 1 };", "c.c": "int x;"}
    tree = written(tmp_path / "tree", files)
    assert lines(tree) == {"a.c": [1], "b.c": [2]}
    assert sorted(read) == ["a.c", "b.c", "c.c"]
    read.clear()
    (tree / "c.c").write_text("\n\nstruct rec r = { 1 };")
    assert lines(tree) == {"a.c": [1], "b.c": [2], "c.c": [3]}
    assert read == ["c.c"]


def test_a_file_with_an_old_date_is_read_all_the_same(tmp_path: Path) -> None:
    tree = written(tmp_path / "tree", {"a.c": "int x;"})
    assert lines(tree) == {}
    (tree / "a.c").write_text("struct rec r = { 1 };")
    os.utime(tree / "a.c", (0, 0))
    assert lines(tree) == {"a.c": [1]}


def test_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    tree = written(tmp_path / "tree", {"a.c": "struct rec r = { 1 };"})
    assert lines(tree) == {"a.c": [1]}
    (tree / "a.c").unlink()
    assert lines(tree) == {}


def test_files_below_a_folder_that_was_renamed_are_read(tmp_path: Path, read: list[str]) -> None:
    tree = written(tmp_path / "tree", {"one/a.c": "struct rec r = { 1 };", "b.c": "int x;"})
    assert lines(tree) == {"one/a.c": [1]}
    read.clear()
    (tree / "one").rename(tree / "two")
    assert lines(tree) == {"two/a.c": [1]}
    assert read == ["a.c"]


def test_another_tree_at_the_same_place_is_read(tmp_path: Path) -> None:
    other = written(tmp_path / "other", {"a.c": "struct rec r = { 1 };"})
    tree = written(tmp_path / "tree", {"a.c": "int x;"})
    assert lines(tree) == {}
    tree.rename(tmp_path / "gone")
    other.rename(tree)
    assert lines(tree) == {"a.c": [1]}


def test_a_name_that_is_no_utf8_is_seen_each_time(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.c")
    tree = written(tmp_path / "tree", {name: "struct rec r = { 1 };"})
    assert lines(tree) == lines(tree) == {name: [1]}


def test_a_damaged_cache_is_as_good_as_none(tmp_path: Path) -> None:
    tree = written(tmp_path / "tree", {"a.c": "struct rec r = { 1 };"})
    lines(tree)
    for path in (tmp_path / "cache").glob("*.places"):
        path.write_bytes(path.read_bytes()[:-3])
    assert lines(tree) == {"a.c": [1]}


def test_a_link_out_of_the_tree_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.h").write_text("struct rec r = { 1 };")
    tree = written(tmp_path / "tree", {"b.c": "struct rec r = { 1 };"})
    (tree / "a.h").symlink_to(tmp_path / "secret.h")
    assert lines(tree) == {"b.c": [1]}
