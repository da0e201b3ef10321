# SPDX-License-Identifier: GPL-2.0-or-later
"""What findings say of one record, wherever in other records it lies: spots with the accesses that met them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import touching
from linesmith.analyzer.attribution.line_members import KNOWN
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import leaves_at
from linesmith.analyzer.line_map.fields import fields
from linesmith.analyzer.model import (
    Access,
    CacheLine,
    Finding,
    Layout,
    LineMember,
    LineObject,
    Profile,
)

# Alternatives of unions that are looked at to find the record in the one that lies on a line.
_MOST_LEAVES = 64


@dataclass(frozen=True, slots=True)
class TouchedSpot:
    """A place in a record that was touched: ``offset`` in bytes, ``path`` as C code writes it from there.

    ``written`` tells that a store was sampled or must have happened.
    """

    path: str
    offset: int
    accesses: tuple[Access, ...]
    written: bool = False

    @property
    def contended(self) -> int:
        """Samples that waited for another CPU."""
        return sum(one.contended for one in self.accesses)


@dataclass(frozen=True, slots=True)
class MapHeat:
    """All spots of one record; ``phases`` says how many contended samples fell on objects that start so in a line.

    ``unplaced`` are those of its lines that stand in no row of the profile: they may be of any member. ``known`` tells
    that there is a profile at all: without one, that nobody touched a member says nothing.
    """

    spots: tuple[TouchedSpot, ...] = ()
    phases: tuple[tuple[int, int], ...] = ()
    known: bool = True
    unplaced: int = 0

    @property
    def contended(self) -> int:
        """Contended samples that are known to be of the record."""
        return sum(spot.contended for spot in self.spots)

    @property
    def whole(self) -> int:
        """Contended samples that are, or may be, of the record: what shares are of."""
        return self.contended + self.unplaced


NO_HEAT = MapHeat(known=False)


def heat_of(layout: Layout, layouts: Layouts, findings: Iterable[Finding], profile: Profile | None = None) -> MapHeat:
    """What was seen of ``layout`` on the lines of ``findings``, by itself or inside a record that holds it.

    ``profile`` is the one that was explained; it tells the CPUs and nodes. Objects that are only a guess do not count.
    """
    lines = {(one.rank, one.address): one for one in (profile.lines if profile else ())}
    spots: list[TouchedSpot] = []
    phases: Counter[int] = Counter()
    unplaced = 0
    for finding in findings:
        met = list(_met(finding, layout, layouts, lines))
        spots += [spot for spot, _ in met]
        if met:
            placed = sum(function.contended for member in finding.members for function in member.functions)
            unplaced += max(finding.contended - placed, 0)
        for spot, start in met:
            phases[start % finding.bytes] += spot.contended
    ordered = sorted(phases.items(), key=lambda pair: (-pair[1], pair[0]))
    return MapHeat(tuple(spots), tuple(ordered), unplaced=unplaced)


def _met(
    finding: Finding, layout: Layout, layouts: Layouts, lines: Mapping[tuple[int, int | None], CacheLine]
) -> Iterator[tuple[TouchedSpot, int]]:
    """Spots of the record on one line, each with where the record starts, counted from the line's first byte."""
    line = lines.get((finding.rank, finding.address))
    for member in finding.members:
        place = _place(member, finding.objects, layout, layouts)
        if place is not None:
            offset, path = place
            seen = tuple(one for one in line.accesses if one.offset == member.offset) if line else ()
            accesses = seen if line else _function_accesses(member)
            yield TouchedSpot(path, offset, accesses, member.written), member.offset - member.moved - offset


def _place(
    member: LineMember, objects: Iterable[LineObject], layout: Layout, layouts: Layouts
) -> tuple[int, str] | None:
    """Offset and path of a member within the record; ``None`` where it is not part of one."""
    at = member.object_offset
    if at is None:
        return None
    for one in objects:
        if one.layout is None or one.outcome not in KNOWN or member.begin != one.start:
            continue
        if one.layout == layout.id:
            return at, member.path
        for leaf in leaves_at(layouts.by_id(one.layout), layouts, at, _MOST_LEAVES):
            entered = next((record for record in leaf.entered if record.record == layout.id), None)
            if entered is not None:
                # The rest of the path; a word that is wrapped in the record has none.
                inside = leaf.path.startswith(entered.path)
                path = leaf.path.removeprefix(entered.path).removeprefix(".") if inside else leaf.path
                return at - entered.offset, path
    return None


def _function_accesses(member: LineMember) -> tuple[Access, ...]:
    """The member's functions as accesses, where the profile is not at hand: nodes are not known then."""
    return tuple(
        Access(
            member.offset,
            one.name,
            hitm_local=one.contended,
            stores_l1_hit=one.stores,
            records=one.records,
            cpus=one.cpus,
        )
        for one in member.functions
    )


def code_heat(layout: Layout, layouts: Layouts, accesses: AccessMap) -> MapHeat:
    """What the code can do to each field: instructions, and who has them; nothing was sampled, so nothing is hot."""
    touched = touching(layout, accesses)
    spots = []
    for field in fields(layout, layouts):
        functions = touched(field.offset, field.bytes).functions
        # An update both reads and writes, and counts for both.
        found = tuple(
            Access(
                field.offset,
                one.function,
                records=one.counts.reading + one.counts.writing,
                stores_l1_hit=one.counts.writing,
            )
            for one in functions
        )
        if found:
            spots.append(TouchedSpot(field.names[0], field.offset, found, any(one.stores for one in found)))
    return MapHeat(tuple(spots), known=False)
