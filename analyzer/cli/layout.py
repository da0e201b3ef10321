# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout``: what is where in a struct."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options


@click.command()
@options.elf
@options.types
@click.option("--expand", is_flag=True, help="Write named nested records out where they are used.")
@options.format_
@options.output
def command(elf: Path, types: tuple[str, ...], expand: bool, format_: str, output: Path | None) -> None:
    """Show the layout of structs and unions: members, holes, padding, cache lines.

    TYPE is a name (tcp_sock, "struct tcp_sock") or a pattern (tcp_*); without any, every record is shown.
    """
    from linesmith.analyzer.cli.loading import load
    from linesmith.analyzer.selection import select

    reading = load(elf)
    chosen = select(reading.layouts, types)
    if format_ == "json":
        from linesmith.analyzer.report import layout_json

        text = layout_json.render_json(chosen, reading)
    else:
        from linesmith.analyzer.report import pahole

        text = pahole.render_text(chosen, reading.layouts, expand)
    options.write(text, output)
