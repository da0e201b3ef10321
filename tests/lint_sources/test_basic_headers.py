# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers of a kernel that need what nearly all its units include before them."""

from __future__ import annotations

from pathlib import Path

from linesmith_command import linesmith
from matrix.small_kernel import small_kernel
from patch_cases import write_files

from linesmith.patches.unified import unified_diff

FILE = "include/linux/queue/limits.h"
HEADER = "struct dql {\n\tword queued;\n\tword limit __attribute__((aligned(64)));\n};\n"
KNOWN = {"include/linux/module.h": "typedef long word;\n", "include/linux/netdevice.h": "", "include/linux/pci.h": ""}


def test_a_header_of_a_kernel_is_compiled_behind_basic_ones(tmp_path: Path) -> None:
    """As include/linux/pci_hotplug.h, which no header includes, and which takes u8 for known."""
    tree = write_files(small_kernel(tmp_path / "tree"), {**KNOWN, FILE: HEADER})
    unaligned = HEADER.replace(" __attribute__((aligned(64)))", "")
    (tmp_path / "0001.patch").write_bytes(unified_diff(HEADER.encode(), unaligned.encode(), FILE))
    done = linesmith("lint", "--tree", tree, "--patch", tmp_path / "0001.patch")
    assert f"{FILE}:3: WARNING: struct dql: limit was aligned to 64 bytes and is not any more" in done.stdout


def test_a_header_that_these_do_not_help_is_told_by_what_it_lacks_alone(tmp_path: Path) -> None:
    header = HEADER.replace("word", "bdaddr_t")
    tree = write_files(small_kernel(tmp_path / "tree"), {**KNOWN, FILE: header})
    unaligned = header.replace(" __attribute__((aligned(64)))", "")
    (tmp_path / "0001.patch").write_bytes(unified_diff(header.encode(), unaligned.encode(), FILE))
    done = linesmith("lint", "--tree", tree, "--patch", tmp_path / "0001.patch")
    assert (
        f"{FILE} was not compiled: in tree, {FILE} does not compile: include/linux/queue/limits.h:2: unknown type"
        in done.stdout
    )
