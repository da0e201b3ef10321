# SPDX-License-Identifier: GPL-2.0-or-later
"""Which objects lie on a line, by its address: a snapshot gives start and size, the code confirms the type.

What a snapshot calls by one type is that type; what a slab cache that serves several (``kmalloc-512``) holds was voted
for. Of nested records that one is named which holds what is hot: an ``address_space`` rather than the ``inode`` that it
lies in. docs/attribution.md. What is known of their memory tells as well which lines may hold an object of a type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linesmith.analyzer.attribution.attribute import attribute_at
from linesmith.analyzer.attribution.doubts import Neighbourhood, as_nested_record, weight
from linesmith.analyzer.attribution.evidence import CodeEvidence
from linesmith.analyzer.attribution.line_members import against_widths, agreement_with
from linesmith.analyzer.attribution.variables import ObjectMap, PlacedObject
from linesmith.analyzer.attribution.votes import ARRAY, BY_VOTE, record_of
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    Access,
    CacheLine,
    Layout,
    LineObject,
    ObjectArea,
    ObjectKind,
    Outcome,
    Profile,
    VariableRow,
)

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
        found.append(as_nested_record(one, seen, line, neighbours.evidence.containment))
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
        sure = found is not None and found.outcome is Outcome.RESOLVED and not against_widths(found, seen, evidence)
        vote = replace(_moved(found, -start, line), reason=BY_VOTE) if found is not None and sure else None
    if vote is not None:
        rival = vote.runner_up and _moved(vote.runner_up, start, line)
        return replace(_moved(vote, start, line), runner_up=rival, origin=_origin(area), size=area.size)
    return LineObject(
        "",
        None,
        start,
        start % line.bytes,
        1.0,
        Outcome.NO_TYPE,
        1.0,
        reason="nothing tells which type the cache serves here" if slab else "",
        origin=_origin(area),
        variable=area.name if area.kind in _VARIABLES else "",
        size=area.size,
    )


def _moved(vote: LineObject, start: int, line: CacheLine) -> LineObject:
    """What was found of an object, seen from a line from which it begins ``start`` bytes on."""
    return replace(vote, start=start + vote.start, phase=(start + vote.start) % line.bytes)


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
        start % line.bytes,
        agreement,
        Outcome.RESOLVED,
        1.0,
        reason=reason,
        origin=_origin(area),
        size=area.size,
        by_address=len(area.types) == 1 or area.layout is not None,
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
    holders = _holders(record, containment)
    layouts = ((area, record_of(area, containment)) for area in profile.areas)
    known = ObjectMap(area for area, layout in layouts if layout is not None and layout.id in holders)

    def holds(line: CacheLine) -> bool:
        offsets = (access.offset for access in line.accesses if access.offset is not None)
        return known.meets(line) and any(known.at((line.address or 0) + offset) for offset in offsets)

    return tuple(line for line in profile.lines if line.address is not None and holds(line))


def lines_of_unknown_memory(profile: Profile) -> tuple[CacheLine, ...]:
    """The lines of which nothing says what lies on them."""
    known = ObjectMap(profile.areas)

    def unknown(line: CacheLine) -> bool:
        offsets = (access.offset for access in line.accesses if access.offset is not None)
        return line.address is None or not any(known.at(line.address + offset) for offset in offsets)

    return tuple(filter(unknown, profile.lines))


def _holders(record: str, containment: Containment) -> frozenset[int]:
    """The layouts called so, and those of all records that hold one by value."""
    layouts = containment.layouts.variants(record)
    return frozenset(place.container for layout in layouts for place in containment.places(layout.id))
