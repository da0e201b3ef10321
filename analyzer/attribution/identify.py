# SPDX-License-Identifier: GPL-2.0-or-later
"""Which objects lie on a line, by its address: a snapshot gives start and size, the code confirms the type.

What a snapshot calls by one type is that type; a slab cache that serves several (``kmalloc-512``) leaves the
type to a vote of the functions seen, among the types that fit at the known start. Of nested records the one is
named that holds what is hot: an ``address_space`` rather than the ``inode`` around it. docs/attribution.md. What
the snapshot says of their memory tells as well which lines of a recording may hold an object of a type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from linesmith.analyzer.attribution.attribute import attribute_at
from linesmith.analyzer.attribution.doubts import Neighbourhood, as_nested_record, weight
from linesmith.analyzer.attribution.evidence import CodeEvidence, evidence_of
from linesmith.analyzer.attribution.line_members import KNOWN, agrees, instruction_of
from linesmith.analyzer.attribution.lock import has_lock, takes_lock
from linesmith.analyzer.attribution.variables import ObjectMap, PlacedObject
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.model import (
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
    line: CacheLine, known: ObjectMap, neighbours: Neighbourhood, wanted: str | None
) -> tuple[LineObject, ...]:
    """The objects of the snapshot that the accesses of a line meet, most accessed first; none where none is known.

    Of nested records a ``wanted`` one is named, if there is one.
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
        one = _object(place, seen, line, neighbours)
        if place.area.kind in _VARIABLES:
            inside = line.address + one.start - place.start
            one = replace(one, row=_variable_row(place.area, inside))
        found.append(as_nested_record(one, seen, line, neighbours.evidence.containment, wanted))
    return tuple(found)


def _variable_row(area: ObjectArea, inside: int) -> VariableRow:
    """The variable that an object is, or is an element or part of, ``inside`` bytes from the begin of one."""
    name = area.name.rpartition("[")[0] if area.count > 1 else area.name
    return VariableRow(name, area.address + inside, area.stride, area.count)


def _object(place: PlacedObject, seen: Sequence[Access], line: CacheLine, neighbours: Neighbourhood) -> LineObject:
    evidence = neighbours.evidence
    area, start = place.area, place.start - (line.address or 0)
    layout = _only_type(area, evidence.containment)
    if layout is not None:
        return _typed(layout, start, seen, line, area, evidence)
    voted = attribute_at(start, area.size, line, neighbours)
    sure = voted is not None and voted.outcome is Outcome.RESOLVED
    slab = area.kind is ObjectKind.SLAB
    if voted is not None and (sure or slab) and area.kind not in _TYPELESS:
        if voted.layout is None or voted.outcome not in KNOWN:
            return replace(voted, origin=_origin(area), size=area.size)
        layout = evidence.containment.layouts.by_id(voted.layout)
        typed = _typed(layout, voted.start, seen, line, area, evidence)
        by_vote = replace(typed, score=voted.score, margin=voted.margin, runner_up=voted.runner_up)
        return replace(by_vote, reason="start by the snapshot, type by the functions seen", by_address=False)
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


def _only_type(area: ObjectArea, containment: Containment) -> Layout | None:
    """The layout of the only type that a snapshot names, or DWARF, if the ELF file has one that fits."""
    if area.layout is not None:
        with suppress(KeyError):
            described = containment.layouts.by_id(area.layout)
            return described if described.size <= area.size else None
    if len(area.types) != 1:
        return None
    fitting = (layout for layout in containment.layouts.variants(area.types[0]) if layout.size <= area.size)
    return next(fitting, None)


def _typed(
    outer: Layout, start: int, seen: Sequence[Access], line: CacheLine, area: ObjectArea, evidence: CodeEvidence
) -> LineObject:
    agreement = _agreement(outer, start, seen, evidence)
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
        by_address=True,
    )


def _agreement(outer: Layout, start: int, seen: Sequence[Access], evidence: CodeEvidence) -> float:
    """Share of the accesses whose instruction touches the type there; 1 where no code is known.

    Where only the function is known it must work on a record that the type has at that place, or touch that very
    place, as code does whose only way to a variable is its address.
    """
    agreeing = judged = 0
    whole = LineObject(outer.name, outer.id, start, 0, 1.0, Outcome.RESOLVED)
    for access in seen:
        instruction = instruction_of(access, evidence)
        if instruction is not None:
            judged += weight(access)
            agreeing += weight(access) * agrees(instruction, access, whole, evidence.containment)
            continue
        known = evidence_of(access, evidence)
        touching = agrees(known.touches, access, whole, evidence.containment)
        if not known.records and not touching:
            continue
        leaves = evidence.containment.leaves(outer.id, (access.offset or 0) - start)
        judged += weight(access)
        names = {name for leaf in leaves for name, _ in leaf.chain}
        if touching or names & known.records.keys() or (has_lock(names) and takes_lock(access.function or "")):
            agreeing += weight(access)
    return agreeing / judged if judged else 1.0


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


def lines_that_may_hold(wanted: str, profile: Profile, containment: Containment) -> tuple[CacheLine, ...]:
    """The lines whose memory has the ``wanted`` type, a type that holds it by value, or a type that is not known."""
    known, holders = ObjectMap(profile.areas), _holders(wanted, containment)
    return tuple(
        line
        for line in profile.lines
        if line.address is None or any(not types or holders & types for types in _types(line, known))
    )


def lines_known_to_hold(wanted: str, profile: Profile, containment: Containment) -> tuple[CacheLine, ...]:
    """The lines whose memory is known to be of the ``wanted`` type, or of one that holds it by value."""
    known, holders = ObjectMap(profile.areas), _holders(wanted, containment)
    placed = (line for line in profile.lines if line.address is not None)
    return tuple(line for line in placed if any(holders & types for types in _types(line, known)))


def _holders(wanted: str, containment: Containment) -> frozenset[str]:
    layouts = containment.layouts
    places = (place for layout in layouts.variants(wanted) for place in containment.places(layout.id))
    return frozenset({wanted, *(layouts.by_id(place.container).name for place in places)})


def _types(line: CacheLine, known: ObjectMap) -> Iterator[frozenset[str]]:
    """What the memory of each access may be; nothing where it is not known."""
    for access in line.accesses:
        if access.offset is not None:
            place = known.at((line.address or 0) + access.offset)
            yield frozenset(place.area.types) if place else frozenset()
