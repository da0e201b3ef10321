# SPDX-License-Identifier: GPL-2.0-or-later
"""What the objects of a cache cost in pages, and in which phases they begin."""

from __future__ import annotations

from collections import Counter

from linesmith.analyzer.model import PhaseCount, SlabGeometry


def pages_for(objects: int, geometry: SlabGeometry) -> int:
    """Pages of the slabs that hold ``objects``, the last one as whole as the others."""
    return -(-objects // geometry.objects) << geometry.order


def bytes_for(objects: int, geometry: SlabGeometry) -> int:
    """The same in bytes."""
    return pages_for(objects, geometry) * geometry.page_bytes


def phase_counts(geometry: SlabGeometry, line_bytes: int, offset: int = 0) -> tuple[PhaseCount, ...]:
    """How many objects of a slab have their byte ``offset`` at each phase of a line of ``line_bytes``, by phase."""
    counted = Counter((start + offset) % line_bytes for start in geometry.starts)
    return tuple(PhaseCount(phase, counted[phase]) for phase in sorted(counted))
