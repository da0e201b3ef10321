# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading millions of samples beside perf, on one file in one run: ``python tests/bench/perf_data_speed.py VMLINUX``.

The file is written first (an exec storm of the kernel VMLINUX on 16 CPUs as a PMU would sample it, 5 million samples)
unless ``--data`` gives one. ``linesmith hot`` and ``perf c2c report --stdio`` run in turns; the table gives medians of
wall seconds, CPU seconds and peak resident MiB, and what linesmith takes as a multiple of each. ``perf script`` without
symbols is the least that reading perf's text would take.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from layout_speed import Cost, measured, median

_TESTS = Path(__file__).resolve().parents[1]
_FIELDS = "pid,tid,cpu,time,event,addr,ip,data_src,weight"


def commands(vmlinux: Path, data: Path, perf: str) -> dict[str, Sequence[str]]:
    linesmith = str(Path(sys.executable).with_name("linesmith"))
    return {
        "linesmith hot": (linesmith, "hot", str(vmlinux), str(data)),
        "perf c2c report": (perf, "c2c", "report", "--stdio", "-i", str(data)),
        "perf script": (perf, "script", "-i", str(data), "-F", _FIELDS),
    }


def written(vmlinux: Path, samples: int, folder: Path) -> Path:
    """The file with the samples, a fifth of them on 200,000 pages of one CPU each."""
    data = folder / "perf.data"
    argv = (sys.executable, "-m", "perf_data.write", "kernel", str(vmlinux), "-o", str(data))
    more = ("--samples", str(samples), "--pages", "200000")
    subprocess.run((*argv, *more), check=True, env={**os.environ, "PYTHONPATH": str(_TESTS)})
    return data


def show(name: str, cost: Cost, ours: Cost) -> None:
    ratios = f"{ours.wall / cost.wall:6.2f} {ours.cpu / cost.cpu:6.2f} {ours.peak_mib / cost.peak_mib:6.2f}"
    print(f"  {name:16} {cost.wall:8.2f} s wall {cost.cpu:8.2f} s CPU {cost.peak_mib:8.0f} MiB   ours/this: {ratios}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vmlinux", type=Path)
    parser.add_argument("--data", type=Path, help="a perf.data file of that kernel")
    parser.add_argument("--samples", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--perf", default="perf")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or written(options.vmlinux, options.samples, Path(folder))
        tried = commands(options.vmlinux, data, options.perf)
        costs: dict[str, list[Cost]] = {name: [] for name in tried}
        for _ in range(options.runs + 1):
            for name, argv in tried.items():
                costs[name].append(measured(argv))
        medians = {name: median(runs[1:]) for name, runs in costs.items()}
        print(f"{data.stat().st_size / 1e6:,.0f} MB, medians of {options.runs} runs")
        for name, cost in medians.items():
            show(name, cost, medians["linesmith hot"])


if __name__ == "__main__":
    main()
