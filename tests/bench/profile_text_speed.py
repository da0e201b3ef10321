# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading large texts of ``perf c2c report`` and ``perf script``, beside awk that splits their words.

Usage: python tests/bench/profile_text_speed.py [--size MIB] [--runs COUNT] [--keep FOLDER]

The texts are drawn: 3,000 functions with 6 instructions each, on thousands of lines. "reading" is the library's way
from the file to a profile, "linesmith hot" the command with a small program as the ELF file. Rates are by CPU seconds,
beside those of ``awk`` that counts the words.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from layout_speed import LINESMITH, measured, median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render

_KERNEL = "[kernel.kallsyms]"
_LOAD = "|OP LOAD|LVL L3 hit|SNP HitM|TLB L1 or L2 hit|LCK No|BLK  N/A"
_MISSED = "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A"
_STORE = "|OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A"
_EVENTS = ((_LOAD, "800842", "cpu/mem-loads,ldlat=30/P:"), (_MISSED, "68100142", "cpu/mem-loads,ldlat=30/P:"),
           (_STORE, "5080144", "cpu/mem-stores/P:"))  # fmt: skip
_READING = """
import sys, time
from pathlib import Path
from linesmith.plugins.registry import read_profiles
before = time.process_time()
read_profiles(Path(sys.argv[1]))
print(time.process_time() - before)
"""
_SPLITTING = "import sys; print(sum(len(line.split()) for line in open(sys.argv[1])))"
_HEADER = (
    "# ========\n# os release : 6.1.0\n# arch : x86_64\n# nrcpus avail : 64\n# cmdline : perf c2c record\n"
    "# ========\n#\n"
)


def instructions(drawn: random.Random) -> list[tuple[int, int, str]]:
    """Code address, distance to its function and the function's name."""
    names = [f"{'do_' * (at % 3)}{word}_{at:x}" for at, word in enumerate(islice(_words(drawn), 3000))]
    return [(0xFFFFFFFF81000000 + at * 640 + 4 * step, 4 * step, name)
            for at, name in enumerate(names) for step in drawn.sample(range(160), 6)]  # fmt: skip


def _words(drawn: random.Random) -> Iterator[str]:
    parts = ("page", "lock", "tcp", "mem_cgroup", "charge", "rcu", "wake", "put", "get", "inode", "sk", "queue")
    while True:
        yield "_".join(drawn.sample(parts, drawn.randint(1, 3)))


def c2c_report(size: int) -> str:
    """At least so many bytes of a report of Linux 5.19 or later, with the table of its lines."""
    drawn = random.Random(1)  # noqa: S311
    code = instructions(drawn)
    lines: list[LineSpec] = []
    # A line with its row in the table and 12 rows of its own has so many bytes.
    for at in range(size // 3500 + 1):
        rows = [_row(drawn, offset, *drawn.choice(code)) for offset in sorted(drawn.choices(range(0, 64, 4), k=12))]
        lines.append(LineSpec(0xFFFF888100000000 + 64 * (at * 7919 % (1 << 24)), tuple(rows)))
    return render(ReportSpec(tuple(lines)))


def _row(drawn: random.Random, offset: int, address: int, distance: int, name: str) -> RowSpec:
    counts = tuple(drawn.choice((0, 0, drawn.randint(1, 400))) for _ in range(5))
    cycles = drawn.randint(0, 900), drawn.randint(0, 400), drawn.randint(30, 300)
    nodes = tuple(sorted(drawn.sample(range(4), drawn.randint(1, 4))))
    source = f"{name.rpartition('_')[0]}.c:{distance + 100}"
    records, cpus = sum(counts) + drawn.randint(1, 999), drawn.randint(1, 64)
    return RowSpec(offset, counts, address, name, _KERNEL, source, "k", cycles, records, cpus, nodes)


def script(size: int) -> str:
    """At least so many bytes of samples as ``perf script`` prints them with the fields that linesmith asks for."""
    drawn = random.Random(1)  # noqa: S311
    code = instructions(drawn)
    found, length = [_HEADER], 0
    while length < size:
        words, bits, event = drawn.choice(_EVENTS)
        address, distance, name = drawn.choice(code)
        data = 0xFFFF888100000000 + 64 * (drawn.randrange(20000) * 7919 % (1 << 24)) + drawn.randrange(0, 64, 4)
        thread, cycles = drawn.randrange(64), 0 if words is _STORE else drawn.randint(20, 900)
        cpu, seconds = drawn.randrange(64), 100 + length / 1e7
        found.append(
            f"{'worker':>16} {4711 + thread % 4:7d}/{4711 + thread:<7d} [{cpu:03d}] {seconds:12.6f}:          1"
            f" {event:>25} {data:16x} {bits:>15} {words:<68} {cycles:15d} {address:16x}"
            f" {name}+0x{distance:x} ({_KERNEL})\n"
        )
        length += len(found[-1])
    return "".join(found)


def elf_in(folder: Path) -> Path:
    """A program with one struct."""
    source = folder / "program.c"
    source.write_text("struct counters { long requests, errors; } all;\nint main(void) { return all.requests++; }\n")
    subprocess.run(["gcc", "-g", "-O2", "-o", folder / "program", source], check=True)
    return folder / "program"


def reading(path: Path) -> float:
    """CPU seconds from the file to its profile, in a process that has read nothing before."""
    return float(subprocess.check_output([sys.executable, "-c", _READING, path]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=16, help="MiB of each text")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the texts into this folder, and nothing else")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        for path, text in ((folder / "c2c.txt", c2c_report), (folder / "script.txt", script)):
            path.write_text(text(options.size << 20))
        if not options.keep:
            measure((folder / "c2c.txt", folder / "script.txt"), elf_in(folder), options.runs)


def measure(texts: Sequence[Path], elf: Path, runs: int) -> None:
    print(f"load {os.getloadavg()[0]:.1f}, medians of {runs} runs, CPU seconds")
    for path in texts:
        found = [
            (
                reading(path),
                measured([LINESMITH, "hot", str(elf), str(path)]),
                measured([sys.executable, "-c", _SPLITTING, str(path)]),
            )
            for _ in range(runs)
        ]
        read = statistics.median(one[0] for one in found)
        hot, split = median([one[1] for one in found]), median([one[2] for one in found])
        size = path.stat().st_size / 1e6
        print(f"{path.name}: {size:.1f} MB; its words alone {split.cpu:.2f} s")
        for what, seconds in (("reading", read), ("linesmith hot", hot.cpu)):
            print(f"  {what:14} {seconds:6.2f} s {size / seconds:6.1f} MB/s {seconds / split.cpu:6.1f} x its words")
        print(f"  peak of linesmith hot: {hot.peak_mib:.0f} MiB")


if __name__ == "__main__":
    main()
