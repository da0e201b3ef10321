# SPDX-License-Identifier: GPL-2.0-or-later
"""The record that a finding asks to change: its atoms, their freedom, and the heat on its members.

A change reaches the records that hold this one by value (``Holders``): an aligned member makes them larger although
the record itself may keep its size, since they begin it at a multiple of more bytes, and end at one. The same change
is made of the record of each other configuration that the premises name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from linesmith.analyzer.access.questions import accesses_of
from linesmith.analyzer.attribution.line_members import KNOWN
from linesmith.analyzer.base.errors import NothingToSuggest, NotSimulated
from linesmith.analyzer.layouts import placement
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import inferences, record_alignment, with_inferred_alignment
from linesmith.analyzer.model import ConflictPair, Finding, HolderChange, Layout, Move, SourceFact
from linesmith.analyzer.slab.allocation import Kernel, own_cache
from linesmith.tuner.constraints.elsewhere import Elsewhere, elsewhere, facts_of, facts_within, opened
from linesmith.tuner.constraints.freedom import NO_PREMISES, Freedom, Premises
from linesmith.tuner.constraints.kernel_rules import holding_members
from linesmith.tuner.constraints.rules import freedom
from linesmith.tuner.propose.meetings import Cost, RecordHeat, cost, interest, record_heat, spots
from linesmith.tuner.propose.phases import PhaseMixes, changed_cache, memory_use
from linesmith.tuner.replay.scene import Relocation, holder_around

# Hot atoms that are looked at, those that cost most.
MOST_HOT = 16
# Records that are laid out anew; what more of them hold is a building block, whose layout nobody changes for one line.
MOST_HOLDERS = 256


class Holders:
    """The records of ``layouts`` that hold ``record``, laid out anew when first asked for.

    ``kernel`` has their slab caches; it is ``None`` for a program.
    """

    def __init__(self, record: Layout, layouts: Layouts, kernel: Kernel | None) -> None:
        self.record = record
        self._layouts = layouts
        self._kernel = kernel
        self._explained = lru_cache(maxsize=None)(lambda number: with_inferred_alignment(layouts.by_id(number)))
        self.changes = lru_cache(maxsize=None)(self._changes)

    def growth(self, granule: int, growth: int) -> int:
        """Bytes by which that one of them grows that grows most; ``growth`` itself where none changes."""
        largest = self.largest(granule, growth)
        return growth if largest is None else largest.after - largest.before

    def largest(self, granule: int, growth: int) -> HolderChange | None:
        """That one of them that grows by most bytes, ``None`` where none changes."""
        return max(self.changes(granule, growth), key=lambda one: one.after - one.before, default=None)

    def _changes(self, granule: int, growth: int) -> tuple[HolderChange, ...]:
        """Those of another size, where it costs most first; the record has ``granule``, and ``growth`` bytes more."""
        now = record_alignment(self._explained(self.record.id))
        if not growth and granule <= now:
            return ()
        size = self.record.size
        known: dict[int, Relocation] = {self.record.id: Relocation((), size, size + growth, now, max(now, granule))}
        found = dict.fromkeys(filter(None, (self._change(one, known) for one in self._holding)))
        return tuple(sorted(found, key=_worst_first))

    def _change(self, holder: int, known: dict[int, Relocation]) -> HolderChange | None:
        layout, new = self._layouts.by_id(holder), self._resized(holder, known)
        if not layout.name or new.new_size == layout.size:
            return None
        cache = own_cache(layout, self._kernel) if self._kernel is not None else None
        if cache is None or self._kernel is None:
            return HolderChange(layout.title, layout.size, new.new_size)
        larger = replace(layout, size=new.new_size, alignment=new.new_alignment)
        memory = memory_use(cache), memory_use(changed_cache(cache, larger, self._kernel))
        return HolderChange(layout.title, layout.size, new.new_size, memory)

    def _resized(self, holder: int, known: dict[int, Relocation]) -> Relocation:
        """The sizes and alignments of a record, those that it holds being ``known``; a packed one stays as it is."""
        if holder not in known:
            outer = self._explained(holder)
            alignment = record_alignment(outer)
            # What holds itself is damaged, and stays.
            known[holder] = Relocation((), outer.size, outer.size, alignment, alignment)
            inner = {at: self._resized(one, known) for at, one in self._holding[holder].items()}
            try:
                new = holder_around(outer, inner)
            except NotSimulated:
                return known[holder]
            known[holder] = Relocation((), outer.size, new.size, alignment, record_alignment(new))
        return known[holder]

    @cached_property
    def _holding(self) -> Mapping[int, Mapping[int, int]]:
        """By each record that holds the record at any depth: which member of it does, and what that is."""
        found: dict[int, dict[int, int]] = {}
        waiting = [self.record.id]
        for inner in waiting:
            for one in holding_members(inner, self._layouts):
                if one.holder.id not in found:
                    waiting.append(one.holder.id)
                found.setdefault(one.holder.id, {})[one.number] = inner
            if len(found) > MOST_HOLDERS:
                break
        return found


def _worst_first(one: HolderChange) -> tuple[bool, float, str]:
    """What is allocated from a cache of its own first, by the share of memory that it takes more."""
    if one.memory is None:
        return True, -one.after / max(one.before, 1), one.record
    before, after = one.memory
    return False, -after.pages_per_1000 / before.pages_per_1000, one.record


@dataclass(frozen=True, slots=True)
class ContendedRecord:
    """``layout`` is the record whose members move, at byte ``base`` of the object of type ``type``.

    ``starts`` are its members' bytes in the object, by position. ``positions`` are the positions of each atom's
    members, ``owners`` the atom of each position, ``shapes`` those of each atom's members.
    ``inferred`` names the members (or the record) whose alignment the debug information does not say. ``now`` is what
    the present layout costs. ``interest`` is how much each member is probably read, by position. ``holders`` are the
    records around the object, ``hot`` the atoms to move, the most contended first. ``facts_elsewhere`` are the facts of
    the record in each of the premises' configurations.
    """

    type: str
    layout: Layout
    base: int
    parts: tuple[placement.LayoutAtom, ...]
    freedom: Freedom
    heat: RecordHeat
    starts: tuple[int, ...]
    positions: tuple[tuple[int, ...], ...]
    owners: tuple[int, ...]
    shapes: tuple[tuple[placement.MemberShape, ...], ...]
    holders: Holders
    inferred: tuple[str, ...] = ()
    premises: Premises = NO_PREMISES
    now: Cost = field(default_factory=lambda: Cost(0.0, 0.0))
    interest: tuple[float, ...] = ()
    hot: tuple[int, ...] = ()
    facts_elsewhere: tuple[tuple[SourceFact, ...], ...] = ()

    @property
    def title(self) -> str:
        """The record as a reader knows it; an anonymous struct by the type that it is in."""
        return self.layout.title if self.layout.name else self.type

    @property
    def may_resize(self) -> bool:
        """Whether another size of the record is legal: nothing follows it, and nobody holds it to this one."""
        ceiling = self.freedom.ceiling
        return ceiling is None or self.freedom.floor < ceiling

    def grown(self, size: int, granule: int) -> int:
        """Bytes by which the record of ``size``, or that of its holders which grows most, is larger than now.

        Objects of the record are aligned to ``granule`` bytes.
        """
        more = size - self.layout.size
        return max(more, self.holders.growth(granule, more))

    def growth(self, size: int) -> int:
        """Bytes by which objects become larger when the record has ``size``; of a program nothing begins elsewhere."""
        return size - self.layout.size if self.may_resize and self.premises.kernel is not None else 0


@dataclass(frozen=True, slots=True)
class _MovablePart:
    layout: Layout
    base: int
    places: Mapping[str, placement.MemberPlace]


def subject(
    finding: Finding, layouts: Layouts, others: Iterable[Finding] = (), premises: Premises = NO_PREMISES
) -> ContendedRecord:
    """The record to change for ``finding``, whose first object is resolved and which has conflict pairs.

    Raises ``NothingToSuggest`` where no order of its members can be computed or none could part a pair.
    """
    target = finding.objects[0]
    outer = layouts.by_id(target.layout or 0)
    scope = _scope(outer, finding.triage.pairs, layouts)
    if reason := placement.refusal(scope.layout) or placement.unmovable(outer, layouts):
        raise NothingToSuggest(f"{outer.title} cannot be rearranged: {reason}.")
    outer_facts = facts_within(facts_of(outer, premises, layouts), outer, scope.layout, layouts)
    facts = opened(outer_facts, finding.triage.pairs, scope.layout, layouts)
    parts = placement.atoms(scope.layout, layouts, facts)
    starts = tuple(scope.base + member.first_bit // placement.BYTE for member in scope.layout.members)
    known_as = [one for one in (*others, *premises.beside) if one.objects and one.objects[0].outcome in KNOWN]
    seen = (finding, *(one for one in known_as if one.objects[0].layout == target.layout))
    # The variables and arrays that objects are, if all others were found in slab caches.
    rows = tuple(dict.fromkeys(row for one in seen if (row := one.objects[0].row) is not None))
    variables = rows if all(one.objects[0].row is not None or one.objects[0].origin for one in seen) else ()
    mixes = PhaseMixes(outer, layouts, premises.kernel, finding.bytes, variables)
    granule = record_alignment(with_inferred_alignment(outer))
    heat = record_heat(seen, spots(seen, scope.places, starts), starts, granule, mixes)
    code = accesses_of(outer, layouts, premises.accesses) if premises.accesses is not None else None
    limits = freedom(scope.layout, parts, layouts, facts, scope.base, outer)
    owners = tuple(atom for atom, part in enumerate(parts) for _ in part.members)
    positions = tuple(tuple(at for at, owner in enumerate(owners) if owner == atom) for atom in range(len(parts)))
    inferred = inferences(layouts.by_id(scope.layout.id), scope.layout)
    shapes = tuple(tuple(placement.shape_of(member) for member in part.members) for part in parts)
    elsewhere = [(one, next(iter(one.layouts.variants(target.type)), None)) for one in premises.configurations]
    alone = replace(premises, configurations=())
    return ContendedRecord(
        target.type,
        scope.layout,
        scope.base,
        parts,
        limits,
        heat,
        starts,
        positions,
        owners,
        shapes,
        Holders(outer, layouts, premises.kernel),
        inferred,
        premises,
        cost(heat, starts, granule),
        interest(scope.layout, starts, code),
        _hot_atoms(heat, owners),
        tuple(facts_of(there, alone, one.layouts) if there else () for one, there in elsewhere),
    )


def _hot_atoms(heat: RecordHeat, owners: Sequence[int]) -> tuple[int, ...]:
    """Atoms of the sampled contacts, each once, the heaviest contacts first; the written one of a contact first.

    Behind them those of contacts that only another layout would have.
    """
    found: dict[int, None] = {}
    for contact in sorted(heat.contacts, key=lambda one: (not one.sampled, -one.weight)):
        ends = sorted((contact.first, contact.second), key=lambda spot: spot.name != contact.writer)
        found.update(dict.fromkeys(owners[spot.member] for spot in ends))
    return tuple(found)[:MOST_HOT]


def _scope(outer: Layout, pairs: tuple[ConflictPair, ...], layouts: Layouts) -> _MovablePart:
    """The innermost anonymous struct that holds the heaviest pair, else the record itself."""
    scope = _MovablePart(with_inferred_alignment(outer), 0, placement.visible_places(outer, layouts))
    entered = {outer.id}
    while (inner := _inner(scope, pairs, layouts)) is not None and inner.layout.id not in entered:
        scope = inner
        entered.add(inner.layout.id)
    return scope


def _inner(scope: _MovablePart, pairs: tuple[ConflictPair, ...], layouts: Layouts) -> _MovablePart | None:
    for pair in pairs:
        ends = [scope.places[name] for name in (pair.first, pair.second) if name in scope.places]
        if len(ends) < 2 or pair.first == pair.second:
            continue
        if ends[0].member != ends[1].member:
            return None
        holder = scope.layout.members[ends[0].member]
        inner = placement.anonymous_struct(holder, layouts)
        if inner is None:
            return None
        return _MovablePart(
            with_inferred_alignment(inner), scope.base + holder.offset, placement.visible_places(inner, layouts)
        )
    return None


def refused_elsewhere(target: ContendedRecord, moves: Sequence[Move]) -> str | None:
    """Why another configuration forbids the moves, or ``None``."""
    for title, found in _elsewhere(target, moves):
        if found is not None and found.refused is not None:
            return f"{found.refused} ({title})"
    return None


def notes_elsewhere(target: ContendedRecord, moves: Sequence[Move]) -> Iterator[str]:
    """Sentences on what the moves do in the other configurations."""
    for title, found in _elsewhere(target, moves):
        if found is None:
            yield f"{title} has no {target.type} that the change could be checked on."
        else:
            size = found.layout.size
            change = "stays" if found.size == size else f"becomes {found.size}"
            yield f"Also legal in {title}, where {found.layout.title} has {size} bytes: its size {change}."


def _elsewhere(target: ContendedRecord, moves: Sequence[Move]) -> Iterator[tuple[str, Elsewhere | None]]:
    """What the moves make of the record in each configuration, by the title of that."""
    here = [name for atom in target.parts for name in atom.names]
    for one, facts in zip(target.premises.configurations, target.facts_elsewhere, strict=True):
        yield one.title, elsewhere(target.type, here, moves, one.layouts, facts)
