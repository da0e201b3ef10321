# SPDX-License-Identifier: GPL-2.0-or-later
"""What the size of a record costs in memory."""

from __future__ import annotations

from linesmith.analyzer.model import CacheRequest, SlabMachine
from linesmith.analyzer.slab import geometry_of, kmalloc_request, pages_for

OBJECTS = 100_000
PAGES_OF = 1_000
# Pages and caches of a machine of many CPUs; fewer make smaller slabs.
_MACHINE = SlabMachine()


def growth(before: int, after: int) -> str:
    """What growing from ``before`` to ``after`` bytes costs, in one sentence."""
    more = (after - before) * OBJECTS / 1e6
    text = f"grows from {before} to {after} bytes: {more:.1f} MB more for {OBJECTS:,} objects"
    text += f", {_pages(before)} -> {_pages(after)} pages for {PAGES_OF:,} in a slab cache of their own"
    old, new = _general_cache(before), _general_cache(after)
    return text + (f", {old} -> {new} if it is allocated so." if old != new else ".")


def _pages(size: int) -> int:
    return pages_for(PAGES_OF, geometry_of(CacheRequest("", max(size, 1)), _MACHINE))


def _general_cache(size: int) -> str:
    """The cache behind kmalloc() that serves so many bytes."""
    request = kmalloc_request(max(size, 1), _MACHINE)
    return "whole pages" if request is None else request.name
