# SPDX-License-Identifier: GPL-2.0-or-later
"""Every workload runs to its end on this machine, as processes and as threads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NAMES = [
    "exec_storm", "exec_self", "exec_copies", "fork_exit", "fault_anonymous", "fault_private", "fault_shared",
    "map_anonymous", "map_file", "open_same", "open_separate", "dup_close", "read_same", "pipe_own", "pipe_shared",
    "unix_own", "unix_pairs", "signal_self", "futex_wake", "futex_wait",
]  # fmt: skip


@pytest.fixture(scope="session")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built as its Makefile builds it."""
    program = tmp_path_factory.mktemp("workload") / "workload"
    subprocess.run(["make", "-C", str(HERE), f"OUT={program}"], check=True, capture_output=True)
    return program


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("name", NAMES)
def test_processes_and_threads_do_the_iterations_asked_for(workload: Path, name: str) -> None:
    for words in ([name], ["--threads", name]):
        ended = run(workload, *words, "2", "3")
        assert (ended.returncode, ended.stdout) == (0, f"{name}: 2 workers, 3 iterations each\n"), ended.stderr


def test_the_names_are_all_told(workload: Path) -> None:
    told = [line.split()[0] for line in run(workload).stderr.splitlines() if line.startswith("  ")]
    assert told == [*NAMES, "memcg_charge"]  # which needs root and a hierarchy of its own: it runs in guests only
