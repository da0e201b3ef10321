# SPDX-License-Identifier: GPL-2.0-or-later
"""How long every command takes to start, beyond Python itself: ``--help`` of each, run in turns.

Usage: python tests/bench/startup.py [--runs 15] [--limit MILLISECONDS]

Prints the medians of each in milliseconds, wall and processor time, and how far above ``python -c pass`` they are; with
``--limit`` the exit status is 1 where the wall time of a command is that far above it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from layout_speed import Cost, measured, median

LINESMITH = str(Path(sys.executable).with_name("linesmith"))
BARE = "python -c pass"


def calls() -> dict[str, list[str]]:
    """Command lines by what they are called."""
    told = subprocess.run([LINESMITH, "--help"], check=True, capture_output=True, text=True).stdout
    commands = re.findall(r"^  ([a-z][a-z-]*)  ", told, re.MULTILINE)
    ours = [["--help"], ["--version"], *([name, "--help"] for name in commands)]
    return {BARE: [sys.executable, "-c", "pass"]} | {" ".join(words): [LINESMITH, *words] for words in ours}


def main() -> int:
    """All calls take turns, so that what else goes on here touches them alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--limit", type=float)
    given = parser.parse_args()
    known = calls()
    costs: dict[str, list[Cost]] = {name: [] for name in known}
    for _ in range(given.runs):
        for name, command in known.items():
            costs[name].append(measured(command))
    found = {name: median(runs) for name, runs in costs.items()}
    bare = found[BARE]
    above = {name: 1000 * (one.wall - bare.wall) for name, one in found.items()}
    print(f"{'':<22} {'wall':>7}  {'above':>7}  {'processor':>9}  {'above':>7}")
    for name, one in found.items():
        processor = f"{1000 * one.cpu:9.1f}  {1000 * (one.cpu - bare.cpu):+7.1f}"
        print(f"{name:<22} {1000 * one.wall:7.1f}  {above[name]:+7.1f}  {processor}")
    return int(given.limit is not None and max(above.values()) > given.limit)


if __name__ == "__main__":
    sys.exit(main())
