# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects of a profile that hold a record, grouped by how they are laid out and allocated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.geometry import leaf_at
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, ObjectArea, ObjectKind
from linesmith.tuner.relocation import DEPTH, elements, holds

# Objects of these kinds begin where their allocator puts them; of all others each is a kind of its own.
_ALLOCATED = (ObjectKind.SLAB,)
# Places of a record in one object: an array of a thousand records is already unusual.
MOST_PLACES = 1 << 12


@dataclass(frozen=True, slots=True)
class Kind:
    """Objects laid out alike, those of one slab cache or one variable; each area is a row of ``stride`` bytes.

    ``outer`` is the record they are, ``places`` the bytes of an object at which the scene's record begins.
    """

    name: str
    outer: Layout
    areas: tuple[ObjectArea, ...]
    places: tuple[int, ...]

    @property
    def slab(self) -> bool:
        """Whether an allocator decides where the objects are."""
        return self.areas[0].kind in _ALLOCATED

    @property
    def stride(self) -> int:
        """Bytes from one object to the next."""
        return self.areas[0].stride


@dataclass(frozen=True, slots=True)
class Scene:
    """All objects that hold ``record``; ``doubtful`` names those whose memory may hold other types as well."""

    record: Layout
    kinds: tuple[Kind, ...]
    doubtful: tuple[str, ...] = ()

    @property
    def objects(self) -> int:
        """How many objects there are."""
        return sum(area.count for kind in self.kinds for area in kind.areas)

    def member(self, kind: int, offset: int, layouts: Layouts) -> str:
        """What lies at byte ``offset`` of an object: a member of the record, else of the object around it.

        A kind behind the last is memory beside the objects.
        """
        if kind >= len(self.kinds):
            return "memory beside"
        outer = self.kinds[kind].outer
        for place in self.kinds[kind].places:
            if place <= offset < place + self.record.size:
                leaf = leaf_at(self.record, layouts, offset - place)
                return leaf.path.partition(".")[0].partition("[")[0] if leaf else f"hole at {offset - place}"
        leaf = leaf_at(outer, layouts, offset)
        return f"{outer.name}.{leaf.path}" if leaf else f"{outer.name}, byte {offset}"


def scene(record: Layout, areas: Iterable[ObjectArea], layouts: Layouts) -> Scene:
    """The objects of ``areas`` that are a ``record`` or hold one by value; there may be none."""
    grouped: dict[tuple[object, ...], list[ObjectArea]] = {}
    outers: dict[tuple[object, ...], Layout] = {}
    for area in areas:
        outer = _outer(area, record, layouts)
        if outer is not None:
            row = _row(area, outer)
            key = (row.kind, row.name, row.stride, outer.id, None if row.kind in _ALLOCATED else row.address)
            grouped.setdefault(key, []).append(row)
            outers[key] = outer
    kinds = tuple(_kind(outers[key], group, record, layouts) for key, group in grouped.items())
    doubtful = dict.fromkeys(kind.name for kind in kinds if len(kind.areas[0].types) > 1 or kind.areas[0].merged)
    return Scene(record, kinds, tuple(doubtful))


def _kind(outer: Layout, areas: Sequence[ObjectArea], record: Layout, layouts: Layouts) -> Kind:
    places = tuple(sorted(set(_places(outer, record.id, layouts, 0))))[:MOST_PLACES]
    return Kind(areas[0].name, outer, tuple(sorted(areas, key=lambda area: area.address)), places)


def _outer(area: ObjectArea, record: Layout, layouts: Layouts) -> Layout | None:
    """The likeliest type of the area's objects, if it holds the record and fits."""
    for name in area.types[:1]:
        for layout in layouts.variants(name.split()[-1]):
            if 0 < layout.size <= area.size and holds(layout, layouts, frozenset((record.id,))):
                return layout
    return None


def _row(area: ObjectArea, outer: Layout) -> ObjectArea:
    """The area with an array of records as that many objects."""
    count = area.size // outer.size
    if area.kind in _ALLOCATED or area.count > 1 or count < 2 or area.size % outer.size:
        return area
    return replace(area, size=outer.size, stride=outer.size, count=count)


def _places(outer: Layout, record: int, layouts: Layouts, depth: int) -> Iterator[int]:
    if outer.id == record:
        yield 0
    elif depth < DEPTH and holds(outer, layouts, frozenset((record,))):
        for member in outer.members:
            inner = layouts.by_id(member.record) if member.record is not None else None
            if inner is None or not holds(inner, layouts, frozenset((record,))):
                continue
            for element in range(min(elements(member), MOST_PLACES)):
                here = member.offset + element * inner.size
                yield from (here + place for place in _places(inner, record, layouts, depth + 1))
