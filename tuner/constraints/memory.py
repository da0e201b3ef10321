# SPDX-License-Identifier: GPL-2.0-or-later
"""How many bytes a record may have: what it may grow by, what fits into its slabs, and a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import FactKind, Layout, SlabGeometry, SourceFact
from linesmith.analyzer.slab import Kernel, cache_of
from linesmith.tuner.constraints.elsewhere import only_here
from linesmith.tuner.constraints.linux import linux_facts
from linesmith.tuner.premises import Premises

_POINTER_BYTES = 8
_GENERAL = "kmalloc-"


def facts_of(layout: Layout, premises: Premises, layouts: Layouts) -> tuple[SourceFact, ...]:
    """All facts of the record under these premises, every limit in bytes."""
    blocks = (only_here(layout, layouts, one.layouts, one.title) for one in premises.configurations)
    told = (*premises.facts.of(layout.name), *linux_facts(layout), *chain.from_iterable(blocks))
    return (*(_in_bytes(fact, layout, premises.kernel) for fact in told), *_unasked(layout, premises))


def _in_bytes(fact: SourceFact, layout: Layout, kernel: Kernel | None) -> SourceFact:
    if fact.kind is FactKind.PAGE:
        most = kernel.machine.page_bytes if kernel else layout.size
        return replace(fact, kind=FactKind.SIZE, bytes=most)
    if fact.kind is FactKind.SLAB:
        most = room_in_slabs(layout, kernel) if kernel else layout.size
        return replace(fact, kind=FactKind.SIZE, bytes=most)
    return fact


def _unasked(layout: Layout, premises: Premises) -> Iterator[SourceFact]:
    """What the premises allow; where they do not say, an object that fits into a page of the kernel still does."""
    if premises.growth is not None:
        reason = f"it may grow by {premises.growth} bytes" if premises.growth else "it may not grow"
        yield SourceFact(FactKind.SIZE, (), reason, "--growth", layout.size + premises.growth)
    elif premises.kernel is not None and layout.size <= premises.kernel.machine.page_bytes:
        reason = "its objects fit into a page each, and a larger one needs several that lie side by side"
        yield SourceFact(FactKind.SIZE, (), reason, "mm/slub.c, calculate_order()", premises.kernel.machine.page_bytes)


def room_in_slabs(layout: Layout, kernel: Kernel) -> int:
    """The largest size in bytes of which as many objects fit into a slab as do now."""
    cache = cache_of(layout, kernel)
    geometry = cache.geometry
    if cache.name.startswith(_GENERAL):
        return max(geometry.object_bytes, layout.size)
    room = (geometry.slab_bytes - geometry.lead) // max(geometry.objects, 1)
    room -= room % max(geometry.alignment, 1)
    return max(room - _behind(geometry), layout.size)


def _behind(geometry: SlabGeometry) -> int:
    """Bytes behind each object that the allocator's free pointer needs."""
    pointer = geometry.free_pointer
    return _POINTER_BYTES if pointer is not None and pointer >= geometry.object_bytes else 0
