# SPDX-License-Identifier: GPL-2.0-or-later
"""Where slabs put objects (stride, pages, phases), which slab cache serves a record, and how that is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.placement import round_up
from linesmith.analyzer.model import CacheRequest, Layout, PhaseCount, SlabBasis, SlabCache, SlabGeometry, SlabMachine
from linesmith.analyzer.slab.caches import CacheFlags, KnownCache, caches_called, known_cache, served_records

# SLUB's arithmetic: where the objects of a cache lie in a slab, how many pages that has, and which caches are general.

# From here on kmalloc() aligns to the largest power of two that divides the size, before only sizes that are one.
_KMALLOC_DIVISOR = (6, 11)
# From here on a slab takes as many objects as should share it, whatever is left over.
_SIMPLER = (6, 7)
# From here on the red zone of a general cache begins behind what was asked for, within the object.
_INNER_RED_ZONE = (6, 2)
# PAGE_ALLOC_COSTLY_ORDER: larger slabs are made only for objects that need them.
MOST = 3
_BETWEEN = (96, 192)
_LEAST_BYTES = 8
_KIBI = 1024


def alignment_of(request: CacheRequest, machine: SlabMachine) -> int:
    """The alignment of the cache's objects in bytes (mm/slab_common.c, calculate_alignment)."""
    asked = max(request.alignment, kmalloc_alignment(request.object_bytes, machine) if request.kmalloc else 0)
    if request.hwcache_align:  # a line, or its half, quarter ... where objects are at most as large
        aligned = machine.line_bytes
        while aligned > 1 and request.object_bytes <= aligned // 2:
            aligned //= 2
        asked = max(asked, aligned)
    return round_up(max(asked, machine.word_bytes), machine.word_bytes)


def kmalloc_alignment(class_bytes: int, machine: SlabMachine) -> int:
    """The alignment that a general cache guarantees (mm/slab_common.c, create_boot_cache)."""
    divisor = class_bytes & -class_bytes
    guaranteed = divisor if divisor == class_bytes or machine.release >= _KMALLOC_DIVISOR else 0
    return max(machine.kmalloc_alignment, guaranteed)


def order_of(stride: int, machine: SlabMachine) -> int:
    """The order of a slab of objects ``stride`` bytes apart: it has ``1 << order`` pages."""
    wanted = min(4 * (machine.cpus.bit_length() + 1), max((machine.page_bytes << MOST) // stride, 1))
    if machine.release >= _SIMPLER:  # the number of objects stands, ever more waste is accepted
        tried = [(wanted, fraction) for fraction in (16, 8, 4, 2)]
    else:  # up to a quarter of waste is accepted, then fewer objects are
        tried = [(objects, fraction) for objects in range(wanted, 1, -1) for fraction in (16, 8, 4)]
    for objects, fraction in tried:
        for order in range(least_order(objects * stride, machine.page_bytes), MOST + 1):
            slab = machine.page_bytes << order
            if slab % stride <= slab // fraction:
                return order
    return least_order(stride, machine.page_bytes)


def least_order(size: int, page_bytes: int) -> int:
    """The order of the smallest block of pages that holds ``size`` bytes."""
    return (-(-size // page_bytes) - 1).bit_length()


def geometry_of(request: CacheRequest, machine: SlabMachine) -> SlabGeometry:
    """How the kernel lays out the objects of a cache that is asked for so.

    Object, free pointer, what debugging adds (mm/slub.c, calculate_sizes).
    """
    word, alignment = machine.word_bytes, alignment_of(request, machine)
    used, free_pointer = _with_free_pointer(request, machine)
    lead = round_up(word, alignment) if request.red_zone else 0
    tail = word if request.red_zone else 0
    tracks = 0
    if request.store_user:  # who allocated and who freed the object, and for kmalloc() the size that was asked for
        tracks = 2 * machine.track_bytes + (word if request.kmalloc else 0)
    stride = round_up(used + tracks + tail + lead, alignment)
    order = order_of(stride, machine)
    objects = (machine.page_bytes << order) // stride
    return SlabGeometry(request.object_bytes, alignment, stride, order, objects, machine.page_bytes, lead, free_pointer)


def _with_free_pointer(request: CacheRequest, machine: SlabMachine) -> tuple[int, int | None]:
    """Bytes that one object takes before it is aligned, and where its free pointer lies, if that is known."""
    word = machine.word_bytes
    used = round_up(request.object_bytes, word)
    if request.red_zone and used == request.object_bytes:
        used += word
    # The free pointer lies behind objects that are still looked at once they are freed.
    looked_at = (request.typesafe_by_rcu or request.constructor) and not request.inner_free_pointer
    keeps_size = request.kmalloc and request.store_user and machine.release >= _INNER_RED_ZONE
    small = request.red_zone and (request.object_bytes < word or keeps_size)
    if looked_at or request.poison or small:
        return used + word, used
    if request.inner_free_pointer:  # where, only the code that creates the cache says
        return used, None
    return used, request.object_bytes // 2 // word * word


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


def kmalloc_request(size: int, machine: SlabMachine) -> CacheRequest | None:
    """The general cache that serves ``size`` bytes; ``None`` where the page allocator does, beyond two pages.

    Source: mm/slab_common.c, kmalloc_info; include/linux/slab.h, __kmalloc_index.
    """
    least = max(_LEAST_BYTES, machine.kmalloc_alignment)
    powers = [1 << bit for bit in range(least.bit_length() - 1, (2 * machine.page_bytes).bit_length())]
    classes = sorted([*powers, *(one for one in _BETWEEN if least <= one // 3)])
    serving = next((one for one in classes if size <= one), None)
    if serving is None:
        return None
    name = f"kmalloc-{serving // _KIBI}k" if serving >= _KIBI else f"kmalloc-{serving}"
    return CacheRequest(name, serving, kmalloc=True)


WHOLE_PAGES = "whole pages"
# How much larger than a record the objects of its cache are at most: what rounding up to a word adds.
_ROUNDED_BYTES = 8
# The allocator's own record, and one that every module knows of that was built for the same kernel.
_OF_KERNELS = ("kmem_cache", "task_struct")
# What the names of general caches begin with.
_GENERAL = re.compile(r"kmalloc-(?:cg-|rcl-|dma-|rnd-\d{2}-)?")


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """What somebody says of a cache where nothing else does; ``cache`` is its name in /sys/kernel/slab."""

    cache: str | None = None
    alignment: int = 0
    hwcache_align: bool = False
    kmalloc: bool = False

    @property
    def flags(self) -> bool:
        """Whether anything but the name is stated."""
        return bool(self.alignment) or self.hwcache_align or self.kmalloc


@dataclass(frozen=True, slots=True)
class FoundCache:
    """A cache in which objects of a record lay that had ``size`` bytes."""

    cache: SlabCache
    size: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """The machine that a kernel runs on, and what its /sys/kernel/slab says of its caches by name.

    ``found`` are the caches in which a recording found objects of records, by the names of these.
    """

    machine: SlabMachine = field(default_factory=SlabMachine)
    measured: Mapping[str, SlabCache] = field(default_factory=dict)
    found: Mapping[str, FoundCache] = field(default_factory=dict)


NO_OPTIONS = CacheOptions()


def cache_of(layout: Layout, kernel: Kernel, asked: CacheOptions = NO_OPTIONS) -> SlabCache:
    """The cache of the record's objects: measured if it can be, else computed, at worst assumed to be kmalloc()'s."""
    own = own_cache(layout, kernel, asked)
    if own is not None:
        return own
    return _general(layout, kernel, SlabBasis.ASSUMED, "no dedicated cache is known, so kmalloc() is assumed")


def own_cache(layout: Layout, kernel: Kernel, asked: CacheOptions = NO_OPTIONS) -> SlabCache | None:
    """The same without the assumption: ``None`` where nothing is known, and for a record without bytes."""
    if layout.size <= 0:
        return None
    found = kernel.found.get(layout.name) if asked == NO_OPTIONS else None
    if found is not None:
        return _as_found(layout, found, kernel)
    known = known_cache(layout.name, kernel.machine.release)
    measured = _measured(layout, known, kernel, asked)
    if measured is not None:
        return measured
    if asked.kmalloc:
        return _general(layout, kernel, SlabBasis.CHOSEN, "kmalloc()")
    if asked.flags:
        return _computed(_request(layout, asked), kernel, SlabBasis.CHOSEN, "by the options given")
    if asked.cache:
        return _called(layout, asked.cache, kernel)
    return None if known is None else _known(layout, known, kernel)


def _measured(layout: Layout, known: KnownCache | None, kernel: Kernel, asked: CacheOptions) -> SlabCache | None:
    """What the running kernel says, unless its objects are of another size than the record."""
    if asked.kmalloc:
        request = kmalloc_request(layout.size, kernel.machine)
        return kernel.measured.get(request.name) if request else None
    grows = asked.cache is not None or (known is not None and CacheFlags.GROWS in known.flags)
    for name in (asked.cache, known.name if known else None, layout.name):
        found = kernel.measured.get(name) if name else None
        if found is not None:
            # Caches that share one have the size of the largest.
            more = found.geometry.object_bytes - layout.size
            if grows or 0 <= more < (kernel.machine.line_bytes if found.aliases else _ROUNDED_BYTES):
                named = asked.cache is not None and not 0 <= more < _ROUNDED_BYTES
                size = f"; its objects have {found.geometry.object_bytes} bytes, {layout.name} has {layout.size}"
                return replace(found, name=name or found.name, reason=found.reason + size * named)
        if asked.cache is not None or (asked.flags and known is None):
            return None
    return None


def found_cache(layout: Layout, name: str, object_bytes: int, stride: int, kernel: Kernel) -> FoundCache:
    """The cache of that name, in which objects of the record lay ``stride`` bytes apart."""
    if name in kernel.measured:
        return FoundCache(kernel.measured[name], layout.size)
    request = kmalloc_request(object_bytes, kernel.machine) if _GENERAL.match(name) else None
    geometry = _called(layout, name, kernel).geometry if request is None else geometry_of(request, kernel.machine)
    if (geometry.object_bytes, geometry.stride) != (object_bytes, stride):
        order = order_of(stride, kernel.machine)
        objects, page = (kernel.machine.page_bytes << order) // stride, kernel.machine.page_bytes
        aligned = geometry.alignment if stride % geometry.alignment == 0 else stride & -stride
        geometry = SlabGeometry(object_bytes, aligned, stride, order, objects, page)
    return FoundCache(SlabCache(name, geometry, SlabBasis.MEASURED, "as recorded"), layout.size)


def _as_found(layout: Layout, found: FoundCache, kernel: Kernel) -> SlabCache:
    """The cache in which such objects were found; one like it for a record of another size or alignment."""
    cache, aligned = found.cache, layout.alignment or 1
    if layout.size == found.size and cache.geometry.stride % aligned == 0:
        return cache
    if general := _GENERAL.match(cache.name):
        larger = _general(layout, kernel, SlabBasis.CHOSEN, f"as {cache.name} now")
        return replace(larger, name=larger.name.replace("kmalloc-", general[0], 1))
    known = known_cache(layout.name, kernel.machine.release)
    if known is not None and known.name == cache.name:
        return _known(layout, known, kernel)
    added = cache.geometry.object_bytes - found.size
    request = CacheRequest(cache.name, layout.size + added, max(cache.geometry.alignment, aligned))
    return _computed(request, kernel, SlabBasis.CHOSEN, f"as {cache.name} now")


def _called(layout: Layout, name: str, kernel: Kernel) -> SlabCache:
    """The cache of that name by what is known of it; where it serves another record, its flags alone are."""
    candidates = caches_called(name, kernel.machine.release)
    serving = next((one for one in candidates if one.record == layout.name), None)
    if serving is not None:
        return _known(layout, serving, kernel)
    if not candidates:
        reason = "no cache of that name is known, so no flags are assumed"
        return _computed(_request(layout, CacheOptions(name)), kernel, SlabBasis.ASSUMED, reason)
    other = candidates[0]
    reason = f"as {other.function}() creates it for {other.record}, but with the size of {layout.name}"
    return replace(_known(layout, other, kernel), basis=SlabBasis.ASSUMED, reason=reason)


def _request(layout: Layout, asked: CacheOptions) -> CacheRequest:
    return CacheRequest(asked.cache or layout.name, layout.size, asked.alignment, asked.hwcache_align)


def _known(layout: Layout, known: KnownCache, kernel: Kernel) -> SlabCache:
    flags, line = known.flags, kernel.machine.line_bytes
    own = max(layout.natural_alignment, layout.alignment or 1) if CacheFlags.OWN_ALIGNMENT in flags else 0
    of_size = layout.size if CacheFlags.SIZE_ALIGNMENT in flags else 0
    of_line = line if CacheFlags.LINE_ALIGNMENT in flags else 0
    request = CacheRequest(
        known.name,
        layout.size,
        max(own, of_size, of_line),
        CacheFlags.HWCACHE_ALIGN in flags,
        CacheFlags.TYPESAFE_BY_RCU in flags,
        CacheFlags.CONSTRUCTOR in flags,
        CacheFlags.INNER_FREE_POINTER in flags,
    )
    if CacheFlags.GROWS in flags:
        reason = f"{known.function}() adds machine-dependent bytes to the record, which are not counted"
        return _computed(request, kernel, SlabBasis.ASSUMED, reason)
    return _computed(request, kernel, SlabBasis.COMPUTED, f"as {known.function}() creates it")


def _general(layout: Layout, kernel: Kernel, basis: SlabBasis, reason: str) -> SlabCache:
    """The general cache that serves records of this size, or whole pages."""
    request, page = kmalloc_request(max(layout.size, 1), kernel.machine), kernel.machine.page_bytes
    if request is None:
        order = least_order(layout.size, page)
        return SlabCache(WHOLE_PAGES, SlabGeometry(layout.size, page, page << order, order, 1, page), basis, reason)
    measured = kernel.measured.get(request.name)
    if measured is not None:
        return SlabCache(request.name, measured.geometry, basis, f"{reason}; its geometry is measured")
    return _computed(request, kernel, basis, reason)


def _computed(request: CacheRequest, kernel: Kernel, basis: SlabBasis, reason: str) -> SlabCache:
    return SlabCache(request.name, geometry_of(request, kernel.machine), basis, reason)


def has_slabs(layouts: Layouts) -> bool:
    """Whether the file is a kernel or a module, whose objects come from slabs; programs have records of such names."""
    return any(layouts.variants(name) for name in _OF_KERNELS)


class Served:
    """The layouts of a file, of which only these are walked: what a known or measured cache serves, and their parts.

    Any other can still be asked for. Whoever looks for the caches that hold a record need not read the others.
    """

    def __init__(self, layouts: Layouts, kernel: Kernel) -> None:
        self._all = layouts
        self._roots = tuple(dict.fromkeys([*served_records(kernel.machine.release), *kernel.measured]))
        self.by_id = layouts.by_id
        self.variants = layouts.variants
        self.names = layouts.names

    def __iter__(self) -> Iterator[Layout]:
        """Every such layout once, those in front that a cache serves."""
        waiting = [layout.id for name in self._roots for layout in self._all.variants(name)]
        seen = set(waiting)
        for one in waiting:  # grows while it is walked
            layout = self._all.by_id(one)
            yield layout
            inner = {member.record for member in layout.members if member.record is not None} - seen
            seen |= inner
            waiting += sorted(inner)
