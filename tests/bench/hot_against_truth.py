# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of a perf.data whose truth is known ``linesmith hot`` names rightly.

    PYTHONPATH=tests python tests/bench/hot_against_truth.py VMLINUX [--samples 20000] [--hardware intel] [--text]

The recording is the exec storm of ``perf_data.kernel_scenario``. For each contended access of the truth hot must have
told the object's type and start, or those of a record that the object holds by value there. Printed are shares of the
samples, by the type that was meant. The instructions were found by the access map, which hot asks too: what is measured
is the way from samples to objects, not how right the map is. With ``--text`` hot is given what ``perf c2c report
--stdio`` prints of the recording instead of the recording.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perf_data.hardware import ALL
from perf_data.image import Kernel
from perf_data.recording import write
from perf_data.scenario import TruthRow
from perf_data.write import kernel_recording

from linesmith.analyzer.layouts import dwarf
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Layout

_LINE = 64
_SECONDS = 900
_UNDECIDED = "cannot tell"  # what hot names then is no more than the likeliest
Starts = set[tuple[str, int]]


def main() -> None:
    options = _options()
    kernel = Kernel(options.vmlinux, options.slide)
    recording, rows = kernel_recording(kernel, ALL[options.hardware], options.samples)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "perf.data"
        write(data, recording)
        profile = _as_text(options, data) if options.text else data
        lines = _explained(options.vmlinux, profile)
    found: dict[str, Counter[str]] = {}
    layouts = dwarf.read_layouts(options.vmlinux).layouts
    for row in (one for one in rows if one.member):
        name = row.type or row.member
        found.setdefault(name, Counter())[_judged(row, lines, layouts, kernel)] += row.samples
    _show(found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vmlinux", type=Path)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--hardware", choices=sorted(ALL), default="intel")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--slide", type=lambda text: int(text, 0), default=Kernel.slide)
    return parser.parse_args()


def _as_text(options: argparse.Namespace, data: Path) -> Path:
    """The report as people paste it, without source lines: looking those up takes perf minutes."""
    words = [options.perf, "c2c", "report", "--stdio", "--no-source", "-k", options.vmlinux, "-i", data]
    done = subprocess.run(words, check=True, capture_output=True, timeout=_SECONDS)
    text = data.with_name("report.txt")
    text.write_bytes(done.stdout)
    return text


def _explained(vmlinux: Path, data: Path) -> Mapping[int, dict[str, Any]]:
    command = Path(sys.executable).with_name("linesmith")
    words: list[str | Path] = [command, "hot", vmlinux, data, "--format", "json"]
    done = subprocess.run(words, check=True, capture_output=True, timeout=_SECONDS)
    return {int(one["address"], 16): one for one in json.loads(done.stdout)["lines"] if one["address"]}


def _judged(row: TruthRow, lines: Mapping[int, dict[str, Any]], layouts: Layouts, kernel: Kernel) -> str:
    """By the objects that hot has at this byte: ``right``, ``wrong``, ``not told``, or that the line is not in it."""
    place = next((one for one in (row.address, row.address - kernel.slide) if one // _LINE * _LINE in lines), None)
    if place is None:
        return "line without contention"
    line = place // _LINE * _LINE
    sure = (one for one in lines[line]["objects"] if one["type"] and one["outcome"] != _UNDECIDED)
    objects = ((one["type"], line + one["start"]) for one in sure)
    told = {(name, start) for name, start in objects if start <= place < start + _size(name, layouts)}
    if told & _meant(row, place, layouts):
        return "right"
    return "wrong" if told else "not told"


def _size(name: str, layouts: Layouts) -> int:
    return max((one.size for one in layouts.variants(name)), default=0)


def _meant(row: TruthRow, place: int, layouts: Layouts) -> Starts:
    """Every record that holds the byte, with where it starts; for a bare lock any record of one word."""
    if not row.type:
        return {(name, place) for name in ("spinlock", "raw_spinlock", "qspinlock")}
    layout = layouts.variants(row.type)[0]
    return {(name, place - row.offset + start) for name, start in _around(layout, layouts, row.offset)}


def _around(layout: Layout, layouts: Layouts, offset: int) -> Iterator[tuple[str, int]]:
    yield layout.name, 0
    for member in layout.members:
        if member.offset <= offset < member.end and member.record is not None:
            inner = layouts.by_id(member.record)
            step = (offset - member.offset) // inner.size * inner.size if inner.size else 0
            for name, start in _around(inner, layouts, offset - member.offset - step):
                yield name, member.offset + step + start


def _show(found: Mapping[str, Counter[str]]) -> None:
    outcomes = ("right", "wrong", "not told", "line without contention")
    print(f"{'meant':<20}{'samples':>9}" + "".join(f"{one:>25}" for one in outcomes))
    for name, counts in (*found.items(), ("all", sum(found.values(), Counter[str]()))):
        total = counts.total()
        print(f"{name:<20}{total:>9}" + "".join(f"{counts[one] / total:>24.1%} " for one in outcomes))


if __name__ == "__main__":
    main()
