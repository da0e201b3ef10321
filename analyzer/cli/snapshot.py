# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith snapshot``: which objects lie at the addresses of a profile, by the memory of the kernel."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.cli import options

_MEMORY = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@options.elf
@options.profile
@click.option(
    "--memory",
    metavar="FILE",
    type=_MEMORY,
    default=Path("/proc/kcore"),
    show_default=True,
    help="The memory: an ELF dump (QEMU's dump-guest-memory, kdump), or that of the running kernel.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Write the snapshot to FILE (replaced if it exists).",
)
def command(elf: Path, profile: Path, memory: Path, output: Path) -> None:
    """Note which objects of the kernel ELF lie on the lines of PROFILE, for `linesmith hot --snapshot`.

    Take it on the machine that was profiled, before it boots again. Only the map of objects is stored: addresses,
    caches and types, nothing of their content.
    """
    from linesmith.analyzer.cli.snapshots import take

    click.echo(visible(take(elf, profile, memory, output)), nl=False)
