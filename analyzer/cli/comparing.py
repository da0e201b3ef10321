# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from two profiles and the files they belong to to two analyses."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.cli.analysis import Analysis, analyse, with_offsets
from linesmith.analyzer.comparison.compare import Explained
from linesmith.analyzer.report.chosen import Chosen


def both(
    elves: tuple[Path, Path],
    profiles: tuple[Path, Path],
    sections: tuple[int, int | None],
    type_: str | None,
    top: int,
    trust: str | None,
) -> tuple[Analysis, Analysis]:
    """Analyse both; of one text given twice the second report is the one behind the first unless it is named.

    Raises what ``analyse`` raises.
    """
    one_text = profiles[0].resolve() == profiles[1].resolve()
    second = sections[1] or (sections[0] + 1 if one_text else sections[0])
    old = with_offsets(analyse(elves[0], profiles[0], sections[0], type_, top, trust=trust))
    return old, with_offsets(analyse(elves[1], profiles[1], second, type_, top, trust=trust))


def chosen(analysis: Analysis) -> Chosen:
    """Which report of its text the analysis is about."""
    return Chosen(analysis.profile, analysis.section, analysis.sections, analysis.left_out)


def explained(analysis: Analysis) -> Explained:
    """What the comparison needs of an analysis."""
    return Explained(analysis.profile, analysis.findings, analysis.left_out)
