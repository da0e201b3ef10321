# SPDX-License-Identifier: GPL-2.0-or-later
"""Public reports from before and after a fix: what the fix's author saw by hand must come out by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from linesmith_command import linesmith

pytestmark = pytest.mark.real


def compared(vmlinux: Path, before: Path, after: Path) -> dict[str, Any]:
    ran = linesmith("compare", vmlinux, before, after, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def fates(document: dict[str, Any]) -> dict[str, str]:
    """What became of each function on the hottest line."""
    return {one["functions"][0]: one["change"]["fate"] for one in document["lines"][0]["members"]}


def test_parting_i_mmap_from_its_lock(vmlinux: Path, corpus: Path) -> None:
    report = next(corpus.glob("c2c/002-*"))
    document = compared(vmlinux, report, report)
    found = fates(document)
    assert found["vma_interval_tree_remove"] == found["vma_interval_tree_insert"] == "vanished"
    assert found["rwsem_spin_on_owner"] == "fell"
    assert document["lines"][0]["type"] == "address_space"
    members = {one["functions"][0]: one["member"] for one in document["lines"][0]["members"]}
    assert (members["vma_interval_tree_remove"], members["rwsem_spin_on_owner"]) == ("i_mmap", "i_mmap_rwsem")


def test_parting_a_tree_of_maps_from_its_lock(vmlinux: Path, corpus: Path) -> None:
    document = compared(vmlinux, next(corpus.glob("c2c/031-*")), next(corpus.glob("c2c/032-*")))
    found = fates(document)
    assert (found["maps__find_by_time"], found["__pthread_rwlock_rdlock"]) == ("vanished", "rose")
    assert document["total"]["fate"] == "rose"
    assert any("contended loads are not time" in caution for caution in document["cautions"])
