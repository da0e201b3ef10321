# SPDX-License-Identifier: GPL-2.0-or-later
"""A patch of a real kernel tree, which is configured and not built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from linesmith_command import linesmith

from linesmith.patches.unified import unified_diff

FILE = "include/linux/mm_types.h"
LOCK = b"\t\tspinlock_t arg_lock; /* protect the below fields */\n"
PGD = b"\t\tpgd_t * pgd;\n"


@pytest.mark.real
def test_a_lock_that_leaves_its_data(kernel_tree: Path, tmp_path: Path) -> None:
    before = (kernel_tree / FILE).read_bytes()
    after = before.replace(LOCK, b"", 1).replace(PGD, PGD + LOCK, 1)
    patch = tmp_path / "0001.patch"
    patch.write_bytes(unified_diff(before, after, FILE))
    options = ("--tree", kernel_tree, "--patch", patch, "--type", "mm_struct", "--format", "json")
    done = linesmith("lint", *options)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert (found["changed"], found["remarks"]) == (1, [])
    told = [(one["rule"], one["type"], one["member"], one["file"]) for one in found["violations"]]
    assert ("lock-moved", "struct mm_struct", "arg_lock", FILE) in told
    assert (kernel_tree / FILE).read_bytes() == before
