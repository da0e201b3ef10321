# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches of a kernel: a header that needs what nearly all units include before it, and one of a real tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from linesmith_command import linesmith
from matrix.small_kernel import small_kernel
from patch_cases import write_files

from linesmith.patches.series.mails import unified_diff

FILE = "include/linux/queue/limits.h"
HEADER = "struct dql {\n\tword queued;\n\tword limit __attribute__((aligned(64)));\n};\n"
MM_TYPES = "include/linux/mm_types.h"
LOCK = b"\t\tspinlock_t arg_lock; /* protect the below fields */\n"
PGD = b"\t\tpgd_t * pgd;\n"
KNOWN = {"include/linux/module.h": "typedef long word;\n", "include/linux/netdevice.h": "", "include/linux/pci.h": ""}


def judged(folder: Path, header: str) -> str:
    """What is said of a patch that takes the alignment out of a header of a kernel in small."""
    tree = write_files(small_kernel(folder / "tree"), {**KNOWN, FILE: header})
    unaligned = header.replace(" __attribute__((aligned(64)))", "")
    (folder / "0001.patch").write_bytes(unified_diff(header.encode(), unaligned.encode(), FILE))
    return linesmith("lint", "--tree", tree, "--patch", folder / "0001.patch").stdout


def test_a_header_of_a_kernel_is_compiled_behind_basic_ones(tmp_path: Path) -> None:
    """As include/linux/pci_hotplug.h, which no header includes, and which takes u8 for known."""
    lost = f"{FILE}:3: WARNING: struct dql: limit was aligned to 64 bytes and is no longer"
    assert lost in judged(tmp_path, HEADER)


def test_a_header_that_these_do_not_help_is_told_by_what_it_lacks_alone(tmp_path: Path) -> None:
    said = f"{FILE} was not compiled: in tree, {FILE} does not compile: {FILE}:2: unknown type"
    assert said in judged(tmp_path, HEADER.replace("word", "bdaddr_t"))


@pytest.mark.real
@pytest.mark.study
def test_a_lock_that_leaves_its_data_in_a_kernel_that_is_configured_and_not_built(
    kernel_tree: Path, tmp_path: Path
) -> None:
    before = (kernel_tree / MM_TYPES).read_bytes()
    after = before.replace(LOCK, b"", 1).replace(PGD, PGD + LOCK, 1)
    patch = tmp_path / "0001.patch"
    patch.write_bytes(unified_diff(before, after, MM_TYPES))
    options = ("--tree", kernel_tree, "--patch", patch, "--type", "mm_struct", "--format", "json")
    done = linesmith("lint", *options)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert (found["changed"], found["remarks"]) == (1, [])
    told = [(one["rule"], one["type"], one["member"], one["file"]) for one in found["violations"]]
    assert ("lock-moved", "struct mm_struct", "arg_lock", MM_TYPES) in told
    assert (kernel_tree / MM_TYPES).read_bytes() == before
