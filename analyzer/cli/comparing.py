# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from two profiles and the files they belong to to two analyses."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.cli.analysis import Analysis, analyse, with_offsets
from linesmith.analyzer.comparison.compare import Explained
from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import Profile
from linesmith.analyzer.report.chosen import Chosen
from linesmith.plugins.registry import read_profiles


def both(
    elves: tuple[Path, Path],
    profiles: tuple[Path, Path],
    sections: tuple[int, int | None],
    type_: str | None,
    top: int,
    trust: str | None,
) -> tuple[Analysis, Analysis]:
    """Analyse both; of one text given twice the second report is the one behind the first unless it is named.

    Raises what ``analyse`` raises, and ``ProfileError`` where there is no second report, or where one profile counts
    every access of a simulation and the other samples.
    """
    second = _second(profiles, sections)
    old = with_offsets(analyse(elves[0], profiles[0], sections[0], type_, top, trust=trust))
    new = with_offsets(analyse(elves[1], profiles[1], second, type_, top, trust=trust))
    _refuse_mixed(old.profile, new.profile)
    return old, new


def _second(profiles: tuple[Path, Path], sections: tuple[int, int | None]) -> int:
    """The report to compare with; known to be there, before minutes go into the first, where it has its own number."""
    one_text = profiles[0].resolve() == profiles[1].resolve()
    if sections[1] is None and not one_text:
        return sections[0]
    second = sections[0] + 1 if sections[1] is None else sections[1]
    holds = len(read_profiles(profiles[1]))
    if 1 <= second <= holds:
        return second
    reports = f"{holds} report{'' if holds == 1 else 's'}"
    if sections[1] is not None:
        raise ProfileError(f"{profiles[1]} holds {reports}, so there is no --after-section {second}")
    message = (
        f"{profiles[1]} holds {reports}, so nothing is behind report {sections[0]} to compare it with: a file named "
        "twice means two of its reports; name the other profile, or choose by --section and --after-section"
    )
    raise ProfileError(message)


def _refuse_mixed(old: Profile, new: Profile) -> None:
    """A simulation's count of every miss and a PMU's samples have no unit in common."""
    if (old.recording is None) == (new.recording is None):
        return
    recorded, sampled = (new, old) if old.recording is None else (old, new)
    message = (
        f"{recorded.source} counts every access of a simulation and {sampled.source} is of samples, so neither counts "
        "nor what is missing can be compared; take both profiles in one way"
    )
    raise ProfileError(message)


def chosen(analysis: Analysis) -> Chosen:
    """Which report of its text the analysis is about."""
    return Chosen(analysis.profile, analysis.section, analysis.sections, analysis.left_out)


def explained(analysis: Analysis) -> Explained:
    """What the comparison needs of an analysis."""
    return Explained(analysis.profile, analysis.findings, analysis.left_out)
