# SPDX-License-Identifier: GPL-2.0-or-later
"""Which records hold which records by value, and the leaves of each: the index that attribution searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import flatten, leaves_at
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
# Records that the kernel lays over struct page, which describes a page frame: a slab, a folio, a page table. Source:
# include/linux/mm_types.h and mm/slab.h, where static_asserts keep their members in step.
PAGE_OVERLAYS = ("page", "folio", "slab", "ptdesc", "zpdesc")


@dataclass(frozen=True, slots=True)
class Place:
    """A record embedded in ``container`` (a layout id) at ``offset`` bytes; offset 0 of itself at depth 0."""

    container: int
    offset: int


class Containment:
    """Leaves and containers of every layout of one file, computed when first asked for."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts
        self.starts = lru_cache(maxsize=None)(self._starts)
        self.leaves = lru_cache(maxsize=None)(self._leaves)
        self.places = lru_cache(maxsize=None)(self._places)
        self.folded = lru_cache(maxsize=None)(self._folded)
        self.multiplicity = lru_cache(maxsize=None)(self._multiplicity)
        self.elements = lru_cache(maxsize=None)(self._elements)
        self.names_of_holders = lru_cache(maxsize=None)(self._names_of_holders)
        self.embeddings = lru_cache(maxsize=None)(self._embeddings)
        self.overlays = lru_cache(maxsize=None)(self._overlays)
        self.same_memory = lru_cache(maxsize=None)(self._same_memory)

    @cached_property
    def by_last_name(self) -> Mapping[str, tuple[str, ...]]:
        """Names in namespaces or classes, by their last part: ``app::queue<long int>`` by ``queue<long int>``."""
        found: dict[str, list[str]] = {}
        for name in self.layouts.names():
            if (last := _last_part(name)) != name:
                found.setdefault(last, []).append(name)
        return {last: tuple(names) for last, names in found.items()}

    def _starts(self, layout_id: int) -> frozenset[int]:
        """Distinct offsets of the layout's leaves."""
        return frozenset(leaf.offset for leaf in flatten(self.layouts.by_id(layout_id), self.layouts))

    def _leaves(self, layout_id: int, offset: int) -> tuple[Leaf, ...]:
        """Leaves that hold the byte at ``offset``, those that begin there first; empty for holes."""
        found = leaves_at(self.layouts.by_id(layout_id), self.layouts, offset)
        return tuple(sorted(found, key=lambda leaf: (leaf.offset != offset, leaf.size)))

    def _folded(self, layout_id: int, offset: int) -> tuple[int, int]:
        """The layout and the offset, moved to the first element of every array on the way."""
        for member, base in self._way(layout_id, offset):
            begin, step = base + member.offset, _step(member, self.layouts)
            offset = begin + (offset - begin) % step if step else offset
        return layout_id, offset

    def _multiplicity(self, layout_id: int, offset: int) -> int:
        """How many places are folded into one with this one."""
        return prod(max(prod(member.dimensions), 1) for member, _ in self._way(layout_id, offset))

    def _way(self, layout_id: int, offset: int) -> Iterator[tuple[Member, int]]:
        """The members that hold the byte, outermost first, each with the offset of its record, in first elements."""
        inner, base = layout_id, 0
        for _ in range(DEPTH):
            member = _member_at(self.layouts.by_id(inner), offset - base)
            if member is None:
                return
            yield member, base
            begin, step = base + member.offset, _step(member, self.layouts)
            offset = begin + (offset - begin) % step if step else offset
            if member.record is None:
                return
            inner, base = member.record, begin

    def _elements(self, layout_id: int, offset: int) -> tuple[int, ...]:
        """Offsets that are ``offset`` in the first element of an array or in one of those close behind it."""
        end = min(self.layouts.by_id(layout_id).size, offset + ELEMENT_BYTES)
        spot = self.folded(layout_id, offset)
        return tuple(one for one in range(offset, end, ELEMENT_STEP) if self.folded(layout_id, one) == spot) or (
            offset,
        )

    def _names_of_holders(self, layout_id: int) -> frozenset[str]:
        """Names of all records that hold this one by value, at any depth."""
        others = (place.container for place in self.places(layout_id) if place.container != layout_id)
        return frozenset(self.layouts.by_id(one).name for one in others)

    def _embeddings(self, layout_id: int) -> frozenset[tuple[int, int]]:
        """Where other records hold this one by value: (container, offset in bytes)."""
        return frozenset((place.container, place.offset) for place in self.places(layout_id)) - {(layout_id, 0)}

    def _overlays(self, layout_id: int) -> tuple[int, ...]:
        """The other records that name the same memory; they begin where it does."""
        if self.layouts.by_id(layout_id).name not in self._page_overlays:
            return ()
        return tuple(one for one in self._page_overlays.values() if one != layout_id)

    def _same_memory(self, name: str) -> tuple[tuple[str, int], ...]:
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

    def _places(self, layout_id: int) -> tuple[Place, ...]:
        """Every named record that holds this one at any depth, itself first."""
        found = dict.fromkeys([Place(layout_id, 0)])
        frontier = list(found)
        for _ in range(DEPTH):
            frontier = [
                Place(holder.container, holder.offset + inner.offset)
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
def _holders(layouts: Layouts) -> Mapping[int, tuple[Place, ...]]:
    """The places of each record in those that have a member of it, by its id."""
    holders: dict[int, list[Place]] = {}
    known = {one.id: one for one in outlines_of(layouts)}
    for one in known.values():
        for record, offset in _embedded(one, known):
            holders.setdefault(record, []).append(Place(one.id, offset))
    return {record: tuple(places) for record, places in holders.items()}


def _member_at(layout: Layout, offset: int) -> Member | None:
    """The member that holds the byte; of a union's alternatives one that is no array. Open arrays have no end."""
    holding = (one for one in layout.members if one.offset <= offset < one.offset + one.size)
    found = min(holding, key=lambda one: bool(one.dimensions), default=None)
    last = layout.members[-1] if layout.members else None
    return last if found is None and last and _is_open(last) and last.offset <= offset else found


def _is_open(member: Member) -> bool:
    """Whether it is ``name[]`` or ``name[0]``."""
    return member.flexible or (bool(member.dimensions) and not prod(member.dimensions))


def _step(member: Member, layouts: Layouts) -> int:
    """Bytes from one element to the next; 0 for what is no array, and where it is not known."""
    if _is_open(member):
        return layouts.by_id(member.record).size if member.record is not None else member.natural_alignment
    return member.size // max(prod(member.dimensions), 1) if member.dimensions else 0


def _embedded(layout: Layout | Outline, known: Mapping[int, Layout | Outline]) -> Iterator[tuple[int, int]]:
    for member in layout.members:
        if member.record is None:
            continue
        elements = prod(member.dimensions) if member.dimensions else 1
        stride = known[member.record].size
        for index in range(min(max(elements, 1), ARRAY_ELEMENTS)):
            yield member.record, member.offset + index * stride


def _last_part(name: str) -> str:
    """What stands behind the last ``::`` that is not within template arguments."""
    end = len(name)
    while (at := name.rfind("::", 0, end)) >= 0:
        last = name[at + 2 :]
        if last.count("<") == last.count(">"):
            return last
        end = at
    return name
