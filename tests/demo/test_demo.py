# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith demo`` from end to end; what it measures depends on the machine and is not judged here."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith

pytestmark = pytest.mark.xdist_group("demo")


def demo(**environment: str) -> subprocess.CompletedProcess[str]:
    return linesmith("demo", env=os.environ | environment)


@pytest.fixture(scope="module")
def output() -> str:
    done = demo()
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_chapters_come_in_order(output: str) -> None:
    titles = [title for title, rule in pairwise(output.splitlines()) if set(rule) == {"="}]
    assert titles == [
        "A small program",
        "Its layout",
        "What a profile shows",
        "The smallest change",
        "The patch",
        "Before and after, on this machine",
    ]
    assert "\x1b" not in output  # which goes to a pipe


def test_the_profile_is_recorded_here_and_shows_false_sharing_of_root_and_lock(output: str) -> None:
    assert "$ linesmith record --on " in output
    assert " -- ./bench 400 " in output
    assert "false sharing: move guard away" in output
    assert "after stores to guard, in guard_take, guard_release" in " ".join(output.split())


def test_the_patch_moves_the_lock_alone_and_is_verified(output: str) -> None:
    changes = [line for line in output.splitlines() if line[:2] in ("- ", "+ ")]
    assert [line[0] for line in changes] == ["-", "+"]
    assert changes[0][1:] == changes[1][1:] == "  struct guard guard;               /* protects the times of renewal */"
    assert "Verified: compiled with" in output


def test_the_throughput_is_shown_with_spread_and_cpus(output: str) -> None:
    assert "CPUs used: " in output
    for operation in ("lookups", "renewals"):
        row = next(line for line in output.splitlines() if line.startswith(operation))
        assert row.count("…") == 3


@pytest.mark.study
def test_one_cpu_is_enough_and_is_said_to_show_nothing() -> None:
    taskset = shutil.which("taskset")
    assert taskset is not None
    one = str(min(os.sched_getaffinity(0)))
    argv: list[str | Path] = [taskset, "-c", one, LINESMITH, "demo"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0
    assert f"CPUs used: 1 ({one}); only one CPU is available" in done.stdout


@pytest.mark.study
def test_without_a_recorder_the_profile_is_said_to_be_written_for_the_example(tmp_path: Path) -> None:
    for name in ("cc", "gcc", "patch", "ld", "as"):
        if found := shutil.which(name):
            (tmp_path / name).symlink_to(found)
    done = demo(PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "CPUs used: " in done.stdout
    assert "figures were written for this example, not recorded: not on perf, for " in done.stdout


def test_without_a_compiler_one_sentence_names_the_package_and_nothing_is_left(tmp_path: Path) -> None:
    done = demo(TMPDIR=str(tmp_path), PATH=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "install the package gcc" in done.stderr
    assert list(tmp_path.iterdir()) == []
