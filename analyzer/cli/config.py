# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith config``: which options are set without being given, and where."""

from __future__ import annotations

import click

from linesmith.analyzer.cli import options


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--show-origin", is_flag=True, help="Say of each value where it comes from.")
@options.format_
@options.output
@click.argument("words", metavar="[COMMAND [OPTIONS]...]", nargs=-1, type=click.UNPROCESSED)
def command(show_origin: bool, format_: str, output: object, words: tuple[str, ...]) -> None:
    """List the options that can be set by a variable or a file, with the value that they have.

    Values are taken from the command line, then LINESMITH_COMMAND_OPTION, LINESMITH_OPTION, the user's config.toml (in
    $XDG_CONFIG_HOME/linesmith or ~/.config/linesmith), the table `defaults` in the linesmith.toml of the source tree,
    and last the default. With COMMAND only its options are listed, as they would be for the words behind it.
    """
    from pathlib import Path

    from linesmith.analyzer.cli.settings_list import render_json, render_text, settings_of

    rows = settings_of(click.get_current_context().find_root(), words)
    text = render_json(rows) if format_ == "json" else render_text(rows, show_origin=show_origin)
    options.write(text, output if isinstance(output, Path) else None)
