# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith inline`` as a user runs it, on a small program."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith
from patch_cases import stamps
from text_cases import files_in

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")

SOURCE = files_in(Path(__file__).with_name("trees") / "area.txt")["area.c"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "program"
    root.mkdir()
    (root / "area.c").write_text(SOURCE)
    unit = {"directory": str(root), "file": "area.c", "command": "gcc -Wall -Wextra -c area.c"}
    (root / "compile_commands.json").write_text(json.dumps([unit]))
    return root


def test_the_patch_applies_and_compiles_and_the_tree_is_not_touched(tree: Path, tmp_path: Path) -> None:
    before = stamps(tree)
    ended = linesmith("inline", "area.lock", "--tree", tree, "--on", "tree", "-o", tmp_path / "area.patch")
    assert (ended.returncode, stamps(tree)) == (0, before)
    assert "area.c:17: area_make() can no longer fail to allocate the object" in ended.stderr
    patch = (tmp_path / "area.patch").read_text()
    told = " ".join(patch.split("\n---\n")[0].split())
    assert "A struct area takes 16 bytes and a struct lock 4 (own flags)" in told
    assert "with the object in it a struct area takes 16, aligned to 8." in told
    assert "Compiled 1 object that includes the change, without a new warning." in told
    subprocess.run(["patch", "-s", "-p1", "-i", tmp_path / "area.patch"], cwd=tree, check=True)
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "area.c"], cwd=tree, check=True)


def test_what_stands_in_the_way_is_listed_and_no_patch_is_made(tree: Path) -> None:
    (tree / "area.c").write_text(SOURCE.replace("area->lock->taken = 0;", "if (area->lock)\n\t\tarea->start = 1;"))
    ended = linesmith("inline", "area.lock", "--tree", tree)
    assert ended.returncode == 1
    assert ended.stdout.startswith("struct area.lock (area.c:7): a pointer to struct lock, 4 uses\n\nIn the way:\n")
    assert "  null-test  area.c:21: the pointer is tested for NULL (area->lock); keep" in ended.stdout
    assert "diff --git" not in ended.stdout
    assert ended.stderr.startswith("linesmith: no patch is written: area.c:21: the pointer is tested for NULL")


def test_the_semantic_patch_does_the_same_by_hand(tree: Path, tmp_path: Path) -> None:
    rules = tmp_path / "lock.cocci"
    ended = linesmith("inline", "area.lock", "--tree", tree, "--dry-run", "--rules", rules)
    assert ended.returncode == 0
    assert rules.read_text() in ended.stdout
    subprocess.run(["spatch", "--very-quiet", "--sp-file", rules, "--in-place", "area.c"], cwd=tree, check=True)
    after = (tree / "area.c").read_text()
    assert "area->lock.taken = 0;" in after
    assert "free(area->lock)" not in after


def test_json_has_the_uses_the_places_and_the_patches(tree: Path) -> None:
    told = json.loads(linesmith("inline", "area.lock", "--tree", tree, "--on", "tree", "--format", "json").stdout)
    assert (told["record"], told["pointer"], told["target"]) == ("struct area", "lock", "struct lock")
    assert told["uses"][0] == {"place": "area.c:16", "role": "x->p = kmalloc()", "function": "area_make"}
    assert (told["schema"], told["standing"]) == (1, [])
    assert {one["code"] for one in told["sites"]} == {"always-succeeds"}
    assert [one["name"] for one in told["patches"]] == ["0001-area-make-lock-a-member-of-struct-area.patch"]
