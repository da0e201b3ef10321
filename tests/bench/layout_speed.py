# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed and memory beside pahole, on the same files in one run.

Usage: python tests/bench/layout_speed.py VMLINUX [--lint OTHER_VMLINUX] [--runs COUNT]

Each pair of commands runs in turns, so that both meet the same machine; the table gives medians of wall seconds, CPU
seconds (user and system, children included) and peak resident MiB. With ``--lint`` the two builds are linted; pahole
and diff print what somebody has to read.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    peak_mib: float


@dataclass(frozen=True)
class Contest:
    """Two commands that do the same work; ``prepare`` runs before each of ours, unmeasured."""

    title: str
    ours: Sequence[str]
    theirs: Sequence[str]
    prepare: Callable[[], None]


def measured(command: Sequence[str]) -> Cost:
    """Run the command to its end; its output goes nowhere, a failure ends the bench."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(one, field) for one in costs) for field in ("wall", "cpu", "peak_mib")))


def held(contest: Contest, runs: int) -> tuple[Cost, Cost]:
    """Both commands ``runs`` times in turns, after one run each that fills the page cache."""
    ours, theirs = [], []
    for _ in range(runs + 1):
        contest.prepare()
        ours.append(measured(contest.ours))
        theirs.append(measured(contest.theirs))
    return median(ours[1:]), median(theirs[1:])


def show(contest: Contest, ours: Cost, theirs: Cost) -> None:
    print(contest.title)
    for name, cost in (("linesmith", ours), ("pahole", theirs)):
        print(f"  {name:10} {cost.wall:8.3f} s wall {cost.cpu:8.3f} s CPU {cost.peak_mib:8.0f} MiB")
    ratios = (theirs.wall / ours.wall, theirs.cpu / ours.cpu, theirs.peak_mib / ours.peak_mib)
    print(f"  {'ratio':10} {ratios[0]:8.1f} x      {ratios[1]:8.1f} x     {ratios[2]:8.1f} x")


LINESMITH = str(Path(sys.executable).with_name("linesmith"))


def empty() -> None:
    shutil.rmtree(os.environ["LINESMITH_CACHE_DIR"], ignore_errors=True)


def contests(vmlinux: Path) -> list[Contest]:
    """Indexing everything from nothing, and one type with the index at hand."""
    return [
        Contest(
            "index everything",
            [LINESMITH, "index", str(vmlinux)],
            ["pahole", "-F", "dwarf", "-j2", str(vmlinux)],
            empty,
        ),
        Contest(
            "one type, index at hand",
            [LINESMITH, "layout", str(vmlinux), "tcp_sock"],
            ["pahole", "-F", "dwarf", "-C", "tcp_sock", str(vmlinux)],
            lambda: None,
        ),
    ]


def lints(old: Path, new: Path, folder: str) -> list[Contest]:
    """Two whole builds, with the indices to be made and with the indices at hand."""
    ours = [LINESMITH, "lint", "--fail-on", "never", "--base", str(old), "--head", str(new)]
    shown = (f"pahole -F dwarf -j2 {shlex.quote(str(one))} > {folder}/{at}" for at, one in enumerate((old, new)))
    theirs = ["sh", "-c", f"{'; '.join(shown)}; diff {folder}/0 {folder}/1 > /dev/null || true"]
    titles = {"two whole builds, nothing at hand": empty, "two whole builds, both indices at hand": lambda: None}
    return [Contest(title, ours, theirs, prepare) for title, prepare in titles.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vmlinux", type=Path)
    parser.add_argument("--lint", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LINESMITH_CACHE_DIR"] = f"{folder}/cache"
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, medians of {arguments.runs}")
        other = arguments.lint
        for contest in lints(arguments.vmlinux, other, folder) if other else contests(arguments.vmlinux):
            show(contest, *held(contest, arguments.runs))


if __name__ == "__main__":
    main()
