# SPDX-License-Identifier: GPL-2.0-or-later
"""The objects of a profile that hold a record, and where every byte of them goes when the record gets another layout.

A record that keeps its size and alignment leaves all that hold it as they are. One that grows, shrinks or asks for
another alignment has its holders laid out anew, outwards to the object itself. Objects are grouped by how they are laid
out and allocated.

A profile of samples does not say which objects there are: one slab of the cache that holds them stands for all, or the
variable itself, at the phases that the lines show. Objects in one phase are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from operator import attrgetter
from typing import NamedTuple

from linesmith.analyzer.attribution.identify import record_of
from linesmith.analyzer.attribution.variables import SLABS_AT, address_of, outside, separate
from linesmith.analyzer.base.errors import NotSimulated
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import containment_of
from linesmith.analyzer.layouts.gaps import record_alignment, with_inferred_alignment
from linesmith.analyzer.layouts.leaves import leaf_at, leaves_at
from linesmith.analyzer.layouts.placement import BYTE, lay_out, refusal, round_up
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Finding,
    Layout,
    LineObject,
    Member,
    ObjectArea,
    ObjectKind,
    RecordKind,
    SlabPlace,
)
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.analyzer.slab.starts import slab_places

# Nesting in real kernels is below 12; the bounds keep damaged input from recursing or growing for ever.
DEPTH = 32
MOST_PIECES = 1 << 16
# Objects of these kinds begin where their allocator puts them; of all others each is a kind of its own.
_ALLOCATED = (ObjectKind.SLAB,)
# Places of a record in one object: an array of a thousand records is already unusual.
MOST_PLACES = 1 << 12


class MovedBytes(NamedTuple):
    """``size`` bytes that move together from offset ``old`` of the object to offset ``new``; a search has millions."""

    old: int
    size: int
    new: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """All pieces of an object by old offset, with its sizes and alignments (bytes) before and after.

    Bytes that no piece covers (holes, what is allocated behind the record) go with the piece before them.
    """

    pieces: tuple[MovedBytes, ...]
    old_size: int
    new_size: int
    old_alignment: int
    new_alignment: int

    @property
    def fits(self) -> bool:
        """Whether the object can stay at its address."""
        return self.old_size == self.new_size and self.new_alignment <= self.old_alignment

    @property
    def stays(self) -> bool:
        """Whether no byte moves at all."""
        return self.fits and all(piece.old == piece.new for piece in self.pieces)


@lru_cache(maxsize=1 << 12)
def holds(outer: int, layouts: Layouts, ids: frozenset[int], depth: int = 0) -> bool:
    """Whether the record ``outer`` is one of the records ``ids`` or holds one by value at any depth."""
    if outer in ids:
        return True
    inner = {member.record for member in layouts.by_id(outer).members if member.record is not None}
    return depth < DEPTH and any(holds(one, layouts, ids, depth + 1) for one in inner)


@lru_cache(maxsize=1 << 8)
def _explained(outer: int, layouts: Layouts) -> Layout:
    return with_inferred_alignment(layouts.by_id(outer))


def relocation(outer: Layout, layouts: Layouts, after: Mapping[int, Layout]) -> Relocation:
    """What happens to an ``outer`` object when each record whose id is a key of ``after`` gets that layout.

    Raises ``NotSimulated`` where a holder cannot be laid out by C's rules (it is packed, or a member overlaps).
    """
    ids, explained = frozenset(after), _explained(outer.id, layouts)
    if not holds(outer.id, layouts, ids):
        alignment = record_alignment(explained)
        return Relocation((MovedBytes(0, outer.size, 0),), outer.size, outer.size, alignment, alignment)
    inner: dict[int, Relocation] = {}  # of the members that are or hold a changed record, by position
    for at, member in enumerate(outer.members if outer.id not in after else ()):
        if member.record is not None and holds(member.record, layouts, ids):
            inner[at] = relocation(layouts.by_id(member.record), layouts, after)
    changed = after[outer.id] if outer.id in after else holder_around(explained, inner)
    pairs = _matched(outer.members, changed.members)
    moved = [piece for position, (old, new) in enumerate(pairs) for piece in _pieces(old, new, inner.get(position))]
    if len(moved) > MOST_PIECES:
        raise NotSimulated(f"{outer.title} has {len(moved)} movable parts, more than can be simulated")
    alignments = record_alignment(explained), record_alignment(changed)
    return Relocation(_merged(moved, outer.size, changed.size), outer.size, changed.size, *alignments)


def holder_around(outer: Layout, inner: Mapping[int, Relocation]) -> Layout:
    """``outer`` around members of other sizes, by position; itself when all of them fit where they are.

    Raises ``NotSimulated`` where it cannot be laid out by C's rules.
    """
    if all(one.fits for one in inner.values()):
        return outer
    resized = list(outer.members)
    for position, one in inner.items():
        if not one.fits:
            member = resized[position]
            alignment = max(member.natural_alignment, one.new_alignment)
            resized[position] = replace(member, size=elements(member) * _stride(one), natural_alignment=alignment)
    if outer.kind is not RecordKind.UNION and (reason := refusal(outer)):
        raise NotSimulated(f"{outer.title} cannot be laid out around a member of another size: {reason}")
    return lay_out(outer, tuple(resized))


def elements(member: Member) -> int:
    """How many elements an array has; 1 for a member that is none."""
    return prod(member.dimensions) if member.dimensions else 1


def _stride(inner: Relocation) -> int:
    """Bytes from one element of an array to the next, after the change."""
    aligned = inner.new_alignment > inner.old_alignment
    return round_up(inner.new_size, inner.new_alignment) if aligned else inner.new_size


def _matched(before: Iterable[Member], after: Iterable[Member]) -> Iterator[tuple[Member, Member]]:
    """Each member of ``before`` with itself in ``after``; those that look alike keep their order."""
    looks = attrgetter("name", "type", "declarator", "bit_size", "record", "line")
    waiting: dict[tuple[object, ...], list[Member]] = {}
    for member in after:
        waiting.setdefault(looks(member), []).append(member)
    for member in before:
        yield member, waiting[looks(member)].pop(0)


def _pieces(old: Member, new: Member, inner: Relocation | None) -> Iterator[MovedBytes]:
    """What of a member moves together: all of it, or the pieces of each element of a changed record."""
    if inner is not None and not inner.stays:
        for element in range(elements(old)):
            here, there = old.offset + element * inner.old_size, new.offset + element * _stride(inner)
            yield from (MovedBytes(here + one.old, one.size, there + one.new) for one in inner.pieces)
        return
    start, behind = old.first_bit // BYTE, old.used_end
    if behind > start:
        yield MovedBytes(start, behind - start, new.first_bit // BYTE)


def _merged(pieces: Iterable[MovedBytes], old_size: int, new_size: int) -> tuple[MovedBytes, ...]:
    """The pieces by old offset without overlaps, holes filled; the first of two that claim a byte has it."""
    whole: list[MovedBytes] = []
    end = shift = 0
    for piece in (*sorted(pieces, key=lambda one: one.old), MovedBytes(old_size, 0, new_size)):
        if piece.old > end:
            _append(whole, end, piece.old, min(shift, new_size - piece.old))
            end = piece.old
        if piece.old + piece.size > end:
            shift = piece.new - piece.old
            _append(whole, end, piece.old + piece.size, shift)
            end = piece.old + piece.size
    return tuple(whole)


def _append(whole: list[MovedBytes], start: int, end: int, shift: int) -> None:
    """Add bytes ``start`` to ``end``, which move by ``shift``, to the piece before them when it moves as far."""
    last = whole[-1] if whole else None
    if last and last.old + last.size == start and last.new - last.old == shift:
        whole[-1] = MovedBytes(last.old, end - last.old, last.new)
    elif end > start:
        whole.append(MovedBytes(start, end - start, start + shift))


@dataclass(frozen=True, slots=True)
class SceneKind:
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
class TraceScene:
    """All objects that hold ``record``; ``doubtful`` names those whose memory may hold other types as well.

    ``named`` are members that findings name: of a union's alternatives it is the first of them.
    """

    record: Layout
    kinds: tuple[SceneKind, ...]
    doubtful: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def objects(self) -> int:
        """How many objects there are."""
        return sum(area.count for kind in self.kinds for area in kind.areas)

    def member(self, kind: int, offset: int, layouts: Layouts) -> str:
        """What lies at byte ``offset`` of an object: a member of the record, else of the object around it.

        A kind behind the last is memory next to the objects.
        """
        if kind >= len(self.kinds):
            return "memory beside"
        outer, within = self.kinds[kind].outer, self.within(kind, offset)
        if within is not None:
            leaves = leaves_at(self.record, layouts, within)
            tops = [leaf.path.partition(".")[0].partition("[")[0] for leaf in leaves]
            return next((name for name in (*self.named, *tops) if name in tops), f"hole at {within}")
        leaf = leaf_at(outer, layouts, offset)
        return f"{outer.name}.{leaf.path}" if leaf else f"{outer.name}, byte {offset}"

    def within(self, kind: int, offset: int) -> int | None:
        """The byte of the record at byte ``offset`` of an object, ``None`` for what is around or next to it."""
        places = self.kinds[kind].places if kind < len(self.kinds) else ()
        return next((offset - place for place in places if place <= offset < place + self.record.size), None)


def scene(record: Layout, areas: Iterable[ObjectArea], layouts: Layouts, named: Iterable[str] = ()) -> TraceScene:
    """The objects of ``areas`` that are a ``record`` or hold one by value; there may be none."""
    grouped: dict[tuple[ObjectKind, str, int, int, int | None], list[ObjectArea]] = {}
    outers: dict[tuple[ObjectKind, str, int, int, int | None], Layout] = {}
    containment = containment_of(layouts)
    for area in areas:
        outer = record_of(area, containment)
        if outer is None or not holds(outer.id, layouts, frozenset((record.id,))):
            continue
        row, count = area, area.size // outer.size
        if area.kind not in _ALLOCATED and area.count <= 1 < count and area.size % outer.size == 0:
            row = replace(area, size=outer.size, stride=outer.size, count=count)  # an array of records
        alone = None if row.kind in _ALLOCATED else row.address
        key = row.kind, row.name, row.stride, outer.id, alone
        grouped.setdefault(key, []).append(row)
        outers[key] = outer
    kinds = []
    for key, group in grouped.items():
        places = tuple(sorted(set(places_in(outers[key], record.id, layouts))))[:MOST_PLACES]
        by_address = tuple(sorted(group, key=lambda area: area.address))
        kinds.append(SceneKind(group[0].name, outers[key], by_address, places))
    doubtful = dict.fromkeys(kind.name for kind in kinds if len(kind.areas[0].types) > 1 or kind.areas[0].merged)
    return TraceScene(record, tuple(kinds), tuple(doubtful), tuple(dict.fromkeys(named)))


def places_in(outer: Layout, record: int, layouts: Layouts, depth: int = 0) -> Iterator[int]:
    """The bytes of ``outer`` at which a record with this id begins."""
    if outer.id == record:
        yield 0
    elif depth < DEPTH and holds(outer.id, layouts, frozenset((record,))):
        for member in outer.members:
            inner = layouts.by_id(member.record) if member.record is not None else None
            if inner is None or not holds(inner.id, layouts, frozenset((record,))):
                continue
            for element in range(min(elements(member), MOST_PLACES)):
                here = member.offset + element * inner.size
                yield from (here + place for place in places_in(inner, record, layouts, depth + 1))


def sampled_scene(
    findings: Sequence[Finding],
    record: Layout,
    layouts: Layouts,
    kernel: Kernel | None,
    areas: Sequence[ObjectArea] = (),
) -> TraceScene:
    """The objects of ``findings``, whose first object is or holds ``record``; ``kernel`` is ``None`` for a program.

    Of a profile that knows objects, its ``areas``, all that are or hold the record, and where the findings are of
    others, like those of a program's heap, these as well.
    """
    if given := [area for area in areas if area.kind is not ObjectKind.HEAP]:
        known = [area for kind in scene(record, given, layouts).kinds for area in kind.areas]
        return scene(record, (*given, *separate(outside(known, findings), layouts)), layouts)
    objects = [finding.objects[0] for finding in findings]
    fixed = (one.row or one.variable or one.origin.startswith((ObjectKind.GLOBAL, ObjectKind.HEAP)) for one in objects)
    if kernel is None or areas or all(fixed):
        return scene(record, separate(findings, layouts), layouts)
    outer = layouts.by_id(objects[0].layout or 0)
    return scene(record, (_slab(outer, objects, layouts, kernel),), layouts)


def addresses(findings: Sequence[Finding], here: TraceScene, layouts: Layouts) -> tuple[int, ...]:
    """Where in the scene the first object of each finding begins; findings of objects in one phase have the same."""
    return tuple(_address(finding, here, layouts) for finding in findings)


def _slab(outer: Layout, objects: Sequence[LineObject], layouts: Layouts, kernel: Kernel) -> ObjectArea:
    """One slab of the cache in which objects have most of the phases found."""
    found_in = slab_places(outer, containment_of(layouts), kernel)
    found = {one.phase for one in objects}

    def fitness(place: SlabPlace) -> tuple[bool, int, bool]:
        named = any(place.cache.name in one.origin.split() for one in objects)
        return named, len(found.intersection(one.phase for one in place.phases)), not place.path

    place = max(found_in, key=fitness)
    geometry = place.cache.geometry
    # Where no object of the slab begins as they do, its first one does.
    shift = 0 if fitness(place)[1] else (objects[0].phase - geometry.lead - place.offset) % CACHE_LINE_BYTES
    return ObjectArea(
        ObjectKind.SLAB,
        place.cache.name,
        SLABS_AT + geometry.lead + shift,
        geometry.object_bytes,
        geometry.stride,
        geometry.objects,
        (f"struct {place.outer}",),
    )


def _address(finding: Finding, here: TraceScene, layouts: Layouts) -> int:
    kind = here.kinds[0]
    if not kind.slab:
        return address_of(finding)
    area, phase = kind.areas[0], finding.objects[0].phase
    inside = next(places_in(kind.outer, finding.objects[0].layout or 0, layouts), 0)
    starts = [area.address + number * area.stride + inside for number in range(area.count)]
    fitting = [start for start in starts if start % CACHE_LINE_BYTES == phase] or starts
    # Not the first of the slab where there are others: what lies in front of it is an object as well.
    return fitting[min(1, len(fitting) - 1)]
