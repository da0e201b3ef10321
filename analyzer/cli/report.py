# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith report``: what a run of ``tune`` or ``bench`` has found, or what a profile shows, also as a page."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("run", metavar="RUN", type=_FOLDER)
@click.option("--against", metavar="RUN", type=_FOLDER, help="Show what another run says of the same variants.")
@options.html
@options.result_format
@options.output
def command(run: Path, against: Path | None, html: Path | None, format_: str, output: Path | None) -> None:
    """Show what the run in the directory RUN has found; it may still be going on, or have been killed."""
    from linesmith.analyzer.cli.results import show
    from linesmith.analyzer.report.two_runs import render_two_runs
    from linesmith.tuner.tuning.result import read_result

    result = read_result(run)
    if html:
        from linesmith.analyzer.cli.run_files import files_of
        from linesmith.analyzer.report.html.run_page import render_run

        options.write_page(render_run(result, files_of(run, result)), html)
        return
    if against:
        options.write(render_two_runs(result, read_result(against)), output)
        return
    show(result, format_, output)
