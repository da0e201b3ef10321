# SPDX-License-Identifier: GPL-2.0-or-later
"""What the access map costs: ``python tests/bench/access_speed.py VMLINUX``.

Making it (wall and CPU seconds, peak MiB, the file kept), warm questions as whole commands, and how many addresses of
samples are resolved a second.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from layout_speed import Cost, measured, median

from linesmith.analyzer.access import read_accesses, resolve

SAMPLES = 4_000_000
QUESTIONS = (
    (),
    ("--type", "address_space"),
    ("--type", "list_head"),
    ("--function", "vma_interval_tree_remove"),
    ("--address", "vma_interval_tree_remove+0x10"),
)


def show(cost: Cost, what: str) -> None:
    """A row of the table."""
    print(f"  {cost.wall:6.2f} s wall {cost.cpu:6.2f} s CPU {cost.peak_mib:5.0f} MiB  {what}")


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("elf", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    command = [str(Path(sys.executable).with_name("linesmith")), "access", str(arguments.elf)]
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LINESMITH_CACHE_DIR"] = cache
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, medians of {arguments.runs}")
        measured([command[0], "index", command[2]])
        show(measured(command), "making the map")
        kept = sum(one.stat().st_size for one in Path(cache).glob("*.access"))
        print(f"  {kept / 2**20:.0f} MiB kept")
        for question in QUESTIONS:
            costs = [measured([*command, *question]) for _ in range(arguments.runs)]
            show(median(costs), " ".join(question) or "sums")
        accesses = read_accesses(arguments.elf).accesses
        generator = np.random.default_rng(1)
        addresses = generator.choice(accesses.address, SAMPLES) + generator.integers(0, 2, SAMPLES).astype(np.uint64)
        began = time.perf_counter()
        resolve(addresses, accesses)
        print(f"  {SAMPLES / (time.perf_counter() - began) / 1e6:.2f} million addresses a second are resolved")


if __name__ == "__main__":
    main()
