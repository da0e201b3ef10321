# SPDX-License-Identifier: GPL-2.0-or-later
"""What the access map costs: ``python tests/bench/access_speed.py VMLINUX``.

Making it (wall and CPU seconds, peak MiB, the file kept), warm questions as whole commands, and how many addresses of
samples are resolved a second, beside a loop over a sorted list in Python.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import resolve
from linesmith.analyzer.access.store import read_accesses

LINESMITH = Path(sys.executable).with_name("linesmith")
SAMPLES = 4_000_000
LOOPED = 200_000
QUESTIONS = (
    (),
    ("--type", "address_space"),
    ("--type", "list_head"),
    ("--function", "vma_interval_tree_remove"),
    ("--address", "vma_interval_tree_remove+0x10"),
)


def run(command: Sequence[str | Path]) -> tuple[float, float, float]:
    """Wall and CPU seconds and peak MiB of a command whose output goes nowhere."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def rate(count: int, seconds: float) -> str:
    return f"{count / seconds / 1e6:8.2f} million a second"


def resolving(accesses: AccessMap, samples: int) -> None:
    """Addresses with an access and without one, in random order, by both ways; they must agree."""
    generator = np.random.default_rng(1)
    addresses = generator.choice(accesses.address, samples) + generator.integers(0, 2, samples).astype(np.uint64)
    began, began_cpu = time.perf_counter(), time.process_time()
    rows = resolve(addresses, accesses)
    wall, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    print(f"  resolve          {rate(samples, wall)}, {samples / cpu / 1e6:.2f} of CPU time")
    started = time.perf_counter()
    named = [
        accesses.types[int(accesses.place_type[accesses.place[row]])] for row in rows[:LOOPED].tolist() if row >= 0
    ]
    print(f"  with names       {rate(LOOPED, time.perf_counter() - started)} ({len(set(named)):,} types)")
    known, looked_up = accesses.address.tolist(), addresses[:LOOPED].tolist()
    started = time.perf_counter()
    looped = [
        place if known[place] == one else -1 for one in looked_up if (place := bisect_left(known, one)) < len(known)
    ]
    print(f"  loop in Python   {rate(LOOPED, time.perf_counter() - started)}")
    assert [known[row] if row >= 0 else -1 for row in rows[: len(looped)].tolist()] == [
        known[place] if place >= 0 else -1 for place in looped
    ]


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("elf", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["LINESMITH_CACHE_DIR"] = cache
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
        run([LINESMITH, "index", arguments.elf])
        wall, cpu, peak = run([LINESMITH, "access", arguments.elf])
        kept = sum(one.stat().st_size for one in Path(cache).glob("*.access"))
        print(f"making the map: {wall:.1f} s wall, {cpu:.1f} s CPU, {peak:.0f} MiB, {kept / 2**20:.0f} MiB kept")
        print(f"warm questions, median of {arguments.runs}")
        for question in QUESTIONS:
            costs = [run([LINESMITH, "access", arguments.elf, *question]) for _ in range(arguments.runs)]
            wall, cpu, peak = (statistics.median(cost[n] for cost in costs) for n in range(3))
            print(f"  {wall:.2f} s wall {cpu:.2f} s CPU {peak:5.0f} MiB  {' '.join(question) or 'sums'}")
        accesses = read_accesses(arguments.elf).accesses
        print(f"addresses of {arguments.samples:,} samples, {len(accesses):,} accesses")
        resolving(accesses, arguments.samples)


if __name__ == "__main__":
    main()
