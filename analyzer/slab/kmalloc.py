# SPDX-License-Identifier: GPL-2.0-or-later
"""The general caches behind kmalloc() (mm/slab_common.c, kmalloc_info; include/linux/slab.h, __kmalloc_index)."""

from __future__ import annotations

from linesmith.analyzer.model import CacheRequest, SlabMachine

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
