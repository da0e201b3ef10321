# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith compare``: what vanished from the hot lines between two profiles, what stayed, what is new."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.analysis import Analysis, analyse, with_offsets

if TYPE_CHECKING:
    from linesmith.analyzer.comparison.compare import ProfileFindings
    from linesmith.analyzer.model import Profile
    from linesmith.analyzer.report.hot import ProfileSection


@click.command()
@options.elf
@options.before
@options.after
@options.after_elf
@options.type_
@options.section
@options.after_section
@options.top
@options.other_build
@options.format_
@options.output
def command(
    elf: Path,
    before: Path,
    after: Path,
    after_elf: Path | None,
    type_: str | None,
    section: int,
    after_section: int | None,
    top: int,
    trust: str | None,
    format_: str,
    output: Path | None,
) -> None:
    """Compare two profiles: which members still meet on hot lines, which do not any more.

    Lines are matched by type and member, so that addresses and offsets may differ. One text may hold both reports:
    name it twice.
    """
    from linesmith.analyzer.cli.colour import text_columns
    from linesmith.analyzer.comparison.compare import compare
    from linesmith.analyzer.report.compare import render_json, render_text

    old, new = both((elf, after_elf or elf), (before, after), (section, after_section), type_, top, trust)
    found = compare(explained(old), explained(new))
    sides = chosen(old), chosen(new)
    if format_ == "json":
        shown = render_json(found, *zip((old.reading.identity, new.reading.identity), sides, strict=True))
    else:
        shown = render_text(found, *sides, text_columns(output))
    options.write(shown, output)


# The way from two profiles and the files they belong to to two analyses.


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
    from linesmith.plugins.registry import read_profiles

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


def chosen(analysis: Analysis) -> ProfileSection:
    """Which report of its text the analysis is about."""
    from linesmith.analyzer.report.hot import ProfileSection

    return ProfileSection(analysis.profile, analysis.section, analysis.sections, analysis.left_out)


def explained(analysis: Analysis) -> ProfileFindings:
    """What the comparison needs of an analysis."""
    from linesmith.analyzer.comparison.compare import ProfileFindings

    return ProfileFindings(analysis.profile, analysis.findings, analysis.left_out)
