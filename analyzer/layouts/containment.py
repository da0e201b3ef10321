# SPDX-License-Identifier: GPL-2.0-or-later
"""Which records hold which records by value, and the leaves of each: the index that attribution searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from math import prod
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import flatten, leaves_at, stride
from linesmith.analyzer.layouts.placement import PAGE_OVERLAYS
from linesmith.analyzer.layouts.store import Outline, outlines_of
from linesmith.analyzer.model import Layout, Leaf, Member

# Elements of an embedded array that are tried as places of a record; a hash table's heads all look alike.
ARRAY_ELEMENTS = 16
# Bytes behind the first element of an array in which other elements are tried, and their least distance.
ELEMENT_BYTES = 512
ELEMENT_STEP = 4
# Nesting in real kernels is below 12; the bound keeps damaged input from recursing for ever.
DEPTH = 16
PLACES = 20_000


class EmbeddedPlace(NamedTuple):
    """A record embedded in ``container`` (a layout id) at ``offset`` bytes; offset 0 of itself at depth 0."""

    container: int
    offset: int


_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


def _remembered(
    method: Callable[Concatenate[Containment, _Arguments], _Answer],
) -> cached_property[Callable[_Arguments, _Answer]]:
    """A method whose answers are kept as long as its object."""

    def kept(self: Containment) -> Callable[_Arguments, _Answer]:
        return cast("Callable[_Arguments, _Answer]", lru_cache(maxsize=None)(partial(method, self)))

    return cached_property(kept)


class Containment:
    """Leaves and containers of every layout of one file, computed when first asked for."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts

    @_remembered
    def starts(self, layout_id: int) -> frozenset[int]:
        """Distinct offsets of the layout's leaves."""
        return frozenset(leaf.offset for leaf in flatten(self.layouts.by_id(layout_id), self.layouts))

    @_remembered
    def leaves(self, layout_id: int, offset: int) -> tuple[Leaf, ...]:
        """Leaves that hold the byte at ``offset``, those that begin there first; empty for holes."""
        found = leaves_at(self.layouts.by_id(layout_id), self.layouts, offset)
        return tuple(sorted(found, key=lambda leaf: (leaf.offset != offset, leaf.size)))

    @_remembered
    def holds(self, layout_id: int, offset: int) -> bool:
        """Whether the byte at ``offset`` lies in the layout, not next to it."""
        return 0 <= offset < self.layouts.by_id(layout_id).size

    @_remembered
    def records_at(self, layout_id: int, offset: int) -> frozenset[int]:
        """The records, and others that name the same memory, of which the byte at ``offset`` is a part."""
        entered = {one.record for leaf in self.leaves(layout_id, offset) for one in leaf.entered}
        return frozenset(entered).union(*map(self.overlays, entered))

    @_remembered
    def folded(self, layout_id: int, offset: int) -> tuple[int, int]:
        """The layout and the offset, moved to the first element of every array on the way."""
        for member, base in self._way(layout_id, offset):
            begin, step = base + member.offset, _step(member, self.layouts)
            offset = begin + (offset - begin) % step if step else offset
        return layout_id, offset

    @_remembered
    def multiplicity(self, layout_id: int, offset: int) -> int:
        """How many places are folded into one with this one."""
        return prod(max(prod(member.dimensions), 1) for member, _ in self._way(layout_id, offset))

    def _way(self, layout_id: int, offset: int) -> Iterator[tuple[Member, int]]:
        """The members that hold the byte, outermost first, each with the offset of its record, in first elements.

        Of a union's alternatives it is one that is no array.
        """
        inner, base = layout_id, 0
        for _ in range(DEPTH):
            members, at = self.layouts.by_id(inner).members, offset - base
            holding = [one for one in members if one.offset <= at < one.offset + one.size]
            # Open arrays have no end.
            holding = holding or [one for one in members[-1:] if one.is_open_array and one.offset <= at]
            if not holding:
                return
            member = min(holding, key=lambda one: bool(one.dimensions))
            yield member, base
            begin, step = base + member.offset, _step(member, self.layouts)
            offset = begin + (offset - begin) % step if step else offset
            if member.record is None:
                return
            inner, base = member.record, begin

    @_remembered
    def elements(self, layout_id: int, offset: int) -> tuple[int, ...]:
        """Offsets that are ``offset`` in the first element of an array or in one of those close behind it."""
        end = min(self.layouts.by_id(layout_id).size, offset + ELEMENT_BYTES)
        spot = self.folded(layout_id, offset)
        return tuple(one for one in range(offset, end, ELEMENT_STEP) if self.folded(layout_id, one) == spot) or (
            offset,
        )

    @_remembered
    def names_of_holders(self, layout_id: int) -> frozenset[str]:
        """Names of all records that hold this one by value, at any depth."""
        others = (place.container for place in self.places(layout_id) if place.container != layout_id)
        return frozenset(self.layouts.by_id(one).name for one in others)

    @_remembered
    def embeddings(self, layout_id: int) -> frozenset[tuple[int, int]]:
        """Where other records hold this one by value: (container, offset in bytes)."""
        return frozenset((place.container, place.offset) for place in self.places(layout_id)) - {(layout_id, 0)}

    @_remembered
    def overlays(self, layout_id: int) -> tuple[int, ...]:
        """The other records that name the same memory; they begin where it does."""
        if self.layouts.by_id(layout_id).name not in self._page_overlays:
            return ()
        return tuple(one for one in self._page_overlays.values() if one != layout_id)

    @_remembered
    def same_memory(self, name: str) -> tuple[tuple[str, int], ...]:
        """Records as (name, layout id) that a record called ``name`` may be seen as: itself first, its overlays."""
        variants = self.layouts.variants(name)
        if not variants:
            return ()
        others = ((self.layouts.by_id(one).name, one) for one in self.overlays(variants[0].id))
        return (name, variants[0].id), *others

    @cached_property
    def _page_overlays(self) -> dict[str, int]:
        """The kernel's records that lie over struct page, by name; none where a folio holds no page."""
        found = {name: variants[0].id for name in PAGE_OVERLAYS if (variants := self.layouts.variants(name))}
        return found if "page" in found and "folio" in self.names_of_holders(found["page"]) else {}

    @_remembered
    def places(self, layout_id: int) -> tuple[EmbeddedPlace, ...]:
        """Every named record that holds this one at any depth, itself first."""
        found = dict.fromkeys([EmbeddedPlace(layout_id, 0)])
        frontier = list(found)
        for _ in range(DEPTH):
            frontier = [
                EmbeddedPlace(holder.container, holder.offset + inner.offset)
                for inner in frontier
                for holder in _holders(self.layouts).get(inner.container, ())
            ]
            frontier = [place for place in dict.fromkeys(frontier) if place not in found]
            found.update(dict.fromkeys(frontier))
            if not frontier or len(found) > PLACES:
                break
        return tuple(place for place in found if self.layouts.by_id(place.container).name)

    def direct_holders(self, layout_id: int) -> int:
        """How many records have a member of this type, anonymous ones counted apart."""
        return len({place.container for place in _holders(self.layouts).get(layout_id, ())})

    def holders(self, layout_id: int) -> tuple[Layout, ...]:
        """The named records that hold this one by value and are not held by another that does."""
        ids = dict.fromkeys(place.container for place in self.places(layout_id) if place.container != layout_id)
        return tuple(self.layouts.by_id(one) for one in ids)


@lru_cache(maxsize=4)
def containment_of(layouts: Layouts) -> Containment:
    """Who holds whom, worked out once for all that ask."""
    return Containment(layouts)


@lru_cache(maxsize=4)
def _holders(layouts: Layouts) -> Mapping[int, tuple[EmbeddedPlace, ...]]:
    """The places of each record in those that have a member of it, by its id."""
    holders: dict[int, list[EmbeddedPlace]] = {}
    known = {one.id: one for one in outlines_of(layouts)}
    for one in known.values():
        for record, offset in _embedded(one, known):
            holders.setdefault(record, []).append(EmbeddedPlace(one.id, offset))
    return {record: tuple(places) for record, places in holders.items()}


def _step(member: Member, layouts: Layouts) -> int:
    """Bytes from one element to the next; 0 for what is no array."""
    return stride(member, layouts) if member.dimensions or member.flexible else 0


def _embedded(layout: Layout | Outline, known: Mapping[int, Layout | Outline]) -> Iterator[tuple[int, int]]:
    for member in layout.members:
        if member.record is None:
            continue
        elements = prod(member.dimensions) if member.dimensions else 1
        stride = known[member.record].size
        for index in range(min(max(elements, 1), ARRAY_ELEMENTS)):
            yield member.record, member.offset + index * stride


def holders_of(layouts: Layouts, name: str) -> tuple[Layout, ...]:
    """The named records of an ELF file that embed the record ``name`` by value, those of most units first."""
    contained = containment_of(layouts)
    found = {one.id: one for layout in layouts.variants(name) for one in contained.holders(layout.id) if one.file}
    return tuple(sorted(found.values(), key=lambda one: (-one.units, one.name, one.id)))
