# SPDX-License-Identifier: GPL-2.0-or-later
"""Slab pages of the SLUB allocator: the cache they belong to and where their objects begin (mm/slub.c)."""

from __future__ import annotations

from dataclasses import dataclass

import drgn
from drgn.helpers.linux.slab import get_slab_cache_aliases

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.cache_types import RecordSize, types_of


@dataclass(frozen=True, slots=True)
class SlabCache:
    """One cache; sizes in bytes. Objects begin ``lead`` bytes into each stride, behind a debugging red zone."""

    name: str
    stride: int
    object_bytes: int
    lead: int
    merged: tuple[str, ...]
    types: tuple[str, ...]
    detail: str


class Slabs:
    """The slab caches of a kernel, read as their pages are met."""

    def __init__(self, program: drgn.Program, size_of: RecordSize) -> None:
        """Reads which caches were merged, as far as the kernel has kept their names (CONFIG_SYSFS)."""
        self._size_of = size_of
        self._page = _slab_page(program)
        self._program = program
        self._others = _merged(program)
        self._caches: dict[int, SlabCache] = {}

    @property
    def readable(self) -> bool:
        """Whether the kernel has the SLUB allocator; the older SLAB and SLOB are not read."""
        return bool(self._program.type("struct kmem_cache").has_member("oo"))

    def area(self, head: int, start: int) -> ObjectArea | None:
        """All objects of the slab page whose first ``struct page`` lies at ``head`` and whose memory at ``start``."""
        if not self.readable:
            return None
        page = drgn.Object(self._program, self._page, address=head)
        pointer = page.slab_cache.value_()
        if pointer not in self._caches:
            self._caches[pointer] = self._cache(page.slab_cache)
        cache = self._caches[pointer]
        return ObjectArea(
            ObjectKind.SLAB,
            cache.name,
            start + cache.lead,
            cache.object_bytes,
            cache.stride,
            page.objects.value_(),
            cache.types,
            cache.merged,
            detail=cache.detail,
        )

    def _cache(self, cache: drgn.Object) -> SlabCache:
        name, size = _text(cache.name), cache.object_size.value_()
        others = self._others.get(name, ())
        lead = cache.red_left_pad.value_() if cache.type_.type.has_member("red_left_pad") else 0
        unnamed = cache.refcount.value_() - 1 - len(others)
        detail = f"serves {unnamed} more caches without known names" if unnamed > 0 else ""
        types = types_of((name, *others), size, self._size_of)
        return SlabCache(name, cache.size.value_(), size, lead, others, types, detail)


def _slab_page(program: drgn.Program) -> drgn.Type:
    try:
        return program.type("struct slab")
    except LookupError:
        return program.type("struct page")


def _merged(program: drgn.Program) -> dict[str, tuple[str, ...]]:
    """Names of the caches merged into each cache."""
    try:
        aliases = get_slab_cache_aliases(program)
    except (LookupError, AttributeError, drgn.FaultError):
        return {}
    merged: dict[str, tuple[str, ...]] = {}
    for name, target in sorted(aliases.items()):
        merged[target] = (*merged.get(target, ()), name)
    return merged


def _text(pointer: drgn.Object) -> str:
    return str(pointer.string_(), "utf-8", "backslashreplace")
