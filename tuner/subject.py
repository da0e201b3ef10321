# SPDX-License-Identifier: GPL-2.0-or-later
"""The record that a finding asks to change: its atoms, their freedom, and the heat on its members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from linesmith.analyzer.attribution.line_members import KNOWN
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.geometry.atoms import Atom, Place, anonymous_struct, atoms, visible_places
from linesmith.analyzer.geometry.inference import inferences, record_alignment, with_inferred_alignment
from linesmith.analyzer.geometry.placement import BYTE, Shape, first_bit, refusal, shape_of
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import ConflictPair, Finding, Layout, LineObject, VariableRow
from linesmith.tuner.constraints import Freedom, facts_of, facts_within, freedom, opened, unmovable
from linesmith.tuner.cost.conflict import Cost
from linesmith.tuner.cost.forecast import forecast, turns_of
from linesmith.tuner.cost.heat import Heat, spots
from linesmith.tuner.cost.interest import interest
from linesmith.tuner.cost.phase_mixes import PhaseMixes
from linesmith.tuner.cost.record_heat import record_heat
from linesmith.tuner.cost.turns import Turns
from linesmith.tuner.cost.uses import Scope, code_of
from linesmith.tuner.holders import Holders
from linesmith.tuner.premises import NO_PREMISES, Premises


@dataclass(frozen=True, slots=True)
class Subject:
    """``layout`` is the record whose members move, at byte ``base`` of the object of type ``type``.

    ``starts`` are its members' bytes in the object, by position. ``positions`` are the positions of each atom's
    members, ``owners`` the atom of each position, ``shapes`` those of each atom's members.
    ``inferred`` names the members (or the record) whose alignment the debug information does not say. ``turns`` tell
    who fetches lines, ``None`` where the profile does not say who writes; ``now`` is what the present layout costs.
    ``interest`` is how much each member is probably read, by position. ``holders`` are the records around the object.
    """

    type: str
    layout: Layout
    base: int
    parts: tuple[Atom, ...]
    freedom: Freedom
    heat: Heat
    starts: tuple[int, ...]
    positions: tuple[tuple[int, ...], ...]
    owners: tuple[int, ...]
    shapes: tuple[tuple[Shape, ...], ...]
    holders: Holders
    inferred: tuple[str, ...] = ()
    premises: Premises = NO_PREMISES
    turns: Turns | None = None
    now: Cost = field(default_factory=lambda: Cost(0.0, 0.0))
    interest: tuple[float, ...] = ()

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
class _Scope:
    layout: Layout
    base: int
    places: Mapping[str, Place]


def subject(
    finding: Finding, layouts: Layouts, others: Iterable[Finding] = (), premises: Premises = NO_PREMISES
) -> Subject:
    """The record to change for ``finding``, whose first object is resolved and which has conflict pairs.

    Raises ``NothingToSuggest`` where no order of its members can be computed or none could part a pair.
    """
    target = finding.objects[0]
    outer = layouts.by_id(target.layout or 0)
    scope = _scope(outer, finding.triage.pairs, layouts)
    if reason := refusal(scope.layout) or unmovable(outer, layouts):
        raise NothingToSuggest(f"{outer.title} cannot be rearranged: {reason}.")
    told = facts_within(facts_of(outer, premises, layouts), outer, scope.layout, layouts)
    facts = opened(told, finding.triage.pairs, scope.layout, layouts)
    parts = atoms(scope.layout, layouts, facts)
    starts = tuple(scope.base + first_bit(member) // BYTE for member in scope.layout.members)
    same = [one for one in (*others, *premises.beside) if one.objects and _is_alike(one.objects[0], target)]
    found = spots((finding, *same), scope.places, starts)
    mixes = PhaseMixes(outer, layouts, premises.kernel, finding.bytes, _rows((finding, *same)))
    granule = record_alignment(with_inferred_alignment(outer))
    heat = record_heat((finding, *same), found, starts, granule, mixes)
    known = Scope(scope.layout, starts)
    code = code_of(outer, layouts, premises.accesses)
    turns = turns_of((finding, *same), known, heat, code)
    limits = freedom(scope.layout, parts, layouts, facts, scope.base, outer)
    owners = tuple(atom for atom, part in enumerate(parts) for _ in part.members)
    positions = tuple(tuple(at for at, owner in enumerate(owners) if owner == atom) for atom in range(len(parts)))
    inferred = inferences(layouts.by_id(scope.layout.id), scope.layout)
    shapes = tuple(tuple(shape_of(member) for member in part.members) for part in parts)
    return Subject(
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
        turns,
        forecast(heat, turns, starts, granule),
        interest(known, code),
    )


def _is_alike(one: LineObject, target: LineObject) -> bool:
    """Whether a line's first object is known to be such a record, too."""
    return one.layout == target.layout and one.outcome in KNOWN


def _rows(lines: Iterable[Finding]) -> tuple[VariableRow, ...]:
    """The variables that all objects of the lines are; none where one of them is none."""
    rows = [line.objects[0].row for line in lines]
    known = [row for row in rows if row is not None]
    return tuple(dict.fromkeys(known)) if len(known) == len(rows) else ()


def _scope(outer: Layout, pairs: tuple[ConflictPair, ...], layouts: Layouts) -> _Scope:
    """The innermost anonymous struct that holds the heaviest pair, else the record itself."""
    scope = _Scope(with_inferred_alignment(outer), 0, visible_places(outer, layouts))
    entered = {outer.id}
    while (inner := _inner(scope, pairs, layouts)) is not None and inner.layout.id not in entered:
        scope = inner
        entered.add(inner.layout.id)
    return scope


def _inner(scope: _Scope, pairs: tuple[ConflictPair, ...], layouts: Layouts) -> _Scope | None:
    for pair in pairs:
        ends = [scope.places[name] for name in (pair.first, pair.second) if name in scope.places]
        if len(ends) < 2 or pair.first == pair.second:
            continue
        if ends[0].member != ends[1].member:
            return None
        holder = scope.layout.members[ends[0].member]
        inner = anonymous_struct(holder, layouts)
        if inner is None:
            return None
        return _Scope(with_inferred_alignment(inner), scope.base + holder.offset, visible_places(inner, layouts))
    return None
