# SPDX-License-Identifier: GPL-2.0-or-later
"""Maps of kernel structs with the reports that people posted: the hot members are where the fixes say they are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from keeping import Keeper
from kernel_index import cached_kernel

from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.line_map import heat_of, line_map
from linesmith.analyzer.model import CellKind, LineMap
from linesmith.analyzer.report.map_rows import map_rows, plain

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("access of the kernel")]

CASES = {
    "address_space": "002-address_space-i_mmap-v2-unixbench-shell.txt",
    "task_group": "004-task_group-load_avg-unixbench-pipe.txt",
}


@pytest.fixture(scope="module", autouse=True)
def cached(vmlinux: Path, kept: Keeper) -> Iterator[None]:
    with cached_kernel(vmlinux, kept):
        yield


@cache
def seen(vmlinux: Path, corpus: Path, record: str) -> LineMap:
    found = analyse(vmlinux, corpus / "c2c" / CASES[record], 1, record)
    layout = found.reading.layouts.variants(record)[0]
    heat = heat_of(layout, found.reading.layouts, found.findings, found.profile)
    return line_map(layout, found.reading.layouts, heat)


def hottest(drawn: LineMap) -> tuple[int, str]:
    """The line and the member with most contended samples."""
    cells = [(cell.heat or 0, line.number, cell.path) for line in drawn.lines for cell in line.cells]
    return max(cells)[1:]


def test_the_semaphore_of_a_mapping_burns_beside_its_tree(vmlinux: Path, corpus: Path) -> None:
    drawn = seen(vmlinux, corpus, "address_space")
    number, path = hottest(drawn)
    beside = {cell.path.partition(".")[0] for cell in drawn.lines[number].cells if cell.heat}
    assert (path, beside) == ("i_mmap_rwsem", {"i_mmap", "i_mmap_rwsem"})
    assert drawn.phase == 16


def test_the_load_of_a_task_group_is_written_by_all_cpus_of_both_nodes(vmlinux: Path, corpus: Path) -> None:
    drawn = seen(vmlinux, corpus, "task_group")
    number, path = hottest(drawn)
    cell = next(one for one in drawn.lines[number].cells if one.path == path)
    assert (path, cell.offset % 64, cell.written) == ("load_avg", 0, True)
    assert max(one.cpus or 0 for one in cell.touchers) == 160
    assert {one.nodes for one in cell.touchers} == {(0, 1)}


@pytest.mark.parametrize(("record", "listed"), [("address_space", 6084 / 9520), ("task_group", 1.0)])
def test_the_cells_are_the_object(vmlinux: Path, corpus: Path, record: str, listed: float) -> None:
    """The rows of the first report were trimmed: 3,436 of its contended samples may be of any member."""
    drawn = seen(vmlinux, corpus, record)
    cells = [cell for line in drawn.lines for cell in line.cells]
    assert sum(cell.bytes for cell in cells) == drawn.size
    assert sum(cell.heat or 0 for cell in cells if cell.kind is CellKind.MEMBER) == pytest.approx(listed)
    assert all(len(row) <= 80 for row in plain(map_rows(drawn, 80)).splitlines())
