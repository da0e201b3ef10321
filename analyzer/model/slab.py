# SPDX-License-Identifier: GPL-2.0-or-later
"""Slab caches: what a kernel is asked for, how it lays objects out in pages, and how that is known.

A snapshot says which objects lay where in a kernel's memory at one moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class SlabBasis(StrEnum):
    """How the geometry of a cache is known, surest first."""

    MEASURED = "measured"
    COMPUTED = "computed from the cache's flags"
    CHOSEN = "computed as asked for"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class SlabMachine:
    """What the rules of SLUB depend on besides the cache: CPUs present, page and line in bytes, kernel release.

    ``kmalloc_alignment`` is ARCH_KMALLOC_MINALIGN, ``track_bytes`` the size of ``struct track``, which ``slub_debug=U``
    puts behind an object twice, ``word_bytes`` that of a pointer.
    """

    cpus: int = 64
    page_bytes: int = 4096
    line_bytes: int = 64
    release: tuple[int, int] = (6, 12)
    kmalloc_alignment: int = 8
    track_bytes: int = 0
    word_bytes: int = 8


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """What kmem_cache_create() is asked for; sizes in bytes, an ``alignment`` of 0 asks for none.

    ``typesafe_by_rcu`` and ``constructor`` keep the allocator's free pointer out of the object, unless it has a place
    of its own there (``inner_free_pointer``). The last three are debugging (``slub_debug=ZPU``).
    """

    name: str
    object_bytes: int
    alignment: int = 0
    hwcache_align: bool = False
    typesafe_by_rcu: bool = False
    constructor: bool = False
    inner_free_pointer: bool = False
    kmalloc: bool = False
    red_zone: bool = False
    poison: bool = False
    store_user: bool = False


@dataclass(frozen=True, slots=True)
class SlabGeometry:
    """How a cache fills its slabs: object ``k`` begins ``lead + k * stride`` bytes behind the slab's first page.

    A slab is ``1 << order`` pages; ``alignment`` is the one in effect. ``free_pointer`` is where in a free object the
    allocator keeps its link, ``None`` when that is not known. All in bytes.
    """

    object_bytes: int
    alignment: int
    stride: int
    order: int
    objects: int
    page_bytes: int = 4096
    lead: int = 0
    free_pointer: int | None = None

    @property
    def slab_bytes(self) -> int:
        """Bytes of one slab; its address is a multiple of them."""
        return self.page_bytes << self.order

    @property
    def unused(self) -> int:
        """Bytes of a slab that belong to no stride."""
        return self.slab_bytes - self.objects * self.stride

    @property
    def starts(self) -> range:
        """Where the objects of a slab begin, counted from its first byte."""
        return range(self.lead, self.lead + self.objects * self.stride, self.stride)


@dataclass(frozen=True, slots=True)
class SlabCache:
    """A cache with its geometry; ``reason`` says how its flags are known. ``aliases`` counts caches merged into it."""

    name: str
    geometry: SlabGeometry
    basis: SlabBasis
    reason: str = ""
    aliases: int = 0


@dataclass(frozen=True, slots=True)
class PhaseCount:
    """``objects`` of a slab that begin ``phase`` bytes into a line."""

    phase: int
    objects: int


@dataclass(frozen=True, slots=True)
class SlabPlace:
    """A type in the objects of a cache: ``offset`` bytes into ``outer``, as its member ``path`` (empty: all of it).

    ``phases`` are those of the type's first byte at lines of 64 and of 128 bytes.
    """

    cache: SlabCache
    outer: str
    path: str
    offset: int
    phases: tuple[PhaseCount, ...]
    pair_phases: tuple[PhaseCount, ...]


class ObjectKind(StrEnum):
    """Who handed out the memory of an object."""

    SLAB = "slab"
    GLOBAL = "global"
    HEAP = "heap"
    PER_CPU = "per-CPU"
    STACK = "stack"
    STRUCT_PAGE = "struct page"
    PAGE_TABLE = "page table"
    PAGE_CACHE = "page cache"
    PAGES = "pages"
    VMALLOC = "vmalloc"
    BOOT = "boot memory"


@dataclass(frozen=True, slots=True)
class ObjectArea:
    """``count`` objects in a row: object ``k`` begins at ``address + k * stride`` and has ``size`` bytes.

    A slab page is one area of many objects, a variable an area of one. ``name`` is the slab cache, the symbol, or
    what else the memory is called. ``types`` are the record types that the objects may have, likeliest first; none
    where nothing says so. ``merged`` names further caches that share this one. ``cpu`` is the CPU of a per-CPU
    variable. ``layout`` is the record of the objects in the reading of the ELF file, where DWARF says it; in no file.
    Addresses are virtual, all sizes in bytes.
    """

    kind: ObjectKind
    name: str
    address: int
    size: int
    stride: int
    count: int = 1
    types: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    cpu: int | None = None
    detail: str = ""
    layout: int | None = None

    @property
    def end(self) -> int:
        """First address behind the last object."""
        return self.address + self.stride * (self.count - 1) + self.size

    def split(self, types: Mapping[int, tuple[str, ...]]) -> tuple[ObjectArea, ...]:
        """The same objects; those whose number is in ``types`` are areas of their own, of these types."""
        pieces: list[ObjectArea] = []
        behind = 0
        for number in (*sorted(types), self.count):
            if number > behind:
                begin = self.address + behind * self.stride
                pieces.append(replace(self, address=begin, count=number - behind))
            if number < self.count:
                begin = self.address + number * self.stride
                pieces.append(replace(self, address=begin, count=1, types=types[number]))
            behind = number + 1
        return tuple(pieces)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Areas by address, not overlapping, that hold the addresses asked for; what is not covered is not known."""

    source: str
    areas: tuple[ObjectArea, ...]
    kernel_release: str | None = None
    build_id: str | None = None
    remarks: tuple[str, ...] = ()
