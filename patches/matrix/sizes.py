# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of a compiled unit by name, their sizes, and what they cost in slabs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from math import gcd

from linesmith.analyzer.geometry import lines, meeting_phases
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CompiledRecord, CompiledSize, Layout, Residual, SlabCache, SlabMachine
from linesmith.analyzer.slab import Kernel, cache_of, own_cache
from linesmith.patches.located import Located


@dataclass(frozen=True, slots=True)
class Tables:
    """The records of one unit, before and after a change."""

    before: Layouts
    after: Layouts


@dataclass(frozen=True, slots=True)
class Target:
    """The machine that sizes are for: bytes of a line, and its slab allocator where that is known."""

    line_bytes: int
    slabs: SlabMachine | None


def find(layouts: Layouts, name: str, file: str = "") -> Layout | None:
    """The record called ``name``, that of ``file`` (the end of a path) where several are."""
    found = layouts.variants(name)
    own = [one for one in found if file and one.file and one.file.endswith(file)]
    return next(iter((*own, *found)), None)


class Role(Enum):
    """What a record is to a change. Of one that is ALONE kmalloc() is assumed where no cache is known."""

    ALONE = "allocated by itself"
    HELD = "embedded in others"
    HOLDER = "embeds what is changed"


def compared(tables: Tables, name: str, target: Target, role: Role, file: str = "") -> CompiledRecord | None:
    """The record before and after; ``None`` where it is on neither side."""
    before, after = find(tables.before, name, file), find(tables.after, name, file)
    if before is None and after is None:
        return None
    caches = _cache(before, target, role), _cache(after, target, role)
    sizes = _size(before, caches[0], target), _size(after, caches[1], target)
    called = next((cache.name for cache in caches if cache), "")
    return CompiledRecord(name, sizes[0], sizes[1], role is Role.HOLDER, called)


def stepped(record: CompiledRecord, granules: tuple[int, int]) -> CompiledRecord:
    """The record with its objects at multiples of ``granules`` bytes, before and after, where those are known."""
    before, after = (
        replace(size, step=gcd(size.alignment, granule)) if size and granule else size
        for size, granule in zip((record.before, record.after), granules, strict=True)
    )
    return replace(record, before=before, after=after)


def residual(pair: Residual, tables: Tables, name: str, file: str, granules: tuple[int, int]) -> Residual | None:
    """In which share of its possible starts the pair meets; ``None`` where one of both is no member here.

    Objects start at multiples of ``granules`` bytes before and after, or of their alignment where that is less.
    """
    before, after = find(tables.before, name, file), find(tables.after, name, file)
    if before is None or after is None:
        return None
    shares = _share(pair, before, tables.before, granules[0]), _share(pair, after, tables.after, granules[1])
    if shares[0] is None or shares[1] is None:
        return None
    return Residual(pair.first, pair.second, pair.line_bytes, shares[0], shares[1])


def _share(pair: Residual, layout: Layout, layouts: Layouts, granule: int) -> float | None:
    located = Located(layout, layout, layouts)
    first, second = located.span(pair.first), located.span(pair.second)
    if first is None or second is None:
        return None
    return meeting_phases(first, second, pair.line_bytes, gcd(located.granule, granule))


def _size(layout: Layout | None, cache: SlabCache | None, target: Target) -> CompiledSize | None:
    if layout is None:
        return None
    alignment = max(layout.natural_alignment, layout.alignment or 1)
    geometry = cache.geometry if cache else None
    objects, pages = (geometry.objects, 1 << geometry.order) if geometry else (0, 0)
    return CompiledSize(layout.size, alignment, lines(layout, target.line_bytes), objects, pages)


def _cache(layout: Layout | None, target: Target, role: Role) -> SlabCache | None:
    if layout is None or target.slabs is None:
        return None
    kernel = Kernel(target.slabs)
    return cache_of(layout, kernel) if role is Role.ALONE else own_cache(layout, kernel)
