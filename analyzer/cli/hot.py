# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith hot``: which members meet on the hot lines of a profile, and what kind of sharing that is."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options


@click.command()
@options.elf
@options.profile
@options.type_
@options.section
@options.top
@options.snapshot
@options.other_build
@options.format_
@options.output
@click.option(
    "--save",
    metavar="FILE",
    type=options.NEW_FILE,
    help="Also keep PROFILE as it was read in FILE (replaced if it exists), to be read elsewhere: as JSON if its "
    "name ends in .json.",
)
def command(
    elf: Path,
    profile: Path,
    type_: str | None,
    section: int,
    top: int,
    snapshot: Path | None,
    trust: str | None,
    format_: str,
    output: Path | None,
    save: Path | None,
) -> None:
    """Name the members that meet on the hot cache lines of PROFILE, by the layouts in ELF.

    PROFILE is what `linesmith record` wrote, the perf.data of `perf c2c record` or `perf mem record`, or the text of
    `perf c2c report --stdio` or of `perf script`, whole or in part, also as pasted into a mail. With --type every line
    of samples that may hold one is looked at, whatever --top says.
    """
    from linesmith.analyzer.cli.analysis import analyse, check_save, save_profile
    from linesmith.analyzer.cli.colour import text_columns
    from linesmith.analyzer.report import hot
    from linesmith.analyzer.report.hot import ProfileSection
    from linesmith.analyzer.sharing.cost import by_removable

    check_save(save, output)
    found = analyse(elf, profile, section, type_, top, snapshot, trust)
    report = ProfileSection(found.profile, section, found.reports, found.left_out)
    shown = by_removable((*found.findings, *found.colder)), found.reading.identity, report
    as_text = format_ == "text"
    text = hot.render_text(*shown, text_columns(output)) if as_text else hot.render_json(*shown)
    options.write(text, output)
    save_profile(found.given, save)
