# SPDX-License-Identifier: GPL-2.0-or-later
"""How long every command takes to start, beyond Python itself: ``--help`` of each, run in turns.

Usage: python tests/bench/startup.py [--runs 15] [--limit MILLISECONDS]

Prints the medians of each in milliseconds, wall and processor time, how far above ``python -c pass`` they are, and
the ratio to it; with ``--limit`` the exit status is 1 where the wall time of a command is that far above it.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

LINESMITH = Path(sys.executable).with_name("linesmith")
BARE = "python -c pass"


def calls() -> dict[str, list[str]]:
    """Command lines by what they are called."""
    ours = {"--help": ["--help"], "--version": ["--version"]}
    told = subprocess.run([LINESMITH, "--help"], check=True, capture_output=True, text=True).stdout
    commands = re.findall(r"^  ([a-z][a-z-]*)  ", told, re.MULTILINE)
    ours |= {f"{name} --help": [name, "--help"] for name in commands}
    return {BARE: [sys.executable, "-c", "pass"]} | {name: [str(LINESMITH), *words] for name, words in ours.items()}


def times_of(command: Sequence[str]) -> tuple[float, float]:
    """Wall and processor time of one run, in milliseconds."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return 1000 * wall, 1000 * (used.ru_utime + used.ru_stime)


def medians(runs: int) -> dict[str, tuple[float, float]]:
    """Wall and processor time by call; all calls take turns, so that what else goes on here touches them alike."""
    known = calls()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in known}
    for _ in range(runs):
        for name, command in known.items():
            times[name].append(times_of(command))
    return {name: (_median(values, 0), _median(values, 1)) for name, values in times.items()}


def _median(values: Sequence[tuple[float, float]], column: int) -> float:
    return statistics.median(value[column] for value in values)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--limit", type=float)
    given = parser.parse_args()
    found = medians(given.runs)
    bare = found[BARE]
    print(f"{'':<22} {'wall':>7}  {'above':>7}  {'ratio':>5}  {'processor':>9}  {'above':>7}")
    for name, (wall, used) in found.items():
        above = f"{wall:7.1f}  {wall - bare[0]:+7.1f}  {wall / bare[0]:5.1f}  {used:9.1f}  {used - bare[1]:+7.1f}"
        print(f"{name:<22} {above}")
    return int(given.limit is not None and any(wall - bare[0] > given.limit for wall, _ in found.values()))


if __name__ == "__main__":
    sys.exit(main())
