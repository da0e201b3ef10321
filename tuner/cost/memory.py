# SPDX-License-Identifier: GPL-2.0-or-later
"""What the objects of a record cost in slabs, those that hold one by value among them."""

from __future__ import annotations

from linesmith.analyzer.model import MemoryUse, SlabCache
from linesmith.analyzer.slab import bytes_for, pages_for
from linesmith.tuner.cost.footprint import OBJECTS, PAGES_OF
from linesmith.tuner.cost.phase_mixes import PhaseMixes


def memory(mixes: PhaseMixes, granule: int, growth: int = 0) -> tuple[MemoryUse, ...]:
    """One row for each cache whose objects are such a record or hold one; none of a program."""
    return tuple(dict.fromkeys(memory_use(place.cache) for place in mixes.slabs(granule, growth)))


def memory_use(cache: SlabCache) -> MemoryUse:
    """What objects of ``cache`` cost."""
    geometry = cache.geometry
    return MemoryUse(
        cache.name,
        cache.basis,
        geometry.object_bytes,
        geometry.stride,
        geometry.order,
        geometry.objects,
        pages_for(PAGES_OF, geometry),
        bytes_for(OBJECTS, geometry),
    )
