# SPDX-License-Identifier: GPL-2.0-or-later
"""A finding as structural advice needs it: its record, the members seen, and what the code does to them.

``Allocation`` says what objects of a record cost in their slab cache, as it is and changed. Behind the case stand the
records with other members that advice is about: one pulled in, pushed out, made smaller, left away, or moved behind
another. Members are placed by C's rules. Whether the code survives that is not asked here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_of
from linesmith.analyzer.attribution.lock import takes_lock
from linesmith.analyzer.base.errors import StructureRefused
from linesmith.analyzer.base.text import did_you_mean, listed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment, containment_of
from linesmith.analyzer.layouts.gaps import record_alignment, with_inferred_alignment
from linesmith.analyzer.layouts.placement import MemberPlace, lay_out, refusal, round_up, visible_places
from linesmith.analyzer.model import (
    Accessor,
    Finding,
    Layout,
    LineMember,
    Member,
    MemberAccesses,
    MemberCategory,
    MemberFunction,
    MemoryUse,
    Outcome,
    RecordKind,
    SlabCache,
    TriageKind,
    top_member,
)
from linesmith.analyzer.sharing.parts import own_members
from linesmith.analyzer.slab.allocation import CacheOptions, Kernel, cache_of, own_cache
from linesmith.analyzer.slab.starts import slab_places
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.phases import memory_use
from linesmith.tuner.replay.scene import DEPTH, elements, holds

NOTHING_ASKED = CacheOptions()
WORD = 8
# Members that a message lists.
_MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Allocation:
    """Where objects come from: the slab caches of ``kernel``, ``None`` for a program, of which nothing is known.

    ``asked`` is what somebody says of the cache of the record that changes. A record that others hold by value costs
    what those cost: the objects of the cache called ``cache``, where that is known and holds it, else of the first.
    """

    kernel: Kernel | None
    containment: Containment
    asked: CacheOptions = NOTHING_ASKED
    cache: str = ""

    def now(self, layout: Layout) -> tuple[MemoryUse, ...]:
        """What objects of the record that changes cost as it is."""
        return () if self.kernel is None else (memory_use(cache_of(self._outer(layout), self.kernel, self.asked)),)

    def then(self, layout: Layout) -> tuple[MemoryUse, ...]:
        """What they cost when it is changed to ``layout``."""
        cache = self.changed(layout)
        return () if cache is None else (memory_use(cache),)

    def changed(self, layout: Layout) -> SlabCache | None:
        """The cache of the changed objects, by the rules: nobody has measured it."""
        if self.kernel is None:
            return None
        outer = laid_out_around(self._outer(layout), layout, self.containment.layouts)
        return cache_of(outer, replace(self.kernel, measured={}), self.asked)

    def of_another(self, layout: Layout, alignment: int = 0) -> tuple[MemoryUse, ...]:
        """What objects of another record cost, of which an alignment may be asked."""
        cache = None if self.kernel is None else cache_of(layout, self.kernel, CacheOptions(alignment=alignment))
        return () if cache is None else (memory_use(cache),)

    def _outer(self, layout: Layout) -> Layout:
        """The record whose objects are allocated: itself, or one that holds it."""
        if self.kernel is None or self.asked.flags or own_cache(layout, self.kernel, self.asked) is not None:
            return layout
        known = [one for one in self.containment.layouts.variants(layout.name) if one.id == layout.id]
        held = [place for one in known for place in slab_places(one, self.containment, self.kernel) if place.path]
        held.sort(key=lambda place: place.cache.name != self.cache)
        return self.containment.layouts.variants(held[0].outer)[0] if held else layout


class AdvicePremises:
    """What all findings of a profile rest on; what is asked of the code is worked out once for each record."""

    def __init__(self, layouts: Layouts, premises: Premises, accesses: AccessMap | None) -> None:
        self.layouts = layouts
        self.premises = premises
        self.accesses = accesses
        self.containment = containment_of(layouts)
        # Who touches the record with this id.
        self.code_of = lru_cache(maxsize=None)(
            lambda one: None if accesses is None else accesses_of(layouts.by_id(one), layouts, accesses)
        )

    @cached_property
    def pointers(self) -> Mapping[str, list[tuple[Layout, str]]]:
        """Which members of which records point to records, by the name of these."""
        found: dict[str, list[tuple[Layout, str]]] = {}
        for layout in self.layouts:
            for member in layout.members:
                if member.target:
                    found.setdefault(member.target, []).append((layout, member.name))
        return found


@dataclass(frozen=True, slots=True)
class Case:
    """A finding with the ``layout`` of its first object's record; ``others`` are the profile's other findings."""

    finding: Finding
    layout: Layout
    others: tuple[Finding, ...]
    ground: AdvicePremises

    @property
    def home(self) -> Allocation:
        """Where the record's objects come from."""
        cache_name = self.finding.objects[0].origin.removeprefix("slab ")
        return Allocation(self.ground.premises.kernel, self.ground.containment, cache=cache_name)

    @property
    def same(self) -> tuple[Finding, ...]:
        """This finding and all others of such objects."""
        alike = [one for one in self.others if one.objects and one.objects[0].layout == self.layout.id]
        return (self.finding, *alike)

    @property
    def kinds(self) -> tuple[TriageKind, ...]:
        """The diagnosis."""
        return self.finding.triage.kinds

    @property
    def places(self) -> dict[str, MemberPlace]:
        """Every member by the name that code says, those of anonymous records included."""
        return visible_places(self.layout, self.ground.layouts)

    def member(self, name: str) -> Member | None:
        """The member that code calls ``name``, also one of an anonymous record; offsets are those in its own record."""
        return _member_named(self.layout, name, self.ground.layouts)

    def span(self, name: str) -> tuple[int, int]:
        """Offset in the object's record and size, in bytes, of the member called ``name``."""
        place = self.places[name]
        return self.layout.members[place.member].offset + place.start, place.size

    def seen(self, name: str) -> tuple[LineMember, ...]:
        """What was sampled of the member called ``name`` on this line."""
        return tuple(one for one in own_members(self.finding) if one.top == name)

    def code(self, name: str) -> tuple[MemberAccesses, ...]:
        """Who touches the parts of the member called ``name``; empty where the code was not followed."""
        touched = self.ground.code_of(self.layout.id)
        return () if touched is None else tuple(one for one in touched.members if top_member(one.path) == name)

    def share(self, *names: str) -> float:
        """Share of the line's contended accesses, at most, that waited in one of the members for stores to one."""
        total = self.finding.cost.contended or self.finding.contended
        own = [it for it in self.finding.cost.sharings if it.victim.member in names and it.writer.member in names]
        return min(1.0, sum(one.contended.most for one in own) / total) if total else 0.0

    def main_member(self) -> str:
        """The member that most of the line's contention with itself falls on; empty where none is known."""
        own = {one.victim.member: self.share(one.victim.member) for one in self.finding.cost.sharings}
        return max((name for name in own if own[name] > 0), key=lambda name: own[name], default="")

    def sampled(self, names: Sequence[str]) -> dict[str, int]:
        """Samples by function on the members called ``names``, on all lines of objects of the type."""
        return {name: one.samples for name, one in self.tallied(names).items() if one.samples}

    def accessors(self, names: Sequence[str], holders: Sequence[str] = ()) -> tuple[Accessor, ...]:
        """Who reaches the members called ``names``, without the functions that lock.

        The most sampled come first, then those whose code names them most often. ``holders`` are known to take the
        lock.
        """
        found = {name: one for name, one in self.tallied(names).items() if not takes_lock(name)}
        ranked = sorted(found.items(), key=lambda pair: (-pair[1].samples, -pair[1].accesses, pair[0]))
        return tuple(
            Accessor(name, one.samples, tuple(one.reads), tuple(one.writes), True if name in holders else None)
            for name, one in ranked
        )

    def tallied(self, names: Sequence[str]) -> dict[str, FunctionTally]:
        """Every function seen on the members called ``names``, or whose code touches them."""
        found: dict[str, FunctionTally] = {}
        for member in (member for finding in self.same for member in own_members(finding)):
            for function in member.functions if member.top in names else ():
                found.setdefault(function.name, FunctionTally()).add(member.top, function)
            seen = {function.name for function in member.functions}
            for path in member.callers if member.top in names else ():
                if path.functions[0] not in seen:
                    found.setdefault(path.functions[0], FunctionTally()).samples += path.count
        for name in names:
            for one in (one for part in self.code(name) for one in part.functions):
                tally = found.setdefault(one.function, FunctionTally())
                tally.accesses += one.counts.total
                tally.reads |= {name: None} if one.counts.reading else {}
                tally.writes |= {name: None} if one.counts.writing else {}
        return found


def case_of(finding: Finding, others: Sequence[Finding], base: AdvicePremises) -> Case | None:
    """The case of a finding whose first object is known; ``None`` for any other."""
    target = finding.objects[0] if finding.objects else None
    if target is None or target.layout is None or target.outcome is not Outcome.RESOLVED:
        return None
    return Case(finding, base.layouts.by_id(target.layout), tuple(others), base)


def _member_named(layout: Layout, name: str, layouts: Layouts, depth: int = 0) -> Member | None:
    """The member of that name, in the record or in the anonymous ones inside it."""
    for member in layout.members:
        if member.name == name and name:
            return member
        inner = layouts.by_id(member.record) if not member.name and member.record is not None else None
        found = _member_named(inner, name, layouts, depth + 1) if inner is not None and depth < DEPTH else None
        if found is not None:
            return found
    return None


@dataclass(slots=True)
class FunctionTally:
    """What one function does: samples, accesses in its code, and the members it was seen or is known to touch."""

    samples: int = 0
    accesses: int = 0
    reads: dict[str, None] = field(default_factory=dict)
    writes: dict[str, None] = field(default_factory=dict)

    def add(self, name: str, function: MemberFunction) -> None:
        """Add what was sampled of the function on the member called ``name``."""
        seen = function.records if function.records is not None else function.contended + function.stores
        self.samples += seen
        self.reads |= {name: None} if function.contended or seen > function.stores else {}
        self.writes |= {name: None} if function.stores or function.writes_inferred else {}


def functions_by_member(layout: Layout, layouts: Layouts, accesses: AccessMap | None) -> dict[str, int]:
    """How many functions touch each member, by its name; empty where the code was not followed.

    Where no profile tells, those that the code names least are guessed to be cold.
    """
    if accesses is None:
        return {}
    found: dict[str, set[str]] = {member.name: set() for member in layout.members if member.name}
    for part in accesses_of(layout, layouts, accesses).members:
        if top_member(part.path) in found:
            found[top_member(part.path)].update(one.function for one in part.functions)
    return {name: len(functions) for name, functions in found.items()}


def explained(layout: Layout) -> Layout:
    """The layout with the alignments its offsets show; raises ``StructureRefused`` where C's rules do not give it."""
    whole = with_inferred_alignment(layout)
    if reason := refusal(whole):
        raise StructureRefused(f"{layout.title} cannot be laid out anew: {reason}")
    return whole


def at(layout: Layout, name: str) -> int:
    """The position of the member called ``name``; raises ``StructureRefused`` with the names there are."""
    names = [member.name for member in layout.members]
    if name not in names:
        raise StructureRefused(f"{layout.title} has no member {name}; {known_members(name, names)}")
    return names.index(name)


def known_members(name: str, names: Sequence[str]) -> str:
    """What to take instead of ``name``: the nearest, else the first ones and how many there are, maybe hundreds."""
    known = [one for one in names if one]
    if near := did_you_mean(name, known, 3):
        return near
    inside = ", and what lies in its anonymous records cannot be changed so" if "" in names else ""
    return f"its members are {listed(known, _MOST_NAMED)}{inside}"


def without(layout: Layout, names: Collection[str]) -> Layout:
    """The layout without the members of that name, as another configuration may have it."""
    gone = {at(layout, name) for name in names}
    return lay_out(layout, tuple(one for place, one in enumerate(layout.members) if place not in gone))


def embedded(pointer: Member, target: Layout, size: int | None, alignment: int | None) -> Member:
    """``target``, shrunk to ``size`` bytes if that is given, as the member that ``pointer`` points to now."""
    natural = max(target.natural_alignment, target.alignment or 1)
    whole = replace(
        pointer,
        type=target.title,
        declarator=pointer.name,
        size=target.size,
        natural_alignment=natural,
        alignment=alignment,
        category=MemberCategory.RECORD,
        record=target.id,
        target=None,
    )
    return whole if size is None else shrunk(whole, size)


def shrunk(member: Member, size: int) -> Member:
    """The member with ``size`` bytes in place of its own; what it then holds is not decided.

    Raises ``StructureRefused`` for a bit-field, and where it would not be smaller.
    """
    if member.is_bit_field or not 0 < size < member.size:
        said = f"{member.name} has {member.size} bytes and cannot be made {size} bytes small"
        raise StructureRefused(f"{said}; give a smaller size")
    natural = min(size & -size, WORD)
    return replace(
        member, size=size, natural_alignment=natural, record=None, category=MemberCategory.UNKNOWN, dimensions=()
    )


def pointer_to(member: Member) -> Member:
    """A pointer in place of the member; raises ``StructureRefused`` for a bit-field, which has no address."""
    if member.is_bit_field:
        raise StructureRefused(f"{member.name} is a bit-field and cannot be an object of its own")
    return replace(
        member,
        type=f"{member.type} *",
        size=WORD,
        natural_alignment=WORD,
        alignment=None,
        category=MemberCategory.POINTER,
        record=None,
        target=member.type.split()[-1],
        dimensions=(),
        flexible=False,
        declarator=member.name,
    )


def with_member(layout: Layout, position: int, member: Member) -> Layout:
    """The layout with ``member`` in place of the one at ``position``; its alignment becomes the record's too."""
    members = (*layout.members[:position], member, *layout.members[position + 1 :])
    asked = max(member.alignment or 0, layout.alignment or 0) or None
    return lay_out(replace(layout, alignment=asked), members)


def behind(layout: Layout, position: int, cold: Sequence[int]) -> Layout:
    """The layout with the member at ``position`` last but for the ``cold`` ones, in their order, behind it."""
    rest = [place for place in range(len(layout.members)) if place != position and place not in cold]
    return lay_out(layout, tuple(layout.members[place] for place in (*rest, position, *sorted(cold))))


def laid_out_around(outer: Layout, changed: Layout, layouts: Layouts, depth: int = 0) -> Layout:
    """``outer`` laid out anew around the record that ``changed`` replaces, however deep that lies in it.

    Raises ``StructureRefused`` where a record on the way does not follow C's rules. ``depth`` keeps damaged debug
    information, in which a record may hold itself, from recursing for ever.
    """
    if outer.id == changed.id:
        return changed
    if depth > DEPTH or not holds(outer.id, layouts, frozenset((changed.id,))):
        return outer
    whole = outer if outer.kind is RecordKind.UNION else explained(outer)
    return lay_out(whole, tuple(_resized(member, changed, layouts, depth + 1) for member in whole.members))


def _resized(member: Member, changed: Layout, layouts: Layouts, depth: int) -> Member:
    """The member with the size and alignment of the record it holds, changed."""
    old = layouts.by_id(member.record) if member.record is not None else None
    new = old and laid_out_around(old, changed, layouts, depth)
    if old is None or new is None or new is old:
        return member
    alignment = record_alignment(new)
    size = elements(member) * round_up(new.size, alignment)
    return replace(member, size=size, natural_alignment=max(member.natural_alignment, alignment))
