# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies in a run directory beside its journal: the patch to take, and the layouts of what was built."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.diff import changes
from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.errors import DebugInfoDamaged, DebugInfoMissing, ElfError, LinesmithError
from linesmith.analyzer.line_map import NO_HEAT, Heat, heat_of
from linesmith.analyzer.lint import of_two
from linesmith.analyzer.model import Layout, MemoryUse, Result
from linesmith.analyzer.report.bench import told
from linesmith.analyzer.report.html.layout_pair import Emphasis, LayoutPair, layout_pair
from linesmith.analyzer.report.html.memory_table import memory_rows
from linesmith.analyzer.report.html.run_page import RunFiles
from linesmith.analyzer.slab import Kernel, machine_of, release_of, slab_places
from linesmith.tuner.cost.memory import memory_use
from linesmith.tuner.tuning.builds import read_build

# Records that hold the one that was changed may differ as well; so many are drawn.
MOST_RECORDS = 6
_NAME = re.compile(r"\w+")


def files_of(run: Path, result: Result) -> RunFiles:
    """The recommended patch, or the most promising one, and what it does to the layouts; raises ``JournalError``."""
    return replace(_of_variant(run, result), folder=str(run.resolve()))


def _of_variant(run: Path, result: Result) -> RunFiles:
    patches = dict(result.patches)
    variant = _chosen(result)
    if not variant:
        return RunFiles()
    patch = (run / patches[variant]).read_text("utf-8", "surrogateescape") if variant in patches else ""
    before, after = _reading(run, result.baseline), _reading(run, variant)
    if before is None or after is None:
        gone = result.baseline if before is None else variant
        return RunFiles(variant, patch, (), f"The build of {gone} is gone or has no debug information")
    pairs, more = _pairs(before, after, patch, run / "profile.json")
    left = f"{more} more records differ; `linesmith diff` shows them" if more > 0 else ""
    return RunFiles(variant, patch, pairs, left if pairs else f"Every record of {variant} is laid out as before")


def _chosen(result: Result) -> str:
    """The variant that was confirmed; without one that of the largest gain among those that were compared."""
    if result.best:
        return result.best
    deciding = [one for one in told(result) if one.decides]
    return max(deciding, key=lambda one: one.gain).variant if deciding else ""


def _reading(run: Path, variant: str) -> Reading | None:
    """The layouts of the first product of a variant's build that has any."""
    built = read_build(run, variant)
    for _, product in sorted(built.products, key=lambda one: one[0] != "vmlinux") if built else ():
        try:
            return load(product)
        except (ElfError, DebugInfoMissing, DebugInfoDamaged):
            continue
    return None


def _pairs(before: Reading, after: Reading, patch: str, profile: Path) -> tuple[tuple[LayoutPair, ...], int]:
    """The records that differ, those with the most moved members first, and how many of them are left out."""
    pairs = of_two(before.layouts, after.layouts, ()).pairs
    found = [one for one in changes(before.layouts, after.layouts, iter(pairs)) if one.old and one.new]
    ranked = sorted(found, key=lambda one: -len(one.members))[:MOST_RECORDS]
    return tuple(
        layout_pair(
            f"record-{place}",
            (one.old, before.layouts),
            (one.new, after.layouts),
            Emphasis(_moved(patch, one.new)),
            _heat(profile, before, one.old),
            memory_rows(_memory(before, one.old), _memory(after, one.new)),
        )
        for place, one in enumerate(ranked)
        if one.old and one.new
    ), len(found) - len(ranked)


def _heat(profile: Path, before: Reading, layout: Layout) -> Heat:
    """What the run's recording of the baseline saw of the record; nothing where it has none, or saw none of it."""
    if not profile.is_file() or not layout.name:
        return NO_HEAT
    try:
        seen = analyse(Path(before.identity.path), profile, 1, layout.name)
    except LinesmithError:
        return NO_HEAT
    return heat_of(layout, before.layouts, seen.findings, seen.profile)


def _moved(patch: str, layout: Layout) -> frozenset[str]:
    """Members that stand on lines which the patch adds: of two that changed places a layout alone cannot tell which."""
    added = (line for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++"))
    words = {word for line in added for word in _NAME.findall(line)}
    return frozenset(one.name for one in layout.members if one.name in words)


def _memory(reading: Reading, layout: Layout) -> tuple[MemoryUse, ...]:
    """What objects cost in the slabs of the kernel; nothing of a program."""
    release = release_of(Path(reading.identity.path))
    if release is None:
        return ()
    kernel = Kernel(machine_of(reading.identity.machine, release))
    places = slab_places(layout, Containment(reading.layouts), kernel)
    return tuple(dict.fromkeys(memory_use(place.cache) for place in places))
