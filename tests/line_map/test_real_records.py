# SPDX-License-Identifier: GPL-2.0-or-later
"""Maps of kernel structs with the reports that people posted: the hot members are where the fixes say they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from keeping import Keeper
from kernel_index import cached_kernel
from linesmith_command import linesmith

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("access of the kernel")]

CASES = {
    "address_space": "002-address_space-i_mmap-v2-unixbench-shell.txt",
    "task_group": "004-task_group-load_avg-unixbench-pipe.txt",
}


@pytest.fixture(scope="module", autouse=True)
def cached(vmlinux: Path, kept: Keeper) -> Iterator[None]:
    with cached_kernel(vmlinux, kept):
        yield


def cells(vmlinux: Path, corpus: Path, record: str) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """The map, its cells with the number of their line, and the one with most contended samples."""
    words = ("layout", vmlinux, record, "--profile", corpus / "c2c" / CASES[record], "--format", "json")
    done = linesmith(*words)
    assert (done.returncode, done.stderr) == (0, "")
    (drawn,) = json.loads(done.stdout)["maps"]
    found = [cell | {"line": line["number"]} for line in drawn["lines"] for cell in line["cells"]]
    return drawn, found, max(found, key=lambda cell: cell.get("heat") or 0)


def test_the_semaphore_of_a_mapping_burns_beside_its_tree(vmlinux: Path, corpus: Path) -> None:
    drawn, found, hottest = cells(vmlinux, corpus, "address_space")
    hot = {cell["path"].partition(".")[0] for cell in found if cell["line"] == hottest["line"] and cell.get("heat")}
    assert (hottest["path"], hot) == ("i_mmap_rwsem", {"i_mmap", "i_mmap_rwsem"})
    assert drawn["phase"] == 16


def test_the_load_of_a_task_group_is_written_by_all_cpus_of_both_nodes(vmlinux: Path, corpus: Path) -> None:
    _, _, hottest = cells(vmlinux, corpus, "task_group")
    assert (hottest["path"], hottest["offset"] % 64, hottest["written"]) == ("load_avg", 0, True)
    assert max(one.get("cpus") or 0 for one in hottest["touchers"]) == 160
    assert {tuple(one["nodes"]) for one in hottest["touchers"]} == {(0, 1)}
