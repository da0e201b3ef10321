# SPDX-License-Identifier: GPL-2.0-or-later
"""CPUs and nodes as the forms of perf's last column tell them, and the share of a profile that a paste leaves out."""

from __future__ import annotations

import pytest

from linesmith.analyzer.model import Access, CpuCounts, Profile, SharedLine
from linesmith.analyzer.sharing.origin import Origin, origin
from linesmith.analyzer.sharing.waiting import profile_waited


@pytest.mark.parametrize(
    ("nodes", "cpus", "known"),
    [
        ("0 1", 5, Origin(None, frozenset((0, 1)), 5)),
        ("0{0-2,7} 1{24}", 5, Origin(frozenset((0, 1, 2, 7, 24)), frozenset((0, 1)), 5)),
        ("0{ 2 100.0% n/a}", 2, Origin(None, frozenset((0,)), 2)),
        ("N/A", None, Origin(None, frozenset(), None)),
        (None, 3, Origin(None, frozenset(), 3)),
    ],
)
def test_the_forms_of_the_list_of_nodes(nodes: str | None, cpus: int | None, known: Origin) -> None:
    assert origin([Access(0, "read", nodes=nodes, cpus=cpus)]) == known


def test_samples_one_by_one_tell_every_cpu() -> None:
    found = origin([Access(0, "read", by_cpu=(CpuCounts(3, 1), CpuCounts(9, None)))])
    assert found == Origin(frozenset((3, 9)), frozenset((1,)), 2)


def test_one_row_that_only_counts_its_cpus_leaves_them_unknown() -> None:
    found = origin([Access(0, "read", nodes="0{1-4}"), Access(0, "write", nodes="0 1", cpus=9)])
    assert found == Origin(None, frozenset((0, 1)), 9)


def test_a_range_without_end_is_cut() -> None:
    cpus = origin([Access(0, "read", nodes="0{0-999999}")]).cpus
    assert cpus is not None
    assert len(cpus) <= 65537


def test_lines_that_a_paste_left_out_count_by_share() -> None:
    half = SharedLine(0, None, (Access(0, "read", hitm_local=10, cycles_local=100),), hitm_local=10, share=0.5)
    assert profile_waited(Profile("test", "", "hitm", (half,))) == 2000
