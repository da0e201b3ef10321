# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole way on a kernel, unattended: from its tree and a workload to a layout that was measured to be better.

    python tests/e2e/kernel/whole_way.py [TREE [FOLDER]]

It runs ``linesmith tune`` on the plan beside it, for up to 40 minutes on two cores, and then looks whether the tree of
mappings and its lock were parted, and whether the interval of the misses on their record excludes no change. TREE is
a clean 6.1 tree, by default the one that ``.ci/real-parts`` fetches. The run stays in FOLDER (``build/e2e-kernel``),
and what lay there before goes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Comparison, Result, VerdictKind

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[2]
CACHE_HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
TREE = CACHE_HOME / "linesmith-tests" / "linux-source-6.1"
RECORD, TREE_OF_MAPPINGS, LOCK = "address_space", "i_mmap", "i_mmap_rwsem"
MOST_MINUTES = 40
# Objects of slabs begin at multiples of this.
GRANULE = 8


def tune(tree: Path, folder: Path) -> tuple[Result, float]:
    """The result of a fresh run of the plan on ``tree``, and its minutes by the clock on the wall."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE, folder)
    (folder / "linux").symlink_to(tree.resolve())
    program = Path(sys.executable).with_name("linesmith")
    begin = time.monotonic()
    words = ("tune", str(folder / "tune.toml"), "--run", str(folder / "run"), "--workers", str(os.cpu_count() or 1))
    subprocess.run((program, *words), check=True, timeout=3 * 60 * MOST_MINUTES)
    minutes = (time.monotonic() - begin) / 60
    document = json.loads((folder / "run" / "report.json").read_text())
    return msgspec.convert(document["result"], Result, strict=False), minutes


def shared_phases(vmlinux: Path) -> int:
    """In how many of the phases that an object may have the tree of mappings shares a line with its lock."""
    layout = read_layouts(vmlinux).layouts.variants(RECORD)[0]
    places = {member.name: range(member.offset, member.end) for member in layout.members}

    def lines(name: str, phase: int) -> set[int]:
        return {(phase + byte) // CACHE_LINE_BYTES for byte in places[name]}

    phases = range(0, CACHE_LINE_BYTES, GRANULE)
    return sum(not lines(TREE_OF_MAPPINGS, phase).isdisjoint(lines(LOCK, phase)) for phase in phases)


def phases_of(result: Result, folder: Path) -> Callable[[str], int]:
    """Answers for a variant of the run."""
    keys = {build.variant: build.key for build in result.builds}
    return lambda variant: shared_phases(next((folder / "run" / "artifacts" / keys[variant]).rglob("vmlinux")))


def deciding(result: Result) -> Comparison | None:
    """The confirmed comparison on which the verdict on the best variant rests."""
    return next((one for one in result.confirmed if one.variant == result.best and one.decides), None)


def shortcomings(result: Result, minutes: float, phases: Callable[[str], int]) -> Iterator[str]:
    """Whatever is not as it should be."""
    found = deciding(result)
    if result.best is None or found is None:
        yield "no layout was confirmed to be better"
        return
    if found.verdict is not VerdictKind.BETTER or found.high >= 1:
        yield f"the interval of {found.name} is {found.low:.3f} to {found.high:.3f}"
    if phases(result.best) >= phases(result.baseline):
        yield f"{TREE_OF_MAPPINGS} and {LOCK} are not parted"
    if minutes > MOST_MINUTES:
        yield f"it took {minutes:.0f} minutes"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", metavar="TREE", type=Path, nargs="?", default=TREE)
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", default=CHECKOUT / "build" / "e2e-kernel")
    given = parser.parse_args()
    tree: Path = given.tree
    folder: Path = given.folder
    result, minutes = tune(tree, folder)
    phases = phases_of(result, folder)
    print(f"{minutes:.1f} minutes; run directory: {folder / 'run'}")
    if result.best:
        before, after = phases(result.baseline), phases(result.best)
        print(f"{TREE_OF_MAPPINGS} and {LOCK} share a line in {before} of 8 phases before, {after} after")
    missing = list(shortcomings(result, minutes, phases))
    print("\n".join(f"falls short: {one}" for one in missing) or "as it should be")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
