# SPDX-License-Identifier: GPL-2.0-or-later
"""At which bytes of a line an object of a type can begin, by the geometry of the caches that its type lies in.

A slab's address is a multiple of its size, in physical memory and in the direct map alike, so the address of a line
tells its place in the slab, and the stride tells where objects begin there. What is not known of the machine, its CPUs,
is the same for all lines of a profile: ``learnt`` solves it from lines whose object is sure, and finds the types that
do not lie where the rules put them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, log

from linesmith.analyzer.layouts.containment import Containment, EmbeddedPlace
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Layout,
    SlabBasis,
    SlabCache,
    SlabGeometry,
    SlabPlace,
)
from linesmith.analyzer.slab.allocation import (
    NO_OPTIONS,
    CacheOptions,
    Kernel,
    cache_of,
    least_order,
    own_cache,
    phase_counts,
)

# Where x86-64 and arm64 have their direct map, with four or five levels of page tables, and other memory that no
# symbol names; the kernel image and user space lie elsewhere, and hold no slabs.
_DIRECT_MAP = range(0xFF00_0000_0000_0000, 0xFFFF_FE00_0000_0000)
# How likely an object is not where the rules put it: a static one, another cache, a release that differs.
_DOUBT = {SlabBasis.MEASURED: 0.02, SlabBasis.COMPUTED: 0.1, SlabBasis.CHOSEN: 0.1, SlabBasis.ASSUMED: 0.6}
# The same of a type most of whose objects were found elsewhere.
_DISTRUST = 0.9
# Share of slabs that are as small as one object allows, because larger blocks of pages were not to be had.
_SMALL_SLABS = 0.02
_CPUS = tuple(1 << bit for bit in range(11))
# Numbers of CPUs this much less likely (logarithm) than the likeliest are out.
_HOPELESS = -14.0
# From this many objects on they can disprove a geometry.
_ENOUGH = 3

StartsOnLine = Mapping[int, float]  # bytes from the line, with probabilities


@dataclass(frozen=True, slots=True)
class TypeSlabs:
    """A record with all its places in slabs; ``own`` is the one that it fills by itself, if there is one."""

    layout: Layout
    places: tuple[SlabPlace, ...]

    @property
    def own(self) -> SlabPlace | None:
        """Where objects are such a record, not a part of another."""
        return next((place for place in self.places if not place.path), None)


def together(types: Sequence[TypeSlabs]) -> tuple[SlabPlace, ...]:
    """The places whose costs add up where one of each type goes with the others; none if that makes no sense."""
    own = tuple(place for one in types if (place := one.own) is not None)
    return own if len(types) > 1 and len(own) == len(types) else ()


def slab_places(
    layout: Layout, containment: Containment, kernel: Kernel, asked: CacheOptions = NO_OPTIONS
) -> tuple[SlabPlace, ...]:
    """Every cache whose objects are such a record or hold one, itself first; there is always one.

    What is ``asked`` speaks of the record itself. That it comes from kmalloc() is assumed only of a record that no
    known cache holds.
    """
    held = tuple(_held(layout, containment, kernel))
    own = own_cache(layout, kernel, asked)
    if own is None and not held:
        own = cache_of(layout, kernel, asked)
    return held if own is None else (_place(own, layout, "", 0), *held)


def _held(layout: Layout, containment: Containment, kernel: Kernel) -> Iterator[SlabPlace]:
    seen: set[tuple[str, int]] = set()
    for place in containment.places(layout.id):
        outer = containment.layouts.by_id(place.container)
        if outer.id == layout.id or (outer.name, place.offset) in seen:
            continue
        cache = own_cache(outer, kernel)
        if cache is not None:
            seen.add((outer.name, place.offset))
            yield _place(cache, outer, _path(layout, place, containment), place.offset)


def _place(cache: SlabCache, outer: Layout, path: str, offset: int) -> SlabPlace:
    near = phase_counts(cache.geometry, CACHE_LINE_BYTES, offset)
    far = phase_counts(cache.geometry, ADJACENT_LINE_BYTES, offset)
    return SlabPlace(cache, outer.name, path, offset, near, far)


def _path(layout: Layout, place: EmbeddedPlace, containment: Containment) -> str:
    """What the outer record calls the place of the inner one; its offset where leaves do not lead there."""
    for leaf in containment.leaves(place.container, place.offset):
        for entered in leaf.entered:
            if (entered.record, entered.offset) == (layout.id, place.offset):
                return entered.path
    return f"+{place.offset:#x}"


@dataclass(frozen=True, slots=True)
class PlacedStart:
    """An object of a layout (its id) that begins at a kernel virtual ``address``."""

    layout: int
    address: int


@dataclass(frozen=True, slots=True)
class Machines:
    """Numbers of CPUs that the machine may have, with probabilities, and layouts that are not where they should be."""

    cpus: tuple[tuple[int, float], ...]
    distrusted: frozenset[int] = frozenset()


def machines_with(cpus: int | None) -> Machines:
    """Machines of that many CPUs; any, each as likely, where the number is not known."""
    if cpus is None or cpus < 1:
        return Machines(tuple((one, 1 / len(_CPUS)) for one in _CPUS))
    return Machines(((cpus, 1.0),))


class SlabStarts:
    """Probabilities of starts on lines of one profile; computed when first asked for."""

    def __init__(self, containment: Containment, kernel: Kernel, machines: Machines) -> None:
        """``kernel.machine.cpus`` gives way to those of ``machines``."""
        self._containment = containment
        self._kernel = kernel
        self.machines = machines
        self._places = lru_cache(maxsize=None)(self._placed_in)
        self._starts = lru_cache(maxsize=1 << 14)(self._starts_at)
        self._strides: dict[int, int] = {}

    def starts(self, layout: int, line: int | None, line_bytes: int) -> StartsOnLine:
        """Where an object of the layout can begin, in bytes from the line at address ``line``: with probabilities.

        They add up to 1 at most; to less where some of the caches in question have no object there. Empty where
        nothing is known: no address, or one outside the direct map.
        """
        return {} if line is None or line not in _DIRECT_MAP else self._starts(layout, line, line_bytes)

    def log_prior(self, layout: int, start: int, line: int | None, line_bytes: int) -> float | None:
        """Logarithm of the probability that the layout begins at ``start``; ``None`` where nothing is known."""
        if line is None or line not in _DIRECT_MAP:
            return None
        record = self._containment.layouts.by_id(layout)
        anywhere = max((record.size + line_bytes) / max(record.natural_alignment, record.alignment or 1), 1.0)
        doubt = self._doubt(layout)
        return log((1 - doubt) * self._starts(layout, line, line_bytes).get(start, 0.0) + doubt / anywhere)

    def in_row(self, layout: int, offset: int) -> int:
        """Byte ``offset`` of an object in its slab; outside the object it is one of the next or previous object.

        The same where no cache is known to hold such objects and nothing else.
        """
        if layout not in self._strides:
            places = self._places(layout, self.machines.cpus[0][0])
            sure = (place for place in places if _DOUBT[place.cache.basis] <= _DOUBT[SlabBasis.COMPUTED])
            own = next((place for place in sure if not place.path), None)
            self._strides[layout] = own.cache.geometry.stride if own and layout not in self.machines.distrusted else 0
        stride = self._strides[layout]
        return offset % stride if stride and not 0 <= offset < stride else offset

    def allows(self, layout: int, start: int, line: int | None, line_bytes: int) -> bool:
        """Whether a cache that is known to hold the layout has an object of it just there."""
        if line is None or self._doubt(layout) > _DOUBT[SlabBasis.COMPUTED]:
            return False
        return self.starts(layout, line, line_bytes).get(start, 0.0) > _SMALL_SLABS

    def learnt(self, placed: Iterable[PlacedStart]) -> SlabStarts:
        """The same after a look at objects that are sure: which CPUs explain them, and which types nothing does."""
        sure = tuple(placed)
        weighed = {  # objects that are elsewhere say nothing of the number of CPUs
            cpus: log(weight) + sum(log(max(self._fit(one, cpus), _SMALL_SLABS)) for one in sure)
            for cpus, weight in self.machines.cpus
        }
        most = max(weighed.values())
        weights = {one: exp(weight - most) for one, weight in weighed.items() if weight - most > _HOPELESS}
        total = sum(weights.values())
        cpus = tuple((one, weight / total) for one, weight in weights.items())
        seen = Counter(one.layout for one in sure)
        fitting = Counter(one.layout for one in sure if self.agrees(one))
        elsewhere = frozenset(one for one, count in seen.items() if count >= _ENOUGH and fitting[one] * 2 < count)
        return SlabStarts(self._containment, self._kernel, Machines(cpus, elsewhere))

    def agrees(self, placed: PlacedStart) -> bool:
        """Whether an object can begin there, with some number of CPUs that the machine may have."""
        return any(self._fit(placed, cpus) for cpus, _ in self.machines.cpus)

    def _doubt(self, layout: int) -> float:
        if layout in self.machines.distrusted:
            return _DISTRUST
        return min(_DOUBT[place.cache.basis] for place in self._places(layout, self.machines.cpus[0][0]))

    def _placed_in(self, layout: int, cpus: int) -> tuple[SlabPlace, ...]:
        kernel = replace(self._kernel, machine=replace(self._kernel.machine, cpus=cpus))
        return slab_places(self._containment.layouts.by_id(layout), self._containment, kernel)

    def _starts_at(self, layout: int, line: int, line_bytes: int) -> StartsOnLine:
        size = self._containment.layouts.by_id(layout).size
        found: dict[int, float] = {}
        for cpus, weight in self.machines.cpus:
            places = self._places(layout, cpus)
            for place in places:
                for geometry, share in _variants(place.cache.geometry):
                    # Starts, counted from the line, of what lies in the objects of a slab and meets the line.
                    base = line % geometry.slab_bytes - geometry.lead - place.offset
                    least = max(-(-(base - min(size, geometry.stride) + 1) // geometry.stride), 0)
                    most = min((base + line_bytes - 1) // geometry.stride, geometry.objects - 1)
                    here = [number * geometry.stride - base for number in range(least, most + 1)]
                    for start in here:
                        found[start] = found.get(start, 0.0) + weight * share / len(places) / len(here)
        return found

    def _fit(self, placed: PlacedStart, cpus: int) -> float:
        """How likely slabs are in which an object begins there; 0 if there are none."""
        likely = 0.0
        for place in self._places(placed.layout, cpus):
            for geometry, share in _variants(place.cache.geometry):
                begin = (placed.address - place.offset - geometry.lead) % geometry.slab_bytes
                number, rest = divmod(begin, geometry.stride)
                if rest == 0 and number < geometry.objects:
                    likely = max(likely, share)
        return likely


def _variants(geometry: SlabGeometry) -> tuple[tuple[SlabGeometry, float], ...]:
    """The geometry, and that of the smaller slabs that are made when memory is short."""
    least = least_order(geometry.stride, geometry.page_bytes)
    if least >= geometry.order:
        return ((geometry, 1.0),)
    small = replace(geometry, order=least, objects=(geometry.page_bytes << least) // geometry.stride)
    return (geometry, 1.0 - _SMALL_SLABS), (small, _SMALL_SLABS)
