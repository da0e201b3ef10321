# SPDX-License-Identifier: GPL-2.0-or-later
"""The phases of a record's objects for every size and alignment that a candidate may give it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import gcd

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.errors import NotSimulated
from linesmith.analyzer.geometry import ObjectStarts
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    CacheRequest,
    Layout,
    PhaseCount,
    PlacePhases,
    SlabBasis,
    SlabCache,
    SlabPlace,
    VariableRow,
)
from linesmith.analyzer.slab import Kernel, cache_of, geometry_of, own_cache, phase_counts, slab_places
from linesmith.tuner.cost.phase_mix import PhaseMix, every_start, line_sizes, of_row, phase_mix, starts_of
from linesmith.tuner.relocation import relocation


class PhaseMixes:
    """Phase mixes of one record, computed when first asked for; of a program every start counts the same.

    Of a record whose objects seen are all variables, ``rows``, these are the places, with the slab caches that it is
    known to have.
    """

    def __init__(
        self,
        record: Layout,
        layouts: Layouts,
        kernel: Kernel | None,
        line_bytes: int = CACHE_LINE_BYTES,
        rows: Sequence[VariableRow] = (),
    ) -> None:
        self.record = record
        self.rows = tuple(rows)
        self._layouts = layouts
        self._kernel = kernel
        self._sizes = line_sizes(line_bytes)
        self.of = lru_cache(maxsize=None)(self._of)
        self.slabs = lru_cache(maxsize=None)(self._slabs)

    def _of(self, granule: int, growth: int = 0) -> PhaseMix:
        """The mix of objects that are aligned to ``granule`` and ``growth`` bytes larger than now (or smaller)."""
        slabs = self.slabs(granule, growth)
        known = [_phases(slab, size) for slab in slabs for size in self._sizes]
        named = [of_row(row, granule, growth, size) for row in self.rows for size in self._sizes]
        elsewhere = [every_start(granule, size) for size in self._sizes] if self._may_be_elsewhere(slabs) else []
        return phase_mix((*named, *known, *elsewhere))

    def _slabs(self, granule: int, growth: int = 0) -> tuple[SlabPlace, ...]:
        """The places in slabs, computed anew for objects of another size or alignment; none of a program."""
        if self._kernel is None:
            return ()
        now = _slabs_now(self.record, self._layouts, self._kernel)
        if self.rows:
            now = tuple(place for place in now if place.cache.basis is not SlabBasis.ASSUMED)
        asked = max(self.record.natural_alignment, self.record.alignment or 1)
        if not growth and granule <= asked:
            return now
        resized = replace(self.record, size=self.record.size + growth, alignment=granule if granule > asked else None)
        return tuple(self._changed(now, resized, self._kernel))

    def _changed(self, now: tuple[SlabPlace, ...], resized: Layout, kernel: Kernel) -> Iterator[SlabPlace]:
        for place in now:
            outer = self._outer(place)
            try:
                moved = relocation(outer, self._layouts, {self.record.id: resized})
            except NotSimulated:
                continue
            larger = replace(outer, size=moved.new_size, alignment=moved.new_alignment)
            shift = next((one.new - one.old for one in moved.pieces if one.old <= place.offset < one.old + one.size), 0)
            yield _placed(place, changed_cache(place.cache, larger, kernel), place.offset + shift)

    def _outer(self, place: SlabPlace) -> Layout:
        """The record that the objects of the place's cache are."""
        return self.record if not place.path else self._layouts.variants(place.outer)[0]

    def starts(self, granule: int, growth: int = 0) -> ObjectStarts:
        """The places at which objects start: nearer than ``granule`` where a cache does not keep to it, one of one."""
        named = self._series(granule, growth)
        if named is not None:
            return named
        slabs = self.slabs(granule, growth)
        return ObjectStarts(gcd(granule, *(phase for slab in slabs for phase in _starts(slab))))

    def firsts(self, granules: tuple[int, int], growth: int) -> tuple[int, int] | None:
        """The first places of variables before and after, in a pair of lines; ``None`` where others start elsewhere."""
        before, after = self._series(granules[0], 0), self._series(granules[1], growth)
        return (before.first, after.first) if before and after else None

    def _series(self, granule: int, growth: int) -> ObjectStarts | None:
        """The places of all variables; ``None`` where a step from the first one meets more, or others lie elsewhere."""
        if not self.placed:
            return None
        known = {one for row in self.rows for one in starts_of(row, granule, growth, ADJACENT_LINE_BYTES)}
        places = {one % ADJACENT_LINE_BYTES for one in known}
        step = gcd(ADJACENT_LINE_BYTES, *(one - min(known) for one in known))
        series = range(min(places) % step, ADJACENT_LINE_BYTES, step)
        return ObjectStarts(step, series.start) if places == {*series} else None

    @property
    def placed(self) -> bool:
        """Whether objects lie where symbols say and nowhere else."""
        return bool(self.rows) and not self.slabs(1)

    def loose(self, granule: int, growth: int = 0) -> tuple[str, ...]:
        """The caches that put objects where their alignment does not allow it: they were not asked to keep to it."""
        slabs = self.slabs(granule, growth)
        return tuple(dict.fromkeys(one.cache.name for one in slabs if any(phase % granule for phase in _starts(one))))

    def _may_be_elsewhere(self, slabs: tuple[SlabPlace, ...]) -> bool:
        """Whether objects may be in places that nobody knows: unless they have a cache of their own and no holders."""
        if self.placed:
            return False
        own = any(not slab.path and slab.cache.basis is not SlabBasis.ASSUMED for slab in slabs)
        return not own or len(slabs) > 1


@lru_cache(maxsize=1)
def _containment(layouts: Layouts) -> Containment:
    return Containment(layouts)


def _slabs_now(record: Layout, layouts: Layouts, kernel: Kernel) -> tuple[SlabPlace, ...]:
    """The places that are known; of a record that others hold it is not assumed that it comes from kmalloc()."""
    containment = _containment(layouts)
    places = slab_places(record, containment, kernel)
    if not containment.names_of_holders(record.id):
        return places
    return tuple(place for place in places if place.path or place.cache.basis is not SlabBasis.ASSUMED)


def changed_cache(now: SlabCache, outer: Layout, kernel: Kernel) -> SlabCache:
    """The cache of objects that were those of ``now`` and have become ``outer``."""
    if now.basis is SlabBasis.ASSUMED:
        return cache_of(outer, kernel)
    found = own_cache(outer, kernel)
    if found is not None:
        return found
    request = CacheRequest(now.name, outer.size, max(now.geometry.alignment, outer.alignment or 1))
    return replace(now, geometry=geometry_of(request, kernel.machine), basis=SlabBasis.CHOSEN)


def _placed(place: SlabPlace, cache: SlabCache, offset: int) -> SlabPlace:
    near, far = (phase_counts(cache.geometry, size, offset) for size in line_sizes(CACHE_LINE_BYTES))
    return replace(place, cache=cache, offset=offset, phases=near, pair_phases=far)


def _starts(place: SlabPlace) -> Iterator[int]:
    """Where objects of the place begin in a pair of lines, in bytes."""
    return (one.phase for one in place.pair_phases)


def _phases(place: SlabPlace, line_bytes: int) -> PlacePhases:
    counts = phase_counts(place.cache.geometry, line_bytes, place.offset)
    name = f"{place.cache.name}, {place.path}" if place.path else place.cache.name
    return PlacePhases(name, line_bytes, _shares(counts), place.cache.basis)


def _shares(counts: tuple[PhaseCount, ...]) -> tuple[tuple[int, float], ...]:
    objects = sum(one.objects for one in counts)
    return tuple((one.phase, one.objects / objects) for one in counts)
