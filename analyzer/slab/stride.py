# SPDX-License-Identifier: GPL-2.0-or-later
"""The layout of one object in its slab: object, free pointer, what debugging adds (mm/slub.c, calculate_sizes)."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model import CacheRequest, SlabGeometry, SlabMachine
from linesmith.analyzer.slab.alignment import alignment_of, rounded_up
from linesmith.analyzer.slab.order import order_of

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
