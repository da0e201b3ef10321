# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases the objects of a record start: where slabs put them, and at each multiple of their alignment.

``PhaseMixes`` has them for every size and alignment that a candidate may give the record; the slabs also say what the
objects cost in memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from math import gcd

import numpy as np
import numpy.typing as npt

from linesmith.analyzer.base.errors import NotSimulated
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import containment_of
from linesmith.analyzer.layouts.gaps import ObjectStarts, phases
from linesmith.analyzer.layouts.placement import round_up
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    CacheRequest,
    Layout,
    MemoryUse,
    PlacePhases,
    SlabBasis,
    SlabCache,
    SlabPlace,
    VariableRow,
)
from linesmith.analyzer.slab.allocation import (
    Kernel,
    bytes_for,
    cache_of,
    geometry_of,
    own_cache,
    pages_for,
    phase_counts,
)
from linesmith.analyzer.slab.starts import slab_places
from linesmith.tuner.replay.scene import relocation

# Shares are sums of fractions; what is nearer to nothing than this is nothing.
_ROUNDING = 1e-12
LINE_SIZES = (CACHE_LINE_BYTES, ADJACENT_LINE_BYTES)
# Objects of which memory is given in bytes, and in pages.
OBJECTS = 100_000
PAGES_OF = 1_000

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PhaseMix:
    """Where objects of one size and alignment can start: ``places``, each at lines of 64 and of 128 bytes.

    All places count the same. ``summed`` are the shares of the phases from 0 on, added up over two lines, by line size.
    """

    places: tuple[PlacePhases, ...]
    summed: Mapping[int, tuple[float, ...]]

    def at(self, line_bytes: int) -> tuple[PlacePhases, ...]:
        """The places at lines of ``line_bytes``."""
        return tuple(place for place in self.places if place.line_bytes == line_bytes)

    def phases(self, line_bytes: int = CACHE_LINE_BYTES) -> tuple[tuple[int, float], ...]:
        """The phases of all places together, each with its share of the objects."""
        return _together(self.at(line_bytes))

    def share(self, last: int, first: int, line_bytes: int = CACHE_LINE_BYTES) -> float:
        """Share of the objects in which byte ``last`` and the byte ``first`` behind it are on one line."""
        apart = first - last
        if apart >= line_bytes:
            return 0.0
        if apart <= 0:
            return 1.0
        begin = -last % line_bytes
        sums = self.summed[line_bytes]
        share = sums[begin + line_bytes - apart] - sums[begin]
        return share if share > _ROUNDING else 0.0

    def shares(self, last: Integers, first: Integers, line_bytes: int) -> Floats:
        """``share`` of many pairs at once."""
        apart = np.minimum(np.maximum(first - last, 0), line_bytes)
        begin = -last & (line_bytes - 1)  # lines have powers of two; a division takes ten times as long
        found: Floats = _table(self.summed[line_bytes]).ravel().take(begin * (line_bytes + 1) + apart)
        return found


@lru_cache(maxsize=128)
def _table(summed: tuple[float, ...]) -> Floats:
    """The share by where in a line the next one begins, and by how many bytes two are apart."""
    size = len(summed) // 2
    begin, apart = np.arange(size)[:, np.newaxis], np.arange(size + 1)
    sums = np.asarray(summed)
    found: Floats = sums[begin + size - apart] - sums[begin]
    found[found <= _ROUNDING] = 0.0
    found[:, 0] = 1.0
    return found


def phase_mix(places: Iterable[PlacePhases]) -> PhaseMix:
    """The mix of ``places``, of which there is at least one for each line size that is asked for."""
    known = tuple(places)
    summed = {}
    for size in dict.fromkeys(place.line_bytes for place in known):
        shares = dict(_together(place for place in known if place.line_bytes == size))
        summed[size] = tuple(accumulate((shares.get(byte % size, 0.0) for byte in range(2 * size)), initial=0.0))
    return PhaseMix(known, summed)


def line_sizes(line_bytes: int) -> tuple[int, ...]:
    """Sizes of lines to look at where those of the profile are of ``line_bytes``: 64, 128 and these."""
    return tuple(dict.fromkeys((*LINE_SIZES, line_bytes)))


def every_start(granule: int, line_bytes: int) -> PlacePhases:
    """Every multiple of ``granule``, of which nothing else is known."""
    starts = phases(granule, line_bytes)
    return PlacePhases("", line_bytes, tuple((phase, 1 / len(starts)) for phase in starts))


def of_row(row: VariableRow, granule: int, growth: int, line_bytes: int) -> PlacePhases:
    """Those of a variable, or of the elements of an array, when each is aligned to ``granule`` and ``growth`` larger.

    The linker puts what does not need more alignment where it was.
    """
    seen = Counter(start % line_bytes for start in starts_of(row, granule, growth, line_bytes))
    total = seen.total()
    return PlacePhases(row.name, line_bytes, tuple((phase, seen[phase] / total) for phase in sorted(seen)))


def starts_of(row: VariableRow, granule: int, growth: int, line_bytes: int) -> range:
    """Addresses of the elements, of as many as differ in where they begin in a line."""
    stride = round_up(row.stride + growth, granule)
    first = round_up(row.address, granule)
    return range(first, first + stride * min(row.count, line_bytes), max(stride, 1))


def _together(places: Iterable[PlacePhases]) -> tuple[tuple[int, float], ...]:
    known = tuple(places)
    shares: dict[int, float] = defaultdict(float)
    for place in known:
        for phase, share in place.phases:
            shares[phase] += share / len(known)
    return tuple(sorted(shares.items()))


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
        # Objects may be in places that nobody knows, unless they have a cache of their own and no holders.
        own = any(not slab.path and slab.cache.basis is not SlabBasis.ASSUMED for slab in slabs)
        anywhere = not self.placed and (not own or len(slabs) > 1)
        elsewhere = [every_start(granule, size) for size in self._sizes] if anywhere else []
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
            # The record that the objects of the place's cache are.
            outer = self.record if not place.path else self._layouts.variants(place.outer)[0]
            try:
                moved = relocation(outer, self._layouts, {self.record.id: resized})
            except NotSimulated:
                continue
            larger = replace(outer, size=moved.new_size, alignment=moved.new_alignment)
            shift = next((one.new - one.old for one in moved.pieces if one.old <= place.offset < one.old + one.size), 0)
            cache, offset = changed_cache(place.cache, larger, kernel), place.offset + shift
            near, far = (phase_counts(cache.geometry, size, offset) for size in LINE_SIZES)
            yield replace(place, cache=cache, offset=offset, phases=near, pair_phases=far)

    def starts(self, granule: int, growth: int = 0) -> ObjectStarts:
        """The places at which objects start: nearer than ``granule`` where a cache does not keep to it, one of one."""
        named = self._series(granule, growth)
        if named is not None:
            return named
        slabs = self.slabs(granule, growth)
        return ObjectStarts(gcd(granule, *(phase for slab in slabs for phase in _starts(slab))))

    def firsts(self, granules: tuple[int, int], growth: int) -> tuple[int, int] | None:
        """The first places of objects before and after, in a pair of lines; ``None`` where others start elsewhere."""
        before, after = self._series(granules[0], 0), self._series(granules[1], growth)
        return (before.first, after.first) if before and after else None

    def _series(self, granule: int, growth: int) -> ObjectStarts | None:
        """The places of all objects; ``None`` where a step from the first one meets more, or others lie elsewhere."""
        if not self.placed:
            return None
        known = {one for row in self.rows for one in starts_of(row, granule, growth, ADJACENT_LINE_BYTES)}
        known |= {one for slab in self.slabs(granule, growth) for one in _starts(slab)}
        places = {one % ADJACENT_LINE_BYTES for one in known}
        step = gcd(ADJACENT_LINE_BYTES, *(one - min(known) for one in known))
        series = range(min(places) % step, ADJACENT_LINE_BYTES, step)
        return ObjectStarts(step, series.start) if places == {*series} else None

    @property
    def placed(self) -> bool:
        """Whether objects lie where symbols say, or in the caches that they were found in, and nowhere else."""
        slabs = self.slabs(1)
        found = self._kernel is not None and all(slab.outer in self._kernel.found for slab in slabs)
        return (bool(self.rows) and not slabs) or (bool(slabs) and found)

    def loose(self, granule: int, growth: int = 0) -> tuple[str, ...]:
        """The caches that put objects where their alignment does not allow it: they were not asked to keep to it."""
        slabs = self.slabs(granule, growth)
        return tuple(dict.fromkeys(one.cache.name for one in slabs if any(phase % granule for phase in _starts(one))))


def _slabs_now(record: Layout, layouts: Layouts, kernel: Kernel) -> tuple[SlabPlace, ...]:
    """The places that are known; of a record that others hold it is not assumed that it comes from kmalloc().

    Where objects were found in caches, these are the places.
    """
    containment = containment_of(layouts)
    places = slab_places(record, containment, kernel)
    if found := tuple(place for place in places if place.outer in kernel.found):
        return found
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


def _starts(place: SlabPlace) -> Iterator[int]:
    """Where objects of the place begin in a pair of lines, in bytes."""
    return (one.phase for one in place.pair_phases)


def _phases(place: SlabPlace, line_bytes: int) -> PlacePhases:
    counts = phase_counts(place.cache.geometry, line_bytes, place.offset)
    name = f"{place.cache.name}, {place.path}" if place.path else place.cache.name
    objects = sum(one.objects for one in counts)
    return PlacePhases(name, line_bytes, tuple((one.phase, one.objects / objects) for one in counts), place.cache.basis)


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
