# SPDX-License-Identifier: GPL-2.0-or-later
"""SLUB's arithmetic: where the objects of a cache lie in a slab, how many pages that has, and which caches are general.

At least ``4 * (bits of the number of CPUs + 1)`` objects should share a slab, and at most a sixteenth of it be left
over; what cannot be had is given up step by step, in another manner before Linux 6.7 (mm/slub.c, calculate_order). The
limit of 32,767 objects is left out: the largest pages that linesmith knows, of 64 KiB, hold 8,192 of the smallest.
"""

from __future__ import annotations

from collections import Counter

from linesmith.analyzer.layouts.placement import round_up
from linesmith.analyzer.model import CacheRequest, PhaseCount, SlabGeometry, SlabMachine

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
