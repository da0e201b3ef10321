# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies in a run directory beside its journal: the patch to take, and the layouts of what was built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.cli.run_changes import Variant, record_changes
from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.errors import DebugInfoDamaged, DebugInfoMissing, ElfError
from linesmith.analyzer.model import Result
from linesmith.analyzer.report.bench import told
from linesmith.analyzer.report.html.run_page import RunFiles
from linesmith.tuner.tuning.builds import read_build
from linesmith.tuner.tuning.run_profile import run_profile


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
    changes, more = record_changes(Variant(variant, before, after, patch, run_profile(run)))
    left = f"{more} more records differ; `linesmith diff` shows them" if more > 0 else ""
    return RunFiles(variant, patch, changes, left if changes else f"Every record of {variant} is laid out as before")


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
