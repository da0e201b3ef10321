# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots: which objects lay where in a kernel's memory at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ObjectKind(StrEnum):
    """Who handed out the memory of an object."""

    SLAB = "slab"
    GLOBAL = "global"
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
    variable. Addresses are virtual, all sizes in bytes.
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

    @property
    def end(self) -> int:
        """First address behind the last object."""
        return self.address + self.stride * (self.count - 1) + self.size


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Areas by address, not overlapping, that hold the addresses asked for; what is not covered is not known."""

    source: str
    areas: tuple[ObjectArea, ...]
    kernel_release: str | None = None
    build_id: str | None = None
    remarks: tuple[str, ...] = ()
