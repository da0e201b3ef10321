# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts the objects that lay on a recording's lines into its profile, from the dump of the guest's memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.errors import LinesmithError
from linesmith.analyzer.model import Profile, Recorded, Remark
from linesmith.plugins.api import SnapshotSource
from linesmith.plugins.recordings.apart import apart_by_objects


def with_objects(recorded: Recorded, vmlinux: Path | None, open_source: Callable[[], SnapshotSource]) -> Profile | None:
    """The profile with the objects that lay on its lines, where there is a memory dump to look at.

    ``open_source`` gives what reads the dump. When it cannot be read, a remark says why objects are not known.
    """
    profile = recorded.profile
    if profile is None or recorded.memory is None or vmlinux is None:
        return profile
    addresses = {
        line.address + (access.offset or 0)
        for line in profile.lines
        if line.address is not None
        for access in line.accesses
    }
    try:
        snapshot = open_source().read(recorded.memory, vmlinux, addresses)
    except LinesmithError as error:
        remark = Remark(f"objects are not known: {error}")
        return replace(profile, remarks=(*profile.remarks, remark))
    remarks = (*profile.remarks, *map(Remark, snapshot.remarks))
    return apart_by_objects(replace(profile, areas=snapshot.areas, remarks=remarks))
