# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith snapshot``: which objects lie at the addresses of a profile, by the memory of the kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import SnapshotError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.output import check_destinations, deliver

if TYPE_CHECKING:
    from linesmith.analyzer.model import ElfIdentity, Profile, Snapshot


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
    addresses = frozenset().union(*map(_addresses, read_profiles(profile)))
    if not addresses:
        raise SnapshotError(f"{profile} has no addresses; give one recorded on the same machine")
    snapshot = snapshot_source(_SOURCE).read(memory, elf, addresses)
    deliver(encode(snapshot), output)
    known = _known(addresses, snapshot)
    rows = [
        f"{known:,} of {len(addresses):,} addresses are in known objects",
        *(f"note: {remark}" for remark in snapshot.remarks),
        f"snapshot: {output}",
    ]
    return "".join(f"{row}\n" for row in rows)


def with_snapshot(profile: Profile, path: Path, elf: ElfIdentity) -> Profile:
    """The profile with the objects of a saved snapshot; raises ``SnapshotError`` when they are another kernel's."""
    from linesmith.analyzer.model import Remark
    from linesmith.plugins.snapshots.identify import read_snapshot

    snapshot = read_snapshot(path)
    if snapshot.build_id and elf.build_id and snapshot.build_id != elf.build_id:
        raise SnapshotError(
            f"{path} is a snapshot of build-id {snapshot.build_id}, but {elf.path} has {elf.build_id}; give the ELF"
            " file of the same build"
        )
    addresses = _addresses(profile)
    if not _known(addresses, snapshot):
        raise SnapshotError(
            f"{path} has none of the {len(addresses):,} addresses of {profile.source}; take a snapshot before the"
            " machine reboots"
        )
    return replace(profile, areas=snapshot.areas, remarks=(*profile.remarks, *map(Remark, snapshot.remarks)))


def _addresses(profile: Profile) -> frozenset[int]:
    return frozenset(
        line.address + (access.offset or 0)
        for line in profile.lines
        if line.address is not None
        for access in line.accesses
    )


def _known(addresses: frozenset[int], snapshot: Snapshot) -> int:
    from linesmith.analyzer.attribution.variables import ObjectMap

    known = ObjectMap(snapshot.areas)
    return sum(known.at(address) is not None for address in addresses)
