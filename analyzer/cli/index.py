# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith index``: read ELF files ahead of time."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options


@click.command()
@options.elves
def command(elves: tuple[Path, ...]) -> None:
    """Read the layouts of ELF files into the cache, so that later commands start at once."""
    from linesmith.analyzer.cli.loading import load

    for elf in elves:
        reading = load(elf)
        state = "up to date" if reading.cached else f"read from {reading.reader}"
        click.echo(f"{elf}: {len(reading.layouts.names())} names, {state}")
