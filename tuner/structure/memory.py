# SPDX-License-Identifier: GPL-2.0-or-later
"""What the objects of a record cost in their slab cache, as it is and changed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import Layout, MemoryUse, SlabCache
from linesmith.analyzer.slab import Asked, Kernel, cache_of, own_cache, slab_places
from linesmith.tuner.cost.memory import memory_use
from linesmith.tuner.structure.reshape import around

NOTHING_ASKED = Asked()


@dataclass(frozen=True, slots=True)
class Allocation:
    """Where objects come from: the slab caches of ``kernel``, ``None`` for a program, of which nothing is known.

    ``asked`` is what somebody says of the cache of the record that changes. A record that others hold by value costs
    what those cost: the objects of the cache called ``cache``, where that is known and holds it, else of the first.
    """

    kernel: Kernel | None
    containment: Containment
    asked: Asked = NOTHING_ASKED
    cache: str = ""

    def now(self, layout: Layout) -> tuple[MemoryUse, ...]:
        """What objects of the record that changes cost as it is."""
        return () if self.kernel is None else (memory_use(cache_of(self._outer(layout), self.kernel, self.asked)),)

    def then(self, layout: Layout) -> tuple[MemoryUse, ...]:
        """What they cost when it is changed to ``layout``."""
        cache = self.changed(layout)
        return () if cache is None else (memory_use(cache),)

    def changed(self, layout: Layout) -> SlabCache | None:
        """The cache of the changed objects, by the rules: nobody has measured it."""
        if self.kernel is None:
            return None
        outer = around(self._outer(layout), layout, self.containment.layouts)
        return cache_of(outer, replace(self.kernel, measured={}), self.asked)

    def of_another(self, layout: Layout, alignment: int = 0) -> tuple[MemoryUse, ...]:
        """What objects of another record cost, of which an alignment may be asked."""
        cache = None if self.kernel is None else cache_of(layout, self.kernel, Asked(alignment=alignment))
        return () if cache is None else (memory_use(cache),)

    def _outer(self, layout: Layout) -> Layout:
        """The record whose objects are allocated: itself, or one that holds it."""
        if self.kernel is None or self.asked.flags or own_cache(layout, self.kernel, self.asked) is not None:
            return layout
        known = [one for one in self.containment.layouts.variants(layout.name) if one.id == layout.id]
        held = [place for one in known for place in slab_places(one, self.containment, self.kernel) if place.path]
        held.sort(key=lambda place: place.cache.name != self.cache)
        return self.containment.layouts.variants(held[0].outer)[0] if held else layout
