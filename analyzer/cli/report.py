# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith report``: what a run of ``tune`` or ``bench`` has found, or what a profile shows, also as a page."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options, profile_report


@click.command()
@profile_report.INPUTS
@profile_report.ELF
@options.html
@click.option(
    "--against",
    metavar="RUN",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Show what another run says of the same variants.",
)
@options.result_format
@options.output
@profile_report.given
def command(
    inputs: tuple[Path, ...],
    elf: Path | None,
    html: Path | None,
    against: Path | None,
    format_: str,
    output: Path | None,
    asked: profile_report.Asked,
) -> None:
    """Show what a run of tune or bench has found so far, or write a profile as a page.

    The run in the directory RUN may still be going on, or have been killed. Of a PROFILE of the program or kernel ELF
    it makes a page, given --html: the hot lines, who touches them, the changes that `suggest` proposes, each with its
    layouts, costs and phases. Options from --type on are for that.
    """
    chosen = profile_report.chosen(inputs, elf, html)
    if isinstance(chosen, profile_report.OfProfile):
        options.write_page(profile_report.page(chosen, asked), chosen.html)
        return
    from linesmith.analyzer.cli.results import compare, show, show_page
    from linesmith.tuner.tuning.result import read_result  # imports scipy, which takes half a second

    if html:
        show_page(read_result(chosen), chosen, html)
    elif against:
        compare(read_result(chosen), read_result(against), output)
    else:
        show(read_result(chosen), format_, output)
