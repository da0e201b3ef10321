# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith index``: read ELF files ahead of time."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options


@click.command()
@options.elves
@click.option(
    *("-o", "--output"),
    metavar="FILE",
    type=options.NEW_FILE,
    help="Save the index of one ELF file to FILE; commands that only need layouts accept it in place of the ELF file.",
)
def command(elves: tuple[Path, ...], output: Path | None) -> None:
    """Read the layouts of ELF files into the cache, so that later commands start faster.

    A saved index (-o) replaces an ELF file that is deleted, such as the base build of `linesmith lint`.
    """
    from linesmith.analyzer.cli.analysis import load, save_index
    from linesmith.analyzer.cli.output import check_destinations

    if output is not None and len(elves) > 1:
        raise click.UsageError("--output saves the index of one ELF file; give one")
    check_destinations((output,) if output is not None else (), ("output",))
    for elf in elves:
        reading = load(elf)
        state = "up to date" if reading.cached else f"read from {reading.reader}"
        click.echo(visible(f"{elf}: {len(reading.layouts.names())} names, {state}"))
        if output is not None:
            save_index(reading, elf, output)
