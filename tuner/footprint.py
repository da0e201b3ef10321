# SPDX-License-Identifier: GPL-2.0-or-later
"""What the size of a record costs in memory."""

from __future__ import annotations

PAGE_BYTES = 4096
# General caches of the kernel in bytes, as long as an object fits in half a page (mm/slab_common.c, kmalloc_info).
KMALLOC_CLASSES = (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192)
OBJECTS = 100_000


def objects_per_page(size: int) -> int:
    """Objects of ``size`` bytes in one page of 4096 bytes; 0 for an object larger than a page."""
    return PAGE_BYTES // size if size else 0


def kmalloc_class(size: int) -> int | None:
    """The general cache that serves ``size`` bytes; ``None`` for whole pages."""
    return next((one for one in KMALLOC_CLASSES if size <= one), None)


def growth(before: int, after: int) -> str:
    """What growing from ``before`` to ``after`` bytes costs, in one sentence."""
    more = (after - before) * OBJECTS / 1e6
    text = f"grows from {before} to {after} bytes: {more:.1f} MB more for {OBJECTS:,} objects"
    if after <= PAGE_BYTES:
        text += f", {objects_per_page(before)} -> {objects_per_page(after)} objects per page"
    old, new = kmalloc_class(before), kmalloc_class(after)
    if old != new:
        text += f", kmalloc-{old} -> {f'kmalloc-{new}' if new else 'whole pages'} if it is allocated so"
    return text + "."
