# SPDX-License-Identifier: GPL-2.0-or-later
"""The scenarios lie where they say: perf finds the functions that were meant, moved by KASLR and by the loader."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from perf_data import program_scenario
from perf_data.hardware import INTEL
from perf_data.kernel import Kernel
from perf_data.perfs import PERFS, output
from perf_data.program import Program
from perf_data.recording import write
from perf_data.scenario import TruthRow
from perf_data.write import kernel_recording, program_recording

each_perf = pytest.mark.parametrize("perf", PERFS)
Named = Counter[tuple[str, str]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    return program_scenario.compiled(tmp_path_factory.mktemp("server"))


def meant(rows: list[TruthRow]) -> Named:
    """Samples by function and the address that they touch."""
    found: Named = Counter()
    for row in rows:
        found[row.function, f"{row.address:x}"] += row.samples
    return found


def told(text: str) -> Named:
    """The same from ``perf script -F addr,ip,sym``."""
    return Counter((words[2], words[0]) for words in (row.split() for row in text.splitlines()) if words)


@each_perf
def test_perf_names_the_functions_of_the_program(perf: str, server: Path, tmp_path: Path) -> None:
    recording, rows = program_recording(Program(server), INTEL, 3000)
    path = tmp_path / "perf.data"
    write(path, recording)

    text = output(perf, "script", "-i", path, "-F", "addr,ip,sym")

    assert told(text) == meant(rows)


def test_counters_of_threads_lie_side_by_side_and_connections_half_a_line_off(server: Path) -> None:
    program = Program(server)
    _, rows = program_recording(program, INTEL, 20_000)

    requests = sorted({row.address for row in rows if row.member == "requests"})
    descriptors = {row.address for row in rows if row.member == "descriptor"}

    assert [one - requests[0] for one in requests] == [24 * number for number in range(16)]
    assert requests[0] == program.variable("per_thread").address
    assert {(one - program.offset("connection", "descriptor")) % 64 for one in descriptors} == {32}
    assert all(len(row.cpus) == 1 for row in rows if row.member == "requests")


@each_perf
@pytest.mark.real
def test_perf_names_the_functions_of_a_moved_kernel(perf: str, vmlinux: Path, tmp_path: Path) -> None:
    recording, rows = kernel_recording(Kernel(vmlinux, slide=0x2B60_0000), INTEL, 5000)
    path = tmp_path / "perf.data"
    write(path, recording)

    text = output(perf, "script", "-k", vmlinux, "-i", path, "-F", "addr,ip,sym")

    assert told(text) == meant(rows)


@pytest.mark.real
def test_inodes_begin_at_every_phase(vmlinux: Path) -> None:
    kernel = Kernel(vmlinux)
    _, rows = kernel_recording(kernel, INTEL, 50_000)

    member = kernel.offset("ext4_inode_info", "vfs_inode.i_data.i_mmap_rwsem")
    counts = {
        row.address - member
        for row in rows
        if (row.function, row.member) == ("down_write", "vfs_inode.i_data.i_mmap_rwsem.count")
    }

    assert len(counts) == 200
    assert {start % 64 for start in counts} == {0, 8, 16, 24, 32, 40, 48, 56}
