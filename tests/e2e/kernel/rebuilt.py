# SPDX-License-Identifier: GPL-2.0-or-later
"""What replay predicts of changes of a small 6.1 kernel, beside what the kernel rebuilt with them shows.

    PYTHONPATH=tests python tests/e2e/kernel/rebuilt.py FOLDER [WORKLOAD:RECORD[:CANDIDATE|:PATCH] ...] [--seeds N]

``linesmith patch`` writes the change of each record, or a PATCH is taken; all are built into one kernel, and it is
recorded again. Misses are those on the record's lines, means over seeds and over the phases that objects may have, with
the least and the most of the seeds; a prediction has its 80 % interval. What lies in FOLDER is not made anew.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from statistics import mean

from e2e.kernel.whole_way import CHECKOUT, HERE, TREE

from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.model import CACHE_LINE_BYTES
from linesmith.plugins.builders.kbuild import merged
from linesmith.tuner.replay.plan import relaid
from linesmith.tuner.replay.replayer import change_interval, open_trace, place_of_trace
from linesmith.tuner.replay.runs import RecordRuns, ReplayedLayout
from linesmith.tuner.replay.scene import scene

WORKLOADS = {"exec": "exec_storm 8 20", "pipe": "pipe_shared 8 300", "unix": "unix_pairs 8 300"}
# What is recommended for six records, and a move that never would be: the mutex of a pipe across two lines.
CHANGES = (
    *(f"exec:{record}" for record in ("vm_area_struct", "zone", "address_space", "dentry")),
    *("unix:task_struct", "unix:sock", f"pipe:pipe_inode_info:{HERE / 'pipe_inode_info.patch'}"),
)
SOCKETS = "\n".join(f"CONFIG_{one}" for one in ("NET=y", "UNIX=y", "SYSVIPC=y", "WIRELESS=n", "ETHTOOL_NETLINK=n"))
BOOT = "tsc_early_khz=100000"
LINESMITH = Path(sys.executable).with_name("linesmith")


def build(folder: Path, tree: Path, patches: Sequence[str] = ()) -> None:
    """``kernel`` and ``vmlinux`` of a copy of the tree, with ``patches`` if it is configured already."""
    source, config = folder / "tree", folder / "tree" / ".config"
    shutil.copytree(tree, source, symlinks=True, dirs_exist_ok=True)
    for patch in patches:
        subprocess.run(("patch", "-s", "-p1"), cwd=source, input=patch, text=True, check=True)
    if not patches:
        subprocess.run(("make", "-s", "mrproper", "tinyconfig"), cwd=source, check=True)
        config.write_text(merged(config.read_text(), f"{(HERE / 'linesmith.config').read_text()}\n{SOCKETS}\n"))
    command = ("make", "-s", f"-j{os.cpu_count()}", "olddefconfig", "bzImage", "vmlinux")
    subprocess.run(command, cwd=source, check=True)
    shutil.copy(source / "arch/x86/boot/bzImage", folder / "kernel")
    shutil.copy(source / "vmlinux", folder / "vmlinux")


def record(folder: Path, workload: str, seeds: int) -> None:
    """A recording for each seed with the kernel of ``folder``, as ``workload.seed``."""
    program = folder.parent.resolve() / "workload"
    subprocess.run(("make", "-s", "-C", CHECKOUT / "tests" / "workloads", f"OUT={program}"), check=True)
    kernel = ("--kernel", folder / "kernel", "--vmlinux", folder / "vmlinux", "--smp", "8")
    for seed in range(1, seeds + 1):
        words = (*kernel, "--append", BOOT, "--seed", str(seed), "-o", folder / f"{workload}.{seed}", "--", program)
        if not (folder / f"{workload}.{seed}").exists():
            subprocess.run((LINESMITH, "record", *words, *WORKLOADS[workload].split()), check=True)


def written(folder: Path, change: str) -> str:
    """The patch of a change."""
    workload, name, *how = change.split(":")
    if how and Path(how[0]).is_file():
        return Path(how[0]).read_text()
    words = ("patch", folder / "vmlinux", folder / f"{workload}.1", "--tree", folder / "tree", "--type", name)
    chosen = ("--candidate", *how) if how else ()
    return subprocess.run((LINESMITH, *words, *chosen), check=True, stdout=subprocess.PIPE, text=True).stdout


def recorded(folder: Path, workload: str, name: str, seeds: int) -> tuple[list[RecordRuns], float]:
    """Each recording that knows objects of the record, and the misses of these on all lines, their mean."""
    known, everything = list[RecordRuns](), list[int]()
    for profile in (folder / f"{workload}.{seed}" for seed in range(1, seeds + 1)):
        found = analyse(folder / "vmlinux", profile)
        layouts = found.reading.layouts
        here = scene(layouts.variants(name)[0], found.profile.areas, layouts)
        replay = open_trace(place_of_trace(profile), (here,), (CACHE_LINE_BYTES,))
        if replay.accesses(0):
            known.append(RecordRuns([(replay, 0)], layouts, None, 0.0))
            everything.append(replay.traced[CACHE_LINE_BYTES].total)
    return known, mean(everything)


def pairs(seeds: Sequence[RecordRuns], replayed: Sequence[ReplayedLayout]) -> defaultdict[str, float]:
    """Misses of one member by stores to another, means over seeds, by their names."""
    found = defaultdict[str, float](float)
    for runs, layout in zip(seeds, replayed, strict=True):
        for (*places, _), misses in layout.pairs.items():
            found[" by ".join(runs.here.member(*place, runs.layouts) for place in places)] += misses / len(seeds)
    return found


def row(title: str, old: Sequence[RecordRuns], new: Sequence[RecordRuns]) -> str:
    """A row of the table: the misses of a record as it was, as predicted and as rebuilt, and how these compare."""
    before, size = old[0].here.record, new[0].here.record.size
    # Members of the same name are the same; those without one keep their order.
    matched = zip(*(sorted(one[0].here.record.members, key=attrgetter("name")) for one in (old, new)), strict=True)
    moved = [replace(one, offset=there.offset, bit_offset=there.bit_offset) for one, there in matched]
    after = {before.id: replace(before, size=size, members=tuple(sorted(moved, key=attrgetter("first_bit"))))}
    then = [one.under(lambda here: relaid(here, after, old[0].layouts)) for one in old]
    now, newly = ([one.now for one in each] for each in (old, new))
    was, will, real = ([one.total for one in each] for each in (now, then, newly))
    misses, said, shown = map(mean, (was, will, real))
    interval = change_interval(tuple(one.windows[0] for one in now), tuple(one.windows[0] for one in then))
    first, told, proved = (pairs(*each) for each in ((old, now), (old, then), (new, newly)))
    pair = max(first | told, key=lambda one: abs(first[one] - told[one]))
    cells = (
        f"{title} ({len(old)}, {len(new)})",
        f"{misses:,.0f} ({min(was):,.0f} to {max(was):,.0f})",
        f"{said:,.0f}: {said / misses - 1:+.1%} ({interval.low:+.1%} to {interval.high:+.1%})",
        f"{shown:,.0f}: {shown / misses - 1:+.1%} ({min(real):,.0f} to {max(real):,.0f})",
        f"{said / shown:.3f} | {misses / shown:.3f}",
        f"{(misses - said) / (misses - shown):.3f}" if misses != shown else "-",
        f"{pair}: {first[pair]:,.0f} -> {told[pair]:,.0f}, {proved[pair]:,.0f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("changes", nargs="*", default=CHANGES)
    parser.add_argument("--tree", type=Path, default=TREE)
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    before, after = folders = given.folder / "before", given.folder / "after"
    for folder, tree, changes in ((before, given.tree, ()), (after, before / "tree", given.changes)):
        if not (folder / "vmlinux").exists():
            build(folder, tree, [*dict.fromkeys(written(before, change) for change in changes)])
        for workload in {change.partition(":")[0] for change in given.changes}:
            record(folder, workload, given.seeds)
    for workload, name, *_ in (change.split(":") for change in given.changes):
        (old, all_old), (new, all_new) = (recorded(folder, workload, name, given.seeds) for folder in folders)
        print(f"{row(f'`{name}`, {workload}', old, new)} all: {all_old:,.0f}, {all_new:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
