# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the objects of a record lie in slabs: by themselves, and inside the objects that hold them by value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.containment import Containment, Place
from linesmith.analyzer.model import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES, Layout, SlabCache, SlabPlace
from linesmith.analyzer.slab.allocation import NOTHING_ASKED, Asked, Kernel, cache_of, own_cache
from linesmith.analyzer.slab.footprint import phase_counts


@dataclass(frozen=True, slots=True)
class TypeSlabs:
    """A record with all its places in slabs; ``own`` is the one that it fills by itself, if there is one."""

    layout: Layout
    places: tuple[SlabPlace, ...]

    @property
    def own(self) -> SlabPlace | None:
        """Where objects are such a record, not a part of another."""
        return next((place for place in self.places if not place.path), None)


def together(types: Sequence[TypeSlabs]) -> tuple[SlabPlace, ...]:
    """The places whose costs add up where one of each type goes with the others; none if that makes no sense."""
    own = tuple(place for one in types if (place := one.own) is not None)
    return own if len(types) > 1 and len(own) == len(types) else ()


def slab_places(
    layout: Layout, containment: Containment, kernel: Kernel, asked: Asked = NOTHING_ASKED
) -> tuple[SlabPlace, ...]:
    """Every cache whose objects are such a record or hold one, itself first; there is always one.

    What is ``asked`` speaks of the record itself. That it comes from kmalloc() is assumed only of a record that no
    known cache holds.
    """
    held = tuple(_held(layout, containment, kernel))
    own = own_cache(layout, kernel, asked)
    if own is None and not held:
        own = cache_of(layout, kernel, asked)
    return held if own is None else (_place(own, layout, "", 0), *held)


def _held(layout: Layout, containment: Containment, kernel: Kernel) -> Iterator[SlabPlace]:
    seen: set[tuple[str, int]] = set()
    for place in containment.places(layout.id):
        outer = containment.layouts.by_id(place.container)
        if outer.id == layout.id or (outer.name, place.offset) in seen:
            continue
        cache = own_cache(outer, kernel)
        if cache is not None:
            seen.add((outer.name, place.offset))
            yield _place(cache, outer, _path(layout, place, containment), place.offset)


def _place(cache: SlabCache, outer: Layout, path: str, offset: int) -> SlabPlace:
    near = phase_counts(cache.geometry, CACHE_LINE_BYTES, offset)
    far = phase_counts(cache.geometry, ADJACENT_LINE_BYTES, offset)
    return SlabPlace(cache, outer.name, path, offset, near, far)


def _path(layout: Layout, place: Place, containment: Containment) -> str:
    """What the outer record calls the place of the inner one; its offset where leaves do not lead there."""
    for leaf in containment.leaves(place.container, place.offset):
        for entered in leaf.entered:
            if (entered.record, entered.offset) == (layout.id, place.offset):
                return entered.path
    return f"+{place.offset:#x}"
