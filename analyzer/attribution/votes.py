# SPDX-License-Identifier: GPL-2.0-or-later
"""Which record each slab object of a profile is where its cache serves several: one answer for all lines and commands.

All accesses to an object tell it together, on whichever lines they were seen. Of a merged cache, whose types are known,
that one is taken which most instructions agree with; what a general cache serves (``kmalloc-192``) is voted for among
all records that fit at the object's start. An array of records in such an object counts as its elements.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from linesmith.analyzer.attribution.attribute import attribute_at
from linesmith.analyzer.attribution.doubts import BUILDING_BLOCK, NEARLY_ALL, Neighbourhood, weight
from linesmith.analyzer.attribution.evidence import CodeEvidence
from linesmith.analyzer.attribution.line_members import KNOWN, against_widths, agreement_with, instruction_of
from linesmith.analyzer.attribution.variables import ObjectMap
from linesmith.analyzer.layouts.collection import Layouts, bare_name
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import Access, CacheLine, Layout, LineObject, ObjectArea, ObjectKind, Outcome, Profile
from linesmith.analyzer.slab.allocation import Kernel, found_cache

# Objects that are voted on, those with the most contended accesses.
MOST_OBJECTS = 4000
# Bytes of the smallest record of which an object may be an array: smaller ones fit any offsets.
LEAST_ELEMENT = 16
BY_VOTE = "start by the snapshot, type by the functions seen"
_AS_OTHERS = "start by the snapshot, type as of other objects of the cache, which the functions seen tell"
ARRAY = "an element of an array"


@dataclass(frozen=True, slots=True)
class IdentifiedObjects:
    """``areas`` are the objects of a profile, those of one record an area of their own: see ``record_of``.

    ``votes`` are what the code says of single objects by their first address, sure or not; ``start`` counts from there.
    """

    areas: tuple[ObjectArea, ...] = ()
    votes: Mapping[int, LineObject] = field(default_factory=dict)


def record_of(area: ObjectArea, containment: Containment) -> Layout | None:
    """The record that the objects of an area are, the likeliest of several; ``None`` where nothing says so."""
    layouts = containment.layouts
    if area.layout is not None:
        with suppress(KeyError):
            described = layouts.by_id(area.layout)
            return described if 0 < described.size <= area.size else None
    fitting = (one for name in area.types[:1] for one in layouts.variants(bare_name(name)) if 0 < one.size <= area.size)
    return next(fitting, None)


def with_found_caches(kernel: Kernel, profile: Profile, layouts: Layouts) -> Kernel:
    """The kernel with the slab caches in which objects of its records were found, the one with most objects of each."""
    containment = Containment(layouts)
    counted: dict[str, Counter[tuple[str, int, int]]] = {}
    records: dict[str, Layout] = {}
    for area in profile.areas:
        layout = record_of(area, containment) if area.kind is ObjectKind.SLAB and area.detail != ARRAY else None
        if layout is not None:
            records[layout.name] = layout
            counted.setdefault(layout.name, Counter())[area.name, area.size, area.stride] += area.count
    places = {name: seen.most_common(1)[0][0] for name, seen in counted.items()}
    return replace(kernel, found={name: found_cache(records[name], *place, kernel) for name, place in places.items()})


def open_objects(profile: Profile, kernel: bool) -> tuple[CacheLine, ...]:
    """The slab objects of which a snapshot does not name just one type, most contended first, each as one long line.

    Accesses are those of kernel code for a ``kernel``, of other code for a program.
    """
    several = (one for one in profile.areas if len(_of_its_own(one).types) != 1)
    known = ObjectMap(area for area in several if area.kind is ObjectKind.SLAB)
    met: dict[tuple[int, int], list[Access]] = {}
    for line in profile.lines:
        for access in line.accesses:
            if line.address is None or access.offset is None or access.kernel not in (kernel, None):
                continue
            place = known.at(line.address + access.offset)
            if place is not None:
                inside = line.address + access.offset - place.start
                met.setdefault((place.start, place.area.size), []).append(replace(access, offset=inside))
    lines = (CacheLine(0, start, tuple(seen), size) for (start, size), seen in met.items())
    return tuple(sorted(lines, key=lambda one: -sum(map(weight, one.accesses)))[:MOST_OBJECTS])


def identified(profile: Profile, objects: Sequence[CacheLine], evidence: CodeEvidence) -> IdentifiedObjects:
    """What each of the ``objects`` is; ``evidence`` is that of the functions that touch them."""
    known, neighbours = ObjectMap(profile.areas), Neighbourhood((), evidence, None)
    votes: dict[int, LineObject] = {}
    types: dict[int, str] = {}
    elements: dict[int, Layout] = {}
    sure: set[tuple[str, str]] = set()
    placed = [(one, place) for one in objects if (place := known.at(one.address or 0)) is not None]
    for one, place in placed:
        start, area = place.start, place.area
        if record_of(_of_its_own(area), evidence.containment) is not None:
            types[start] = _agreed(area, one, evidence).name
        elif (vote := attribute_at(0, one.bytes, one, neighbours)) is not None:
            if doubt := against_widths(vote, one.accesses, evidence) if vote.outcome in KNOWN else "":
                vote = replace(vote, outcome=Outcome.CANNOT_TELL, reason=doubt)
            votes[start] = vote
            if vote.outcome is Outcome.RESOLVED and vote.start == 0:
                types[start], votes[start] = vote.type, replace(vote, reason=BY_VOTE, containers=())
                sure.add((area.name, vote.type))
    for one, place in placed:
        start, found = place.start, votes.get(place.start)
        if start in types:
            continue
        if found is not None and found.start == 0 and (place.area.name, found.type) in sure:
            types[start] = found.type
            votes[start] = replace(found, outcome=Outcome.RESOLVED, reason=_AS_OTHERS, containers=())
        elif (element := _element(one, evidence)) is not None:
            elements[start] = element
            votes.pop(start, None)
    return IdentifiedObjects(tuple(_refined(profile.areas, types, elements)), votes)


def _of_its_own(area: ObjectArea) -> ObjectArea:
    """The area; those of the others do not tell what a cache holds that is merged with them and is of no known type."""
    return replace(area, types=()) if area.types and area.types[0] in area.merged else area


def _agreed(area: ObjectArea, one: CacheLine, evidence: CodeEvidence) -> Layout:
    """Of the types that a snapshot names, that which most of the code agrees with; the likeliest of equals."""
    named = (record_of(replace(area, types=(name,), merged=()), evidence.containment) for name in area.types)
    fitting = [layout for layout in named if layout is not None]
    return max(fitting, key=lambda layout: agreement_with(layout, 0, one.accesses, evidence))


def _element(one: CacheLine, evidence: CodeEvidence) -> Layout | None:
    """The record of which the object is an array, by instructions that touch several elements; else ``None``."""
    layouts, total = evidence.containment.layouts, 0
    seen: Counter[int] = Counter()
    numbers: dict[int, set[int]] = {}
    for access in one.accesses:
        touches = instruction_of(access, evidence)
        if touches is None:
            continue
        total += weight(access)
        for record, at in touches.spots:
            number, rest = divmod((access.offset or 0) - at, layouts.by_id(record).size or 1)
            if number >= 0 and not rest:
                seen[record] += weight(access)
                numbers.setdefault(record, set()).add(number)

    def fits(record: int) -> bool:
        size = layouts.by_id(record).size
        block = evidence.containment.direct_holders(record) >= BUILDING_BLOCK or not layouts.by_id(record).name
        return LEAST_ELEMENT <= size <= one.bytes // 2 and not block and len(numbers[record]) > 1

    fitting = [layouts.by_id(record) for record, count in seen.items() if count >= NEARLY_ALL * total and fits(record)]
    return max(fitting, key=lambda layout: layout.size, default=None)


def _refined(
    areas: Sequence[ObjectArea], types: Mapping[int, str], elements: Mapping[int, Layout]
) -> Iterator[ObjectArea]:
    """The areas, objects by objects where ``types`` or ``elements`` tell more of those that begin there."""
    begin = sorted({*types, *elements})
    for area in map(_of_its_own, areas):
        here = begin[bisect_left(begin, area.address) : bisect_left(begin, area.end)]
        more = [one for one in here if one in elements or (types[one],) != area.types[:1]]
        named = {(one - area.address) // area.stride: (types[one],) if one in types else () for one in more}
        for piece in area.split(named):
            element = elements.get(piece.address)
            if element is None:
                yield piece
                continue
            size, count = element.size, piece.size // element.size
            yield replace(piece, size=size, stride=size, count=count, types=(element.name,), merged=(), detail=ARRAY)
