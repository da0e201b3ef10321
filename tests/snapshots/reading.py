# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks for the areas of a dump, and looks addresses up in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

import drgn
from drgn.helpers.linux.slab import find_slab_cache
from snapshots.kernel_lists import Listed

from linesmith.analyzer.model import ObjectArea, Snapshot
from linesmith.plugins.registry import snapshot_source


def read(memory: Path, vmlinux: Path, addresses: Iterable[int]) -> Snapshot:
    return snapshot_source("drgn").read(memory, vmlinux, list(addresses))


def area_at(snapshot: Snapshot, address: int) -> ObjectArea:
    index = bisect_right([area.address for area in snapshot.areas], address) - 1
    area = snapshot.areas[index]
    assert index >= 0
    assert address < area.end
    return area


def start_at(area: ObjectArea, address: int) -> int:
    return address - (address - area.address) % area.stride


def cache_called(program: drgn.Program, name: str) -> drgn.Object:
    cache = find_slab_cache(program, name)
    assert cache is not None
    return cache


def one(memory: Path, vmlinux: Path, address: int) -> ObjectArea:
    return area_at(read(memory, vmlinux, [address]), address)


def middle(listed: Listed) -> int:
    """An address within the object, wherever the machine cuts the end of its record."""
    return listed.address + listed.size // 3
