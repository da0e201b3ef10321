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
    and last the default. With COMMAND only its options are listed, as they would be for the words behind it. Of
    variables that are set and change nothing, a remark tells why.
    """
    import os
    from pathlib import Path

    from linesmith.analyzer.cli.idle_variables import idle_variables
    from linesmith.analyzer.cli.remarks import remark
    from linesmith.analyzer.cli.settings_list import render_json, render_text, settings_of

    root = click.get_current_context().find_root()
    rows = settings_of(root, words)
    text = render_json(rows) if format_ == "json" else render_text(rows, show_origin=show_origin)
    options.write(text, output if isinstance(output, Path) else None)
    for sentence in idle_variables(root, words[0] if words else "", os.environ):
        remark(sentence)
