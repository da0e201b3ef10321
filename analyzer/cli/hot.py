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
    help="Also write PROFILE, as parsed, to FILE (replaced if it exists); as JSON if the name ends in .json.",
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
    """Show which members share the hot cache lines of PROFILE, and who accesses them.

    PROFILE is a file written by `linesmith record`, a perf.data of `perf c2c record` or `perf mem record`, or the
    output of `perf c2c report --stdio` or `perf script`, complete or in part, also as pasted into a mail. With --type,
    every line that may hold one is examined, regardless of --top.
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
