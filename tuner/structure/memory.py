# SPDX-License-Identifier: GPL-2.0-or-later
"""What the objects of a record cost in their slab cache."""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.model import Layout, MemoryUse
from linesmith.analyzer.slab import Asked, Kernel, bytes_for, cache_of, pages_for

PAGES_OF = 1_000
BYTES_OF = 100_000


def memory_use(layout: Layout, kernel: Kernel, asked: Asked | None = None) -> MemoryUse:
    """The cost of such objects by themselves; of a record whose cache is not known those of kmalloc()."""
    cache = cache_of(layout, kernel) if asked is None else cache_of(layout, kernel, asked)
    geometry = cache.geometry
    return MemoryUse(
        cache.name,
        cache.basis,
        geometry.object_bytes,
        geometry.stride,
        geometry.order,
        geometry.objects,
        pages_for(PAGES_OF, geometry),
        bytes_for(BYTES_OF, geometry),
    )


def computed(kernel: Kernel) -> Kernel:
    """The kernel without what was measured: a changed record is in no cache that anybody has looked at."""
    return replace(kernel, measured={})
