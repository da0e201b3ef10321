# SPDX-License-Identifier: GPL-2.0-or-later
"""Slab geometry: where SLUB puts the objects of a cache, by the kernel's rules or by what it says in sysfs."""

from linesmith.analyzer.slab.allocation import Asked, Kernel, cache_of, own_cache
from linesmith.analyzer.slab.footprint import bytes_for, pages_for, phase_counts
from linesmith.analyzer.slab.kmalloc import kmalloc_request
from linesmith.analyzer.slab.machine import machine_of
from linesmith.analyzer.slab.places import TypeSlabs, slab_places, together
from linesmith.analyzer.slab.possible import Machines, PlacedStart, SlabStarts, any_machine, machines_with
from linesmith.analyzer.slab.release import release_of
from linesmith.analyzer.slab.served import Served, has_slabs
from linesmith.analyzer.slab.stride import geometry_of
from linesmith.analyzer.slab.sysfs import measured_caches

__all__ = [
    "Asked",
    "Kernel",
    "Machines",
    "PlacedStart",
    "Served",
    "SlabStarts",
    "TypeSlabs",
    "any_machine",
    "bytes_for",
    "cache_of",
    "geometry_of",
    "has_slabs",
    "kmalloc_request",
    "machine_of",
    "machines_with",
    "measured_caches",
    "own_cache",
    "pages_for",
    "phase_counts",
    "release_of",
    "slab_places",
    "together",
]
