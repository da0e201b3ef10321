# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith compare``: what vanished from the hot lines between two profiles, what stayed, what is new."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import NothingToSuggest, ProfileError
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.analysis import analyse
from linesmith.analyzer.cli.output import text_columns

if TYPE_CHECKING:
    from linesmith.analyzer.model import LayoutBlame, Profile, ProfileChange
    from linesmith.analyzer.sharing.analysis import Explanation

# Exact counts of a part of the lines could not be compared.
_EVERY = 1 << 62
_LEAST, _MOST = 1e-6, 1e18


class _Operations(click.ParamType):  # type: ignore[type-arg]
    """``N`` or ``N,M``: how many operations the two runs did."""

    name = "N[,M]"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Both numbers; fails on what is none, or out of reason."""
        try:
            found = [float(one) for one in str(value).split(",")]
        except ValueError:
            found = []
        if len(found) not in (1, 2) or not all(_LEAST <= one <= _MOST for one in found):
            self.fail(f"{value!r} is not a number of operations; give one number, or BEFORE,AFTER", param, ctx)
        return found[0], found[-1]


@click.command()
@options.elf
@options.before
@options.after
@options.after_elf
@options.type_
@options.section
@options.after_section
@click.option(
    "--operations",
    metavar="N[,M]",
    type=_Operations(),
    help="Operations completed in BEFORE and in AFTER: compare counts per operation.",
)
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
    operations: tuple[float, float] | None,
    trust: str | None,
    format_: str,
    output: Path | None,
) -> None:
    """Compare two profiles: show which members still share hot cache lines and which no longer do.

    Rows are matched by record or variable and by member, so addresses and offsets may differ. With --after-elf, also
    show which layout difference caused new contention. If one file holds both reports, name it twice.
    """
    from linesmith.analyzer.comparison.compare import ProfileFindings, compare
    from linesmith.analyzer.layouts.collection import bare_name
    from linesmith.analyzer.report.compare import render_json, render_text
    from linesmith.analyzer.report.findings import ProfileSection

    # Known to be there, before minutes go into the first.
    second = _second((before, after), section, after_section)
    old = analyse(elf, before, options.EvidenceOptions(section, trust=trust), top=_EVERY)
    new = analyse(after_elf or elf, after, options.EvidenceOptions(second, trust=trust), top=_EVERY)
    _refuse_mixed(old.profile, new.profile)
    looked_at = [ProfileFindings(one.profile, one.findings, one.left_out) for one in (old, new)]
    found = compare(looked_at[0], looked_at[1], operations)
    if after_elf is not None:
        found = replace(found, blame=_blamed(old, new, found))
    if type_ is not None:
        found = found.of_type(bare_name(type_))
        if not found.objects:
            raise NothingToSuggest(
                f"no line of {before} or {after} holds {type_}; leave out --type to see what they hold"
            )
    sides = (
        ProfileSection(old.profile, section, old.reports, old.left_out),
        ProfileSection(new.profile, second, new.reports, new.left_out),
    )
    if format_ == "json":
        shown = render_json(found, *zip((old.reading.identity, new.reading.identity), sides, strict=True))
    else:
        shown = render_text(found, *sides, text_columns(output))
    options.write(shown, output)


def _blamed(old: Explanation, new: Explanation, found: ProfileChange) -> LayoutBlame:
    """Which difference of the layouts of the two builds made contention."""
    from linesmith.analyzer.base.elf import read_symbols
    from linesmith.analyzer.comparison.layout_blame import ProfiledBuild, blame, unseen
    from linesmith.analyzer.comparison.sums import sums

    builds = [
        ProfiledBuild(
            one.reading.layouts, read_symbols(one.reading.identity), sums(one.findings), one.profile.recording
        )
        for one in (old, new)
    ]
    return blame(builds[0], builds[1], found.exposure, unseen(found))


def _second(profiles: tuple[Path, Path], section: int, after_section: int | None) -> int:
    """The report of AFTER; of one text given twice the one behind the first unless it is named.

    Raises ``ProfileError`` where there is none, as far as it has a number of its own.
    """
    from linesmith.plugins.registry import read_profiles

    one_text = profiles[0].resolve() == profiles[1].resolve()
    if after_section is None and not one_text:
        return section
    second = section + 1 if after_section is None else after_section
    holds = len(read_profiles(profiles[1]))
    if 1 <= second <= holds:
        return second
    reports = f"{holds} report{'' if holds == 1 else 's'}"
    if after_section is not None:
        raise ProfileError(f"{profiles[1]} holds {reports}, so --after-section {second} does not exist")
    message = (
        f"{profiles[1]} holds {reports}, and no other report follows report {section}: a file named twice must hold"
        " two reports; name the other profile, or select reports with --section and --after-section"
    )
    raise ProfileError(message)


def _refuse_mixed(old: Profile, new: Profile) -> None:
    """Raise ``ProfileError`` for a simulation's count of every miss and samples of a PMU: they share no unit."""
    if (old.recording is None) == (new.recording is None):
        return
    recorded, sampled = (new, old) if old.recording is None else (old, new)
    message = (
        f"{recorded.source} counts every access of a simulation and {sampled.source} has samples, so their counts"
        " cannot be compared; record both profiles in the same way"
    )
    raise ProfileError(message)
