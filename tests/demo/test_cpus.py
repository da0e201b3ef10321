# SPDX-License-Identifier: GPL-2.0-or-later
"""Which CPUs the example runs on, from the files that the kernel shows about its CPUs."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.demo.cpus import Placement, choose


def topology(folder: Path, siblings: dict[int, str]) -> Path:
    for cpu, text in siblings.items():
        place = folder / f"cpu{cpu}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(text + "\n")
    return folder


def test_two_cores_without_siblings(tmp_path: Path) -> None:
    choice = choose([0, 1], topology(tmp_path, {0: "0", 1: "1"}))
    assert (choice.cpus, choice.placement, choice.count) == ((0, 1), Placement.CORES, 2)


def test_one_cpu_of_each_core(tmp_path: Path) -> None:
    choice = choose([0, 1, 2, 3], topology(tmp_path, {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}))
    assert (choice.cpus, choice.placement) == ((0, 1), Placement.CORES)


def test_siblings_of_one_core_are_said_to_be_siblings(tmp_path: Path) -> None:
    choice = choose([4, 5], topology(tmp_path, {4: "4-5", 5: "4-5"}))
    assert (choice.cpus, choice.placement) == ((4, 5), Placement.SIBLINGS)
    assert "may show nothing" in choice.placement.value


def test_one_cpu_serves_both_threads(tmp_path: Path) -> None:
    choice = choose([3], topology(tmp_path, {3: "3"}))
    assert (choice.cpus, choice.placement, choice.count) == ((3, 3), Placement.ONE_CPU, 1)


def test_a_large_machine_lends_eight(tmp_path: Path) -> None:
    choice = choose(range(64), topology(tmp_path, {cpu: str(cpu) for cpu in range(64)}))
    assert choice.cpus == tuple(range(8))


def test_a_kernel_without_topology_files(tmp_path: Path) -> None:
    assert choose([0, 1], tmp_path).placement is Placement.CORES
