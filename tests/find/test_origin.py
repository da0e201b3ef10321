# SPDX-License-Identifier: GPL-2.0-or-later
"""CPUs and nodes as the forms of perf's last column tell them, how many there are, and where kernel memory lies."""

from __future__ import annotations

import pytest
from find.lines import line_of, profile_of

from linesmith.analyzer.attribution.kernel_addresses import in_linear_map
from linesmith.analyzer.model import Access, CpuCounts, Profile, Sampling
from linesmith.analyzer.sharing.machine_cpus import machine_cpus
from linesmith.analyzer.sharing.origin import Origin, origin
from linesmith.analyzer.sharing.waiting import profile_waited


def on(nodes: str | None, cpus: int | None = None) -> Access:
    return Access(0, "read", hitm_local=5, nodes=nodes, cpus=cpus)


def known(cpus: set[int] | None, nodes: set[int], count: int | None) -> Origin:
    return Origin(None if cpus is None else frozenset(cpus), frozenset(nodes), count)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([on("0 1", 5)], known(None, {0, 1}, 5)),
        ([on("0{0-2,7} 1{24}", 5)], known({0, 1, 2, 7, 24}, {0, 1}, 5)),
        ([on("0{ 2 100.0% n/a}", 2)], known(None, {0}, 2)),
        ([on("N/A")], known(None, set(), None)),
        ([on(None, 3)], known(None, set(), 3)),
        ([Access(0, "read", by_cpu=(CpuCounts(3, 1), CpuCounts(9, None)))], known({3, 9}, {1}, 2)),
        ([on("0{1-4}"), on("0 1", 9)], known(None, {0, 1}, 9)),  # the second row only counts its CPUs
    ],
)
def test_the_forms_of_the_list_of_nodes(rows: list[Access], expected: Origin) -> None:
    assert origin(rows) == expected


def test_a_range_without_end_is_cut() -> None:
    assert len(origin([on("0{0-999999}")]).cpus or range(1 << 20)) <= 65537


@pytest.mark.parametrize(
    ("profile", "cpus"),
    [
        *((profile_of(line_of([on(nodes)])), cpus) for nodes, cpus in (("0{0-47,96-143}  1{48-95,144-159}", 160),
            ("0{0-3}  1{8}", 64), ("0 1", 64), ("", 64), ("0{999999}", 65536))),
        *((profile_of(sampling=Sampling(cpus=said)), most) for said, most in ((12, 12), (256, 256), (0, 1))),
        (profile_of(sampling=Sampling(cpus=10**9)), 65536),
        (profile_of(line_of([on("0 1", 160), on("0 1", 159)])), 160),  # a row may only count its CPUs
        (profile_of(line_of([on("0 1", 8), on("0 1", 7)])), 64),
    ],
)  # fmt: skip
def test_a_profile_tells_how_many_cpus_there_are_or_64_are_assumed(profile: Profile, cpus: int) -> None:
    assert machine_cpus(profile, 64) == cpus


def test_lines_that_a_paste_left_out_count_by_share() -> None:
    assert profile_waited(profile_of(line_of([Access(0, "read", hitm_local=10, cycles_local=100)], share=0.5))) == 2000


@pytest.mark.parametrize(
    ("address", "where"),
    [
        (0xFFFF_8881_C064_2F80, True),  # x86-64, four levels: memory
        (0xFFFF_EA00_0000_1000, False),  # x86-64, four levels: struct page
        (0xFFFF_C900_0000_1000, False),  # x86-64, four levels: vmalloc
        (0xFF11_0000_8836_6D88, True),  # x86-64, five levels: memory
        (0xFFD4_0000_0000_1000, False),  # x86-64, five levels: struct page
        (0xFFFF_0000_4000_1000, True),  # arm64: memory
        (0xFFFF_FC00_0000_1000, False),  # arm64: struct page
        (0xFFFF_FFFF_8200_1000, False),  # x86-64: the kernel's own variables
        (0x5555_5555_6000, False),  # a program
    ],
)
def test_the_linear_map(address: int, where: bool) -> None:
    assert in_linear_map(address) is where
