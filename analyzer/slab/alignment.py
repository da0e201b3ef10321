# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignments: of the objects of a cache, and of the general caches behind kmalloc()."""

from __future__ import annotations

from linesmith.analyzer.model import CacheRequest, SlabMachine

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
