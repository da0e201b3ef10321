# SPDX-License-Identifier: GPL-2.0-or-later
"""How long every command takes to start, beyond Python itself: ``--help`` of each, run in turns.

Usage: python tests/bench/startup.py [--runs 15] [--limit MILLISECONDS]

Prints the median of each in milliseconds, what is above ``python -c pass``, and the ratio to it; with ``--limit`` the
exit status is 1 where a command is above it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.cli import GROUPS

LINESMITH = Path(sys.executable).with_name("linesmith")
BARE = "python -c pass"


def calls() -> dict[str, list[str]]:
    """Command lines by what they are called."""
    ours = {"--help": ["--help"], "--version": ["--version"]}
    ours |= {f"{name} --help": [name, "--help"] for names in GROUPS.values() for name in names}
    return {BARE: [sys.executable, "-c", "pass"]} | {name: [str(LINESMITH), *words] for name, words in ours.items()}


def seconds(command: Sequence[str]) -> float:
    """Wall time of one run."""
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def medians(runs: int) -> dict[str, float]:
    """Milliseconds by call; all calls take turns, so that what else goes on here touches them alike."""
    times: dict[str, list[float]] = {name: [] for name in calls()}
    for _ in range(runs):
        for name, command in calls().items():
            times[name].append(1000 * seconds(command))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--limit", type=float)
    given = parser.parse_args()
    found = medians(given.runs)
    bare = found[BARE]
    for name, value in found.items():
        print(f"{name:<22} {value:7.1f} ms  {value - bare:+7.1f} ms  {value / bare:5.1f}")
    return int(given.limit is not None and any(value - bare > given.limit for value in found.values()))


if __name__ == "__main__":
    sys.exit(main())
