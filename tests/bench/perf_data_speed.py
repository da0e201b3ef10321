# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading millions of samples beside perf, on one file in one run.

Usage: python tests/bench/perf_data_speed.py [ELF --data PERF.DATA]

Without a file one is written first: a server with 16 threads as a PMU would sample it, 5 million samples. ``linesmith
hot`` and ``perf c2c report --stdio`` run in turns; the table gives medians of wall seconds, CPU seconds and peak
resident MiB, and what linesmith takes as a multiple of each. ``perf script`` without symbols is the least that reading
perf's text would take.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from layout_speed import Cost, measured, median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from perf_data.hardware import ALL
from perf_data.image import Program
from perf_data.program_scenario import compiled, program_recording
from perf_data.recording import write

_FIELDS = "pid,tid,cpu,time,event,addr,ip,data_src,weight"


def commands(elf: Path, data: Path, perf: str) -> dict[str, Sequence[str]]:
    linesmith = str(Path(sys.executable).with_name("linesmith"))
    return {
        "linesmith hot": (linesmith, "hot", str(elf), str(data)),
        "perf c2c report": (perf, "c2c", "report", "--stdio", "-i", str(data)),
        "perf script": (perf, "script", "-i", str(data), "-F", _FIELDS),
    }


def written(samples: int, folder: Path) -> tuple[Path, Path]:
    """The server of the tests and a file with that many samples of it, as an Intel machine of 16 CPUs takes them."""
    program = Program(compiled(folder))
    data = folder / "perf.data"
    write(data, program_recording(program, ALL["intel"], samples))
    return program.elf, data


def show(name: str, cost: Cost, ours: Cost) -> None:
    ratios = f"{ours.wall / cost.wall:6.2f} {ours.cpu / cost.cpu:6.2f} {ours.peak_mib / cost.peak_mib:6.2f}"
    print(f"  {name:16} {cost.wall:8.2f} s wall {cost.cpu:8.2f} s CPU {cost.peak_mib:8.0f} MiB   ours/this: {ratios}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("elf", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, help="a perf.data file of ELF")
    parser.add_argument("--samples", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--perf", default="perf")
    options = parser.parse_args()
    if (options.elf is None) != (options.data is None):
        parser.error("ELF and --data go together")
    with tempfile.TemporaryDirectory() as folder:
        elf, data = options.elf, options.data
        if data is None:
            # In a process of its own: the peak of a child is no less than what its parent had when it was started.
            with ProcessPoolExecutor(1) as pool:
                elf, data = pool.submit(written, options.samples, Path(folder)).result()
        tried = commands(elf, data, options.perf)
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
