# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout``: what is where in a struct."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options, scanning


@click.command()
@options.elf
@options.types
@click.option("--expand", is_flag=True, help="Write named nested records out where they are used.")
@click.option("--access", is_flag=True, help="Write beside each member which functions read and write it.")
@scanning.given
@options.format_
@options.output
def command(
    elf: Path,
    types: tuple[str, ...],
    expand: bool,
    access: bool,
    tree: Path | None,
    build: Path | None,
    format_: str,
    output: Path | None,
) -> None:
    """Show the layout of structs and unions: members, holes, padding, cache lines.

    TYPE is a name (tcp_sock, "struct tcp_sock") or a pattern (tcp_*); without any, every record is shown. With --tree,
    the code that relies on the order of the members is shown as well.
    """
    from linesmith.analyzer.cli.loading import load, load_accesses
    from linesmith.analyzer.selection import select

    reading = load(elf)
    chosen = select(reading.layouts, types)
    accesses = load_accesses(elf).accesses if access else None
    sources = scanning.scan_layouts(tree, build, chosen, types)
    if format_ == "json":
        from linesmith.analyzer.report import layout_json

        text = layout_json.render_json(chosen, reading, accesses, sources)
    elif accesses is not None:
        from linesmith.analyzer.report import pahole
        from linesmith.analyzer.report.access import beside

        text = pahole.render_text(chosen, reading.layouts, expand, lambda layout: beside(layout, accesses))
    else:
        from linesmith.analyzer.report import pahole

        text = pahole.render_text(chosen, reading.layouts, expand)
    options.write(text + scanning.told(sources) if format_ == "text" else text, output)
