# SPDX-License-Identifier: GPL-2.0-or-later
"""The bytes of a record by name, each byte once: what a map can draw side by side."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import touching
from linesmith.analyzer.attribution.line_members import KNOWN
from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import leaves_at
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Access,
    CacheLine,
    Finding,
    Layout,
    LineMember,
    LineObject,
    Member,
    Profile,
    RecordKind,
)

# Damaged debug information can nest records without end, or give them millions of members.
MOST_FIELDS = 1 << 14
MOST_LEVELS = 32
# Of bit-fields in one storage unit, and of alternatives at one place, so many names are given.
MOST_NAMES = 4
# Real unions have some tens of alternatives in all levels; of more, those behind are not named.
MOST_ALTERNATIVES = 256
_STEP = re.compile(r"[.\[]")


@dataclass(frozen=True, slots=True)
class MapField:
    """``bytes`` of a record from ``offset`` on that go by one name.

    ``names`` are all members there: bit-fields of one storage unit, alternatives of a union (``union`` tells which).
    ``begin`` and ``size`` are the whole member's; a field is less of it where another alternative is drawn.
    """

    names: tuple[str, ...]
    type: str
    offset: int
    bytes: int
    begin: int
    size: int
    lock: bool = False
    union: bool = False

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.bytes

    @property
    def path(self) -> str:
        """The names in one: ``a, b`` of bit-fields, ``a | b`` of alternatives; many are counted."""
        shown = (" | " if self.union else ", ").join(self.names[:MOST_NAMES])
        more = len(self.names) - MOST_NAMES
        return f"{shown} and {more} more" if more > 0 else shown


def fields(layout: Layout, layouts: Layouts, touched: Iterable[str] = ()) -> tuple[MapField, ...]:
    """The fields by offset, disjoint and within the record; bytes of none are holes and padding.

    Anonymous records are written out. So are named ones, locks and arrays apart, of which several members are among
    the paths ``touched``, or one where the record is larger than a line. Of a union the alternative that was touched
    is drawn, else the largest.
    """
    walk = _Walk(layouts, dict.fromkeys(touched))
    found = walk.record(layout, 0, "", 0)
    clipped = (_cut(one, max(0, one.offset), min(one.end, layout.size)) for one in found)
    return tuple(one for one in clipped if one.bytes > 0)


class _Walk:
    """Goes through nested records; ``left`` is how many fields may still be made.

    ``touched`` counts paths by what they begin with (``a.b[0].c`` by ``a``, ``a.b``, ``a.b[0]`` and itself), ``inside``
    those that go on to a member of it.
    """

    def __init__(self, layouts: Layouts, touched: Iterable[str]) -> None:
        self.layouts = layouts
        self.touched: Counter[str] = Counter()
        self.inside: Counter[str] = Counter()
        self.left = MOST_FIELDS
        for path in touched:
            self.touched[path] += 1
            for sign in _STEP.finditer(path):
                self.touched[path[: sign.start()]] += 1
                self.inside[path[: sign.start()]] += sign[0] == "."

    def record(self, layout: Layout, base: int, prefix: str, level: int) -> list[MapField]:
        """The fields of a record that begins at byte ``base`` under the path ``prefix``."""
        whole = [one for one in layout.members if not one.is_bit_field]
        if layout.kind is RecordKind.UNION:
            # The kernel's struct_group() declares a run of members twice: of the named one nothing is drawn.
            anonymous = [self._names(one) for one in whole if not one.name]
            whole = [one for one in whole if not (one.name and self._names(one) and self._names(one) in anonymous)]
        parts = [self._member(one, base, prefix, level) for one in whole]
        if layout.kind is RecordKind.UNION:
            parts += [[one] for one in _bit_fields(layout.members, base, prefix)]

            def worth(part: Sequence[MapField]) -> tuple[int, int]:
                """How much an alternative has to show: what was touched in it, and its bytes."""
                return sum(self.touched[name] for one in part for name in one.names), sum(one.bytes for one in part)

            every = [one for part in sorted(parts, key=worth, reverse=True) for one in part]
            return [_with_others(one, every[:MOST_ALTERNATIVES]) for one in _painted(every)]
        plain = [one for part in parts for one in part]
        return _painted([*plain, *_bit_fields(layout.members, base, prefix)])

    def _member(self, member: Member, base: int, prefix: str, level: int) -> list[MapField]:
        self.left -= 1
        if member.size <= 0 or self.left < 0:
            return []
        path = f"{prefix}.{member.name}" if prefix and member.name else prefix or member.name
        inner = None if member.record is None else self.layouts.by_id(member.record)
        if inner is not None and inner.members and level < MOST_LEVELS and self._is_open(member, inner, path):
            return self.record(inner, base + member.offset, path, level + 1)
        begin, lock = base + member.offset, inner is not None and is_lock(inner.name or member.type.split()[-1])
        # The type with what the declarator adds to it: ``unsigned char [16]``.
        added = member.declarator.replace(member.name, "", 1) if member.name else member.declarator
        type_, name = f"{member.type} {added}".rstrip(), path or f"({member.type})"
        return [MapField((name,), type_, begin, member.size, begin, member.size, lock)]

    def _is_open(self, member: Member, inner: Layout, path: str) -> bool:
        if member.dimensions or member.flexible:
            return False
        if not member.name:
            return True
        return not is_lock(inner.name) and self.inside[path] >= (1 if inner.size > CACHE_LINE_BYTES else 2)

    def _names(self, member: Member) -> tuple[str, ...]:
        return () if member.record is None else tuple(one.name for one in self.layouts.by_id(member.record).members)


def _bit_fields(members: Iterable[Member], base: int, prefix: str) -> Iterator[MapField]:
    """Bit-fields by storage unit, over the bytes that hold a bit of one."""
    units: dict[tuple[int, int], list[Member]] = {}
    for one in members:
        if one.bit_offset is not None and one.bit_size:
            units.setdefault((one.offset, one.size), []).append(one)
    for group in units.values():
        first = min((one.bit_offset or 0) for one in group) // 8
        last = -(-max((one.bit_offset or 0) + (one.bit_size or 0) for one in group) // 8)
        names = tuple(f"{prefix}.{one.name}" if prefix else one.name for one in group)
        yield MapField(names, f"{group[0].type} (bits)", base + first, last - first, base + first, last - first)


def _painted(layers: Iterable[MapField]) -> list[MapField]:
    """The fields by offset; where two overlap the earlier one stays whole and the later one gets what is left."""
    done: list[MapField] = []
    starts: list[int] = []
    for one in layers:
        at, place = one.offset, bisect_right(starts, one.offset)
        if place and done[place - 1].end > at:
            at = done[place - 1].end
        while at < one.end:
            until = min(one.end, starts[place] if place < len(starts) else one.end)
            if at < until:
                done.insert(place, _cut(one, at, until))
                starts.insert(place, at)
                place += 1
            if place == len(done):
                break
            at, place = max(at, done[place].end), place + 1
    return done


def _cut(field: MapField, start: int, end: int) -> MapField:
    return replace(field, offset=start, bytes=end - start)


def _with_others(field: MapField, every: Iterable[MapField]) -> MapField:
    """A field drawn of a union with the names of the other alternatives that lie there too."""
    others = (one for one in every if one.offset < field.end and field.offset < one.end)
    names = tuple(dict.fromkeys((*field.names, *(name for one in others for name in one.names))))
    return replace(field, names=names, union=True) if len(names) > len(field.names) else field


# What findings say of one record, wherever in other records it lies: spots with the accesses that met them.

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
