# SPDX-License-Identifier: GPL-2.0-or-later
"""What is in the way of every patch of a record, and what the source holds together."""

from __future__ import annotations

from pathlib import Path

import pytest
from patch_cases import layout, write_files

from linesmith.analyzer.errors import DeclarationNotFound, EditRefused, TreeError
from linesmith.analyzer.model import FactKind
from linesmith.patches.readiness import held_together, readiness
from linesmith.patches.tree import Tree

HEADER = """\
struct cache {
	long root;
#ifdef CONFIG_LOCKS
	long lock;
	long owner;
#endif
	long uses;
};
"""
CACHE = layout("cache", [("root", 0, 8), ("lock", 8, 8), ("owner", 16, 8), ("uses", 24, 8)], 32)
KERNEL = {"Kbuild": "", "scripts/Makefile.build": "", "Makefile": "", "include/linux/cache.h": HEADER}


def test_nothing_is_in_the_way_of_a_plain_tree(tmp_path: Path) -> None:
    known = readiness("cache", CACHE, Tree(write_files(tmp_path, {"src/cache.h": HEADER})))
    assert (known.file, known.obstacle) == ("src/cache.h", None)


@pytest.mark.parametrize(
    ("files", "kind", "complaint"),
    [
        ({"src/other.h": "struct other { int x; };\n"}, DeclarationNotFound, "cache"),
        ({"include/uapi/linux/cache.h": HEADER}, EditRefused, "shared with user space"),
        (KERNEL, TreeError, "has no .config; run make defconfig there"),
    ],
)
def test_an_obstacle_is_a_value(tmp_path: Path, files: dict[str, str], kind: type, complaint: str) -> None:
    found = readiness("cache", CACHE, Tree(write_files(tmp_path, files))).obstacle
    assert isinstance(found, kind)
    assert complaint in str(found)


def test_members_of_one_condition_are_held_together(tmp_path: Path) -> None:
    (fact,) = held_together("cache", CACHE, write_files(tmp_path, {"src/cache.h": HEADER}))
    assert (fact.kind, fact.members, fact.place) == (FactKind.TOGETHER, ("lock", "owner"), "src/cache.h:1")


def test_a_record_that_is_not_declared_holds_nothing_together(tmp_path: Path) -> None:
    assert held_together("cache", CACHE, tmp_path) == ()
