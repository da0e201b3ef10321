# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from two profiles and the files they belong to to two analyses."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.cli.analysis import Analysis, analyse, with_offsets
from linesmith.analyzer.compare import Explained
from linesmith.analyzer.report.chosen import Chosen


def both(
    elf: Path,
    after_elf: Path,
    before: Path,
    after: Path,
    section: int,
    after_section: int | None,
    type_: str | None,
    top: int,
) -> tuple[Analysis, Analysis]:
    """Analyse both; of one text given twice the second report is the one behind the first unless it is named.

    Raises what ``analyse`` raises.
    """
    one_text = before.resolve() == after.resolve()
    second = after_section or (section + 1 if one_text else section)
    old = with_offsets(analyse(elf, before, section, type_, top))
    return old, with_offsets(analyse(after_elf, after, second, type_, top))


def chosen(analysis: Analysis) -> Chosen:
    """Which report of its text the analysis is about."""
    return Chosen(analysis.profile, analysis.section, analysis.sections, analysis.left_out)


def explained(analysis: Analysis) -> Explained:
    """What the comparison needs of an analysis."""
    return Explained(analysis.profile, analysis.findings, analysis.left_out)
