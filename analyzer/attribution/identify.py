# SPDX-License-Identifier: GPL-2.0-or-later
"""Which objects lie on a line, by its address: a snapshot gives start and size, the code confirms the type.

What a snapshot calls by one type is that type. Where a slab cache serves several, all accesses to an object tell it
together, on whichever lines they were seen: of a merged cache, whose types are known, that one is taken which most
instructions agree with; what a general cache serves (``kmalloc-192``) is voted for among all records that fit at the
object's start. An array of records in such an object counts as its elements. Of nested records that one is named which
holds what is hot: an ``address_space`` rather than the ``inode`` that it lies in. docs/attribution.md.

What is left, a program's heap above all, is attributed line by line, the hottest lines only. On the others an
instruction tells where an object begins by the member that it touched on a line that was attributed. Code that acts for
its callers (takes a lock, copies, links) tells nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate

from linesmith.analyzer.attribution.attribute import attribute_at
from linesmith.analyzer.attribution.doubts import BUILDING_BLOCK, NEARLY_ALL, Neighbourhood, as_nested_record, weight
from linesmith.analyzer.attribution.evidence import CodeEvidence
from linesmith.analyzer.attribution.line_members import KNOWN, against_widths, agreement_with, instruction_of
from linesmith.analyzer.attribution.lock import is_helper
from linesmith.analyzer.attribution.variables import TOP, ObjectMap, PlacedObject, heap_area, outside, separate
from linesmith.analyzer.layouts.collection import Layouts, bare_name
from linesmith.analyzer.layouts.containment import Containment, containment_of
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    Access,
    CacheLine,
    Finding,
    Layout,
    LineObject,
    ObjectArea,
    ObjectKind,
    Outcome,
    Profile,
    VariableRow,
)
from linesmith.analyzer.slab.allocation import Kernel, found_cache

# Objects that are voted on, those with the most contended accesses.
MOST_OBJECTS = 4000
# Bytes of the smallest record of which an object may be an array: smaller ones fit any offsets.
LEAST_ELEMENT = 16
BY_VOTE = "start by the snapshot, type by the functions seen"
_AS_OTHERS = "start by the snapshot, type as of other objects of the cache, which the functions seen tell"
ARRAY = "an element of an array"
# Bytes of a record, by the layout's id.
Spot = tuple[int, int]
# An instruction that touches another place more often than this leaves says nothing.
_ALWAYS = 0.9
# So much of what is known of the bytes of an object must agree, and so many instructions.
_AGREE, _FEWEST = 0.8, 2
_BY_CODE = "by instructions that touch it on hotter lines"


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
    named = [one for name in area.types[:1] for one in layouts.variants(bare_name(name)) if one.size]
    # A kernel cuts task_struct to the state that its processor has (arch/x86/kernel/fpu/init.c), in the last member.
    cut = (one for one in named if area.name == one.name and one.members and one.members[-1].offset < area.size)
    return next((one for one in named if one.size <= area.size), next(cut, None))


def with_found_caches(kernel: Kernel, profile: Profile, layouts: Layouts) -> Kernel:
    """The kernel with the slab caches in which objects of its records were found, the one with most objects of each."""
    containment = containment_of(layouts)
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
    met: dict[tuple[int, int], list[tuple[Access, int]]] = {}
    for line in profile.lines:
        for access, place in known.met_on(line):
            if access.kernel in (kernel, None):
                inside = (line.address or 0) + (access.offset or 0) - place.start
                met.setdefault((place.start, place.area.size), []).append((access, inside))
    ordered = sorted(met.items(), key=lambda item: -sum(weight(access) for access, _ in item[1]))
    return tuple(
        CacheLine(0, start, tuple(replace(access, offset=inside) for access, inside in seen), size)
        for (start, size), seen in ordered[:MOST_OBJECTS]
    )


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
            # Of the types that a snapshot names, that which most of the code agrees with; the likeliest of equals.
            named = (record_of(replace(area, types=(name,), merged=()), evidence.containment) for name in area.types)
            fitting = filter(None, named)
            types[start] = max(fitting, key=lambda it: agreement_with(it, 0, one.accesses, evidence)).name
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


# Below this agreement of the code with the snapshot's type, the report says that they disagree.
AGREEMENT = 0.5
_VARIABLES = (ObjectKind.GLOBAL, ObjectKind.PER_CPU)
_TYPELESS = (ObjectKind.STACK, ObjectKind.PAGE_TABLE, ObjectKind.PAGE_CACHE)


def identify(
    line: CacheLine, known: ObjectMap, neighbours: Neighbourhood, votes: Mapping[int, LineObject]
) -> tuple[LineObject, ...]:
    """The objects of the snapshot that the accesses of a line meet, most accessed first; none where none is known.

    ``votes`` are those of the code on whole objects.
    """
    if line.address is None:
        return ()
    met: dict[PlacedObject, list[Access]] = {}
    for access in line.accesses:
        place = None if access.offset is None else known.element_at(line.address + access.offset)
        if place is not None:
            met.setdefault(place, []).append(access)
    ordered = sorted(met.items(), key=lambda item: (-sum(map(weight, item[1])), item[0].start))
    found = []
    for place, seen in ordered:
        one = _object(place, seen, line, neighbours, votes.get(place.start))
        if place.area.kind in _VARIABLES or place.area.detail == ARRAY:
            inside = line.address + one.start - place.start
            one = replace(one, row=_variable_row(place.area, inside))
        found.append(as_nested_record(one, seen, neighbours.evidence.containment))
    return tuple(found)


def _variable_row(area: ObjectArea, inside: int) -> VariableRow:
    """The variable or array that an object is, or is an element or part of, ``inside`` bytes from the begin of one."""
    if area.kind is ObjectKind.SLAB:  # one of many alike: only its place in a pair of lines counts
        return VariableRow(
            f"{area.types[0]}[] in {area.name}", area.address % ADJACENT_LINE_BYTES + inside, area.stride, area.count
        )
    name = area.name.rpartition("[")[0] if area.count > 1 else area.name
    return VariableRow(name, area.address + inside, area.stride, area.count)


def _object(
    place: PlacedObject, seen: Sequence[Access], line: CacheLine, neighbours: Neighbourhood, vote: LineObject | None
) -> LineObject:
    evidence = neighbours.evidence
    area, start = place.area, place.start - (line.address or 0)
    layout = record_of(area, evidence.containment)
    if layout is not None and vote is None:
        return _typed(layout, start, seen, line, area, evidence)
    slab = area.kind is ObjectKind.SLAB
    if not slab and area.kind not in _TYPELESS:
        found = attribute_at(start, area.size, line, neighbours)
        if found is not None and found.outcome is Outcome.RESOLVED and not against_widths(found, seen, evidence):
            return replace(found, reason=BY_VOTE, origin=_origin(area), size=area.size)
        vote = None
    if vote is not None:
        rival = vote.runner_up and _moved(vote.runner_up, start, line)
        return replace(_moved(vote, start, line), runner_up=rival, origin=_origin(area), size=area.size)
    reason = "nothing tells which type the cache serves here" if slab else ""
    variable = area.name if area.kind in _VARIABLES else ""
    untyped = LineObject("", None, start, 1.0, Outcome.NO_TYPE, 1.0, reason=reason, line_bytes=line.bytes)
    return replace(untyped, origin=_origin(area), variable=variable, size=area.size)


def _moved(vote: LineObject, start: int, line: CacheLine) -> LineObject:
    """What was found of an object, seen from a line from which it begins ``start`` bytes on."""
    return replace(vote, start=start + vote.start, line_bytes=line.bytes)


def _typed(
    outer: Layout, start: int, seen: Sequence[Access], line: CacheLine, area: ObjectArea, evidence: CodeEvidence
) -> LineObject:
    agreement = agreement_with(outer, start, seen, evidence)
    reason = "" if agreement >= AGREEMENT else "by its address; the functions seen seem to work on other types"
    return LineObject(
        # A record without a name is that of the variable.
        outer.name or area.name.partition("[")[0],
        outer.id,
        start,
        agreement,
        Outcome.RESOLVED,
        1.0,
        reason=reason,
        origin=_origin(area),
        size=area.size,
        by_address=area.kind is not ObjectKind.HEAP and (len(area.types) == 1 or area.layout is not None),
        line_bytes=line.bytes,
    )


def _origin(area: ObjectArea) -> str:
    """What the snapshot calls the memory: ``slab inode_cache (608 bytes)``, ``per-CPU runqueues of CPU 3``."""
    words = f"{area.kind.value} {area.name}".strip()
    if area.kind is ObjectKind.SLAB:
        words += f" ({area.size} bytes)"
    if area.cpu is not None:
        words += f" of CPU {area.cpu}"
    if area.merged:
        words += f", merged with {', '.join(area.merged)}"
    return f"{words}; {area.detail}" if area.detail else words


def lines_known_to_hold(record: str, profile: Profile, containment: Containment) -> tuple[CacheLine, ...]:
    """The lines on which an object was met that is a ``record``, or holds one by value."""
    variants = containment.layouts.variants(record)
    holders = {place.container for layout in variants for place in containment.places(layout.id)}
    layouts = ((area, record_of(area, containment)) for area in profile.areas)
    known = ObjectMap(area for area, layout in layouts if layout is not None and layout.id in holders)
    return tuple(filter(known.met_on, profile.lines))


def lines_of_unknown_memory(profile: Profile) -> tuple[CacheLine, ...]:
    """The lines of which nothing says what lies on them."""
    known = ObjectMap(profile.areas)
    return tuple(line for line in profile.lines if not known.met_on(line))


def found_objects(profile: Profile, findings: Sequence[Finding], layouts: Layouts) -> tuple[ObjectArea, ...]:
    """The objects of the ``findings`` outside the profile's areas, and those of its other lines that are like them.

    ``findings`` are lines of the profile. The areas do not overlap each other or known objects.
    """
    containment = containment_of(layouts)
    own = [one for one in findings if one.address is not None and one.objects and one.objects[0].outcome in KNOWN]
    known = [area for area in profile.areas if record_of(area, containment) is not None]
    met = tuple(separate(outside(known, own), layouts))
    explained = {one.rank for one in findings}
    left = [it for it in lines_of_unknown_memory(profile) if it.address is not None and it.rank not in explained]
    alike = _alike(left, _spots(own, profile, layouts), layouts)
    return met + tuple(_free(alike, (*profile.areas, *met)))


def _spots(findings: Iterable[Finding], profile: Profile, layouts: Layouts) -> dict[int, Spot]:
    """What each instruction touched on the lines of the findings, by its address, where that is always the same."""
    lines = {line.rank: line for line in profile.lines}
    touched: dict[int, Counter[Spot | None]] = {}
    for finding in findings:
        records = [
            (one.start, layouts.by_id(one.layout))
            for one in finding.objects
            if one.outcome in KNOWN and one.layout is not None
        ]
        for offset, code, count in _own_code(lines[finding.rank]):
            inside = ((it.id, offset - start) for start, it in records if 0 <= offset - start < it.size and it.name)
            touched.setdefault(code, Counter())[next(inside, None)] += count
    likeliest = {code: spots.most_common(1)[0] for code, spots in touched.items()}
    return {
        code: spot for code, (spot, count) in likeliest.items() if spot and count >= _ALWAYS * touched[code].total()
    }


def _own_code(line: CacheLine) -> Iterator[tuple[int, int, int]]:
    """Offset, code address and weight of the accesses whose code does not act for its callers."""
    for access in line.accesses:
        if access.offset is not None and access.code_address is not None and not is_helper(access.function or ""):
            yield access.offset, access.code_address, weight(access)


def _alike(lines: Iterable[CacheLine], spots: Mapping[int, Spot], layouts: Layouts) -> list[ObjectArea]:
    """The objects that most of the instructions known on these lines agree on, those with most accesses first."""
    votes: dict[Spot, Counter[int]] = {}  # by layout and where the object begins, of each instruction
    cast: list[tuple[int, int]] = []  # address and weight
    for line in lines:
        for offset, code, count in _own_code(line):
            if (spot := spots.get(code)) is not None:
                address = (line.address or 0) + offset
                votes.setdefault((spot[0], address - spot[1]), Counter())[code] += count
                cast.append((address, count))
    cast.sort()
    until = [0, *accumulate(count for _, count in cast)]
    found = []
    for (layout, start), vote in sorted(votes.items(), key=lambda item: (-item[1].total(), item[0])):
        size = layouts.by_id(layout).size
        first, last = bisect_left(cast, (start, 0)), bisect_left(cast, (start + size, 0))
        agreed = vote.total() >= _AGREE * (until[last] - until[first])
        if agreed and len(vote) >= _FEWEST and start >= 0 and start + size < TOP:
            found.append(heap_area(layout, start, layouts, _BY_CODE))
    return found


def _free(areas: Iterable[ObjectArea], taken: Iterable[ObjectArea]) -> Iterator[ObjectArea]:
    """Those of the ``areas`` that no other takes bytes of, in their order: of two that overlap the first."""
    claims = sorted((area.address, area.end) for area in taken)
    for area in areas:
        behind = bisect_left(claims, (area.end, 0))
        if not behind or claims[behind - 1][1] <= area.address:
            claims.insert(behind, (area.address, area.end))
            yield area
