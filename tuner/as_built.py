# SPDX-License-Identifier: GPL-2.0-or-later
"""A change as two builds have it: what became of the pairs that met, from the layouts that a compiler really made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.geometry import lines
from linesmith.analyzer.geometry.atoms import visible, visible_places
from linesmith.analyzer.geometry.inference import record_alignment, with_inferred_alignment
from linesmith.analyzer.geometry.placement import BYTE, first_bit, place_member
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Candidate, Layout, Member
from linesmith.tuner.cost.conflict import prediction, residuals
from linesmith.tuner.cost.proofs import proofs
from linesmith.tuner.subject import Subject


@dataclass(frozen=True, slots=True)
class _Home:
    """Where something lies in the other build's object: the bit at which it begins, in the member it is part of."""

    bit: int
    member: Member


def as_built(target: Subject, outer: Layout, layouts: Layouts, built: Layout, theirs: Layouts) -> Candidate | None:
    """The difference between ``outer``, the record that holds ``target``, and the same record as it was ``built``.

    Its steps are not known. ``None`` where the two do not hold the same members, so that nothing can be compared.
    """
    homes = _homes(built, theirs)
    found = tuple(_home(member, layouts, homes) for member in target.layout.members)
    known = tuple(one for one in found if one is not None)
    if len(known) < len(found):
        return None
    starts, growth = (
        tuple(one.bit // BYTE for one in known),
        target.growth(target.layout.size + built.size - outer.size),
    )
    granule = record_alignment(with_inferred_alignment(built))
    mixes, before = target.heat.mixes, layouts.by_id(target.layout.id)
    objects = mixes.starts(target.heat.granule), mixes.starts(granule, growth)
    after = _rebuilt(before, known, built if before.id == outer.id else None, built.size - outer.size)
    return Candidate(
        target.type,
        before,
        after,
        (),
        residuals(target.heat, target.starts, starts, objects),
        prediction(target.heat, target.starts, starts, granule, growth),
        lines(after),
        proofs=proofs(target.heat, starts, granule, growth),
        holders=target.holders.changes(granule, built.size - outer.size),
        granules=(objects[0].step, objects[1].step),
        firsts=mixes.firsts((target.heat.granule, granule), growth),
        loose=mixes.loose(granule, growth),
    )


def _homes(built: Layout, theirs: Layouts) -> dict[str, _Home]:
    """By each name that the record shows, where it is."""
    found = ((name, place, built.members[place.member]) for name, place in visible_places(built, theirs).items())
    return {name: _Home(first_bit(member) + place.start * BYTE, member) for name, place, member in found}


def _home(member: Member, layouts: Layouts, homes: Mapping[str, _Home]) -> _Home | None:
    """Where the member is; ``None`` where it is not there, or what it shows no longer lies together."""
    shown = [(homes.get(name), start) for name, start, _ in visible(member, layouts)]
    found = {replace(home, bit=home.bit - start * BYTE) for home, start in shown if home is not None}
    return found.pop() if len(found) == 1 and all(home for home, _ in shown) else None


def _rebuilt(before: Layout, homes: Sequence[_Home], built: Layout | None, growth: int) -> Layout:
    """``before`` with its members where they are now, by the types of its own build; ``built`` is the whole record."""
    base = 0 if built else min(home.bit for home in homes)
    placed = [_placed(member, home, base) for member, home in zip(before.members, homes, strict=True)]
    members = tuple(sorted(placed, key=first_bit))
    aligned = built or before
    return replace(
        before,
        size=before.size + growth,
        members=members,
        natural_alignment=aligned.natural_alignment,
        alignment=aligned.alignment,
    )


def _placed(member: Member, home: _Home, base: int) -> Member:
    there = place_member(member, home.bit - base)
    return replace(there, alignment=home.member.alignment) if member.name else there
