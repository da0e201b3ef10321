# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout``: what is where in a struct."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import map_output, mapping, options, scanning

if TYPE_CHECKING:
    from collections.abc import Callable

    from linesmith.analyzer.access import AccessMap
    from linesmith.analyzer.model import Layout
    from linesmith.analyzer.report.pahole import Beside


@click.command()
@options.elf
@options.types
@click.option("--expand", is_flag=True, help="Write named nested records out where they are used.")
@click.option("--access", is_flag=True, help="Write beside each member which functions read and write it.")
@scanning.given
@mapping.given
@options.output
def command(
    elf: Path,
    types: tuple[str, ...],
    expand: bool,
    access: bool,
    sources: scanning.Sources,
    drawing: mapping.Drawing,
    output: Path | None,
) -> None:
    """Show the layout of structs and unions: members, holes, padding, cache lines.

    TYPE is a name (tcp_sock, "struct tcp_sock") or a pattern (tcp_*); without any, every record is shown. With --tree,
    the code that relies on the order of the members is shown as well. With --profile, or as map, svg, png or markdown,
    each record is drawn to scale, one row for a cache line; a profile colours it.
    """
    from linesmith.analyzer.cli.loading import load, load_accesses
    from linesmith.analyzer.selection import select

    drawing.refuse(expand=expand, access=access, tree=sources.tree)
    reading = load(elf)
    chosen = select(reading.layouts, types)
    accesses = load_accesses(elf).accesses if access else None
    shown, maps = mapping.maps_of(elf, reading, chosen, types, drawing, accesses)
    if drawing.drawn:
        map_output.write_maps([(one,) for one in maps], drawing.format, output)
        return
    scans = scanning.scan_layouts(sources, shown, types)
    if drawing.format == "json":
        from linesmith.analyzer.report import layout_json

        text = layout_json.render_json(shown, reading, accesses, scans, maps)
    else:
        from linesmith.analyzer.report import pahole

        behind = _beside(accesses) if accesses else pahole.nothing
        text = pahole.render_text(shown, reading.layouts, expand, behind) + scanning.told(scans)
    options.write(text, output)


def _beside(accesses: AccessMap) -> Callable[[Layout], Beside]:
    """What is written behind the members of a record."""
    from linesmith.analyzer.report.access import beside  # imports numpy, which layouts do without

    return partial(beside, accesses=accesses)
