# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith snapshot``: which objects lie at the addresses of a profile, by the memory of the kernel."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.base.errors import SnapshotError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.analysis import addresses_of, known_among
from linesmith.analyzer.cli.output import check_destinations, deliver

_SOURCE = "drgn"


@click.command()
@options.elf
@options.profile
@click.option(
    "--memory",
    metavar="FILE",
    type=options.EXISTING_FILE,
    default=Path("/proc/kcore"),
    show_default=True,
    help="Memory of the kernel: an ELF dump (QEMU's dump-guest-memory, kdump) or /proc/kcore.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=options.NEW_FILE,
    required=True,
    help="Write the snapshot to FILE (replaced if it exists).",
)
def command(elf: Path, profile: Path, memory: Path, output: Path) -> None:
    """Record which kernel objects are on the cache lines of PROFILE, for `linesmith hot --snapshot`.

    Run this on the profiled machine before it reboots. The snapshot holds addresses, caches and types of objects, not
    their contents.
    """
    click.echo(visible(take(elf, profile, memory, output)), nl=False)


def take(elf: Path, profile: Path, memory: Path, output: Path) -> str:
    """Write the objects at the addresses of a profile to ``output``; what was found, in lines.

    Raises ``SnapshotError``, ``ProfileError``, ``DebugInfoMissing``, ``ToolMissing`` or ``OutputError``.
    """
    from linesmith.plugins.registry import read_profiles, snapshot_source
    from linesmith.plugins.snapshots.identify import encode

    check_destinations([output], ("output",))
    addresses = frozenset().union(*map(addresses_of, read_profiles(profile)))
    if not addresses:
        raise SnapshotError(f"{profile} has no addresses; give one recorded on the same machine")
    snapshot = snapshot_source(_SOURCE).read(memory, elf, addresses)
    deliver(encode(snapshot), output)
    known = known_among(addresses, snapshot)
    rows = [
        f"{known:,} of {len(addresses):,} addresses are in known objects",
        *(f"note: {remark}" for remark in snapshot.remarks),
        f"snapshot: {output}",
    ]
    return "".join(f"{row}\n" for row in rows)
