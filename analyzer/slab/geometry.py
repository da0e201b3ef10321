# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignments: of the objects of a cache, and of the general caches behind kmalloc()."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from linesmith.analyzer.model import CacheRequest, PhaseCount, SlabGeometry, SlabMachine

# From here on kmalloc() aligns to the largest power of two that divides the size, before only sizes that are one.
_KMALLOC_DIVISOR = (6, 11)


def rounded_up(value: int, multiple: int) -> int:
    """The least multiple of ``multiple`` that is not below ``value``."""
    return -(-value // multiple) * multiple


def alignment_of(request: CacheRequest, machine: SlabMachine) -> int:
    """The alignment of the cache's objects in bytes (mm/slab_common.c, calculate_alignment)."""
    asked = max(request.alignment, kmalloc_alignment(request.object_bytes, machine) if request.kmalloc else 0)
    if request.hwcache_align:
        asked = max(asked, line_alignment(request.object_bytes, machine.line_bytes))
    return rounded_up(max(asked, machine.word_bytes), machine.word_bytes)


def line_alignment(object_bytes: int, line_bytes: int) -> int:
    """What SLAB_HWCACHE_ALIGN asks for: a line, or its half, quarter ... where objects are at most as large."""
    aligned = line_bytes
    while aligned > 1 and object_bytes <= aligned // 2:
        aligned //= 2
    return aligned


def kmalloc_alignment(class_bytes: int, machine: SlabMachine) -> int:
    """The alignment that a general cache guarantees (mm/slab_common.c, create_boot_cache)."""
    divisor = class_bytes & -class_bytes
    guaranteed = divisor if divisor == class_bytes or machine.release >= _KMALLOC_DIVISOR else 0
    return max(machine.kmalloc_alignment, guaranteed)


# How many pages SLUB takes for a slab (mm/slub.c, calculate_order).
#
# At least ``4 * (bits of the number of CPUs + 1)`` objects should share a slab, and at most a sixteenth of it be left
# over; what cannot be had is given up step by step, in another manner before Linux 6.7. The limit of 32,767 objects is
# left out: the largest pages that linesmith knows, of 64 KiB, hold 8,192 of the smallest.

# PAGE_ALLOC_COSTLY_ORDER: larger slabs are made only for objects that need them.
MOST = 3
_SIMPLER = (6, 7)


def order_of(stride: int, machine: SlabMachine) -> int:
    """The order of a slab of objects ``stride`` bytes apart: it has ``1 << order`` pages."""
    wanted = min(_wanted_objects(machine), max(_objects(MOST, stride, machine), 1))
    if machine.release >= _SIMPLER:
        return _by_waste(stride, wanted, machine)
    return _by_objects(stride, wanted, machine)


def _wanted_objects(machine: SlabMachine) -> int:
    return 4 * (machine.cpus.bit_length() + 1)


def _objects(order: int, stride: int, machine: SlabMachine) -> int:
    return (machine.page_bytes << order) // stride


def least_order(size: int, page_bytes: int) -> int:
    """The order of the smallest block of pages that holds ``size`` bytes."""
    return (-(-size // page_bytes) - 1).bit_length()


def _by_waste(stride: int, wanted: int, machine: SlabMachine) -> int:
    """Since 6.7: the number of objects stands, ever more waste is accepted."""
    least = least_order(wanted * stride, machine.page_bytes)
    for fraction in (16, 8, 4, 2):
        order = _first_fit(stride, least, fraction, machine)
        if order is not None:
            return order
    return least_order(stride, machine.page_bytes)


def _by_objects(stride: int, wanted: int, machine: SlabMachine) -> int:
    """Before 6.7: up to a quarter of waste is accepted, then fewer objects are."""
    for objects in range(wanted, 1, -1):
        for fraction in (16, 8, 4):
            order = _first_fit(stride, least_order(objects * stride, machine.page_bytes), fraction, machine)
            if order is not None:
                return order
    return least_order(stride, machine.page_bytes)


def _first_fit(stride: int, least: int, fraction: int, machine: SlabMachine) -> int | None:
    """The smallest order from ``least`` on that leaves at most one part in ``fraction`` over."""
    for order in range(least, MOST + 1):
        slab = machine.page_bytes << order
        if slab % stride <= slab // fraction:
            return order
    return None


# The layout of one object in its slab: object, free pointer, what debugging adds (mm/slub.c, calculate_sizes).

# From here on the red zone of a general cache begins behind what was asked for, within the object.
_INNER_RED_ZONE = (6, 2)


@dataclass(frozen=True, slots=True)
class _Object:
    """``bytes`` that one object takes before it is aligned, and where its free pointer lies, if that is known."""

    bytes: int
    free_pointer: int | None


def geometry_of(request: CacheRequest, machine: SlabMachine) -> SlabGeometry:
    """How the kernel lays out the objects of a cache that is asked for so."""
    alignment = alignment_of(request, machine)
    one = _with_free_pointer(request, machine)
    lead = rounded_up(machine.word_bytes, alignment) if request.red_zone else 0
    tail = machine.word_bytes if request.red_zone else 0
    stride = rounded_up(one.bytes + _tracks(request, machine) + tail + lead, alignment)
    order = order_of(stride, machine)
    objects = (machine.page_bytes << order) // stride
    return SlabGeometry(
        request.object_bytes, alignment, stride, order, objects, machine.page_bytes, lead, one.free_pointer
    )


def _with_free_pointer(request: CacheRequest, machine: SlabMachine) -> _Object:
    used = rounded_up(request.object_bytes, machine.word_bytes)
    if request.red_zone and used == request.object_bytes:
        used += machine.word_bytes
    if _is_outside(request, machine):
        return _Object(used + machine.word_bytes, used)
    if request.inner_free_pointer:  # where, only the code that creates the cache says
        return _Object(used, None)
    return _Object(used, request.object_bytes // 2 // machine.word_bytes * machine.word_bytes)


def _is_outside(request: CacheRequest, machine: SlabMachine) -> bool:
    """Whether the free pointer lies behind the object, because freed objects are still looked at."""
    looked_at = (request.typesafe_by_rcu or request.constructor) and not request.inner_free_pointer
    keeps_size = request.kmalloc and request.store_user and machine.release >= _INNER_RED_ZONE
    small = request.red_zone and (request.object_bytes < machine.word_bytes or keeps_size)
    return looked_at or request.poison or small


def _tracks(request: CacheRequest, machine: SlabMachine) -> int:
    """Who allocated and who freed the object, and for kmalloc() the size that was asked for."""
    if not request.store_user:
        return 0
    return 2 * machine.track_bytes + (machine.word_bytes if request.kmalloc else 0)


# What the objects of a cache cost in pages, and in which phases they begin.


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


# The general caches behind kmalloc() (mm/slab_common.c, kmalloc_info; include/linux/slab.h, __kmalloc_index).

_BETWEEN = (96, 192)
_LEAST_BYTES = 8
_KIBI = 1024


def kmalloc_classes(machine: SlabMachine) -> tuple[int, ...]:
    """The sizes of the general caches in bytes; what is larger than two pages comes from the page allocator."""
    least = max(_LEAST_BYTES, machine.kmalloc_alignment)
    powers = [1 << bit for bit in range(least.bit_length() - 1, (2 * machine.page_bytes).bit_length())]
    return tuple(sorted([*powers, *(size for size in _BETWEEN if least <= size // 3)]))


def kmalloc_request(size: int, machine: SlabMachine) -> CacheRequest | None:
    """The general cache that serves ``size`` bytes; ``None`` for whole pages."""
    serving = next((one for one in kmalloc_classes(machine) if size <= one), None)
    return None if serving is None else CacheRequest(kmalloc_name(serving), serving, kmalloc=True)


def kmalloc_name(size: int) -> str:
    """``kmalloc-192``, ``kmalloc-1k``."""
    return f"kmalloc-{size // _KIBI}k" if size >= _KIBI else f"kmalloc-{size}"
