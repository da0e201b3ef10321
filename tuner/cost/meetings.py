# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost: contended samples, over the phases that objects can have.

A contact costs its weight in a phase in which both spots have bytes on one line, and nothing in any other phase.
The assumptions are in docs/cost.md. From top to bottom: the cost of a layout; which members share a line in a phase;
which of them part and join between two layouts; proofs for single phases; and the heat of a record, which puts the
contacts of all lines that hold it on one scale.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

from linesmith.analyzer.layouts.gaps import ObjectStarts, Span, meeting_phases
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Finding,
    PhaseProof,
    PlacePhases,
    Residual,
)
from linesmith.analyzer.sharing.parts import own_members
from linesmith.tuner.cost.heat import (
    Contact,
    MemberSpot,
    RecordHeat,
    line_contacts,
)
from linesmith.tuner.cost.phases import LINE_SIZES, PhaseMix, PhaseMixes, every_start, phase_mix


@dataclass(frozen=True, slots=True)
class Cost:
    """Predicted contended samples: ``here`` in the profile's phase, ``anywhere`` averaged over all phases."""

    here: float
    anywhere: float


def cost(heat: RecordHeat, starts: Sequence[int], granule: int, growth: int = 0) -> Cost:
    """Cost of members that begin at bytes ``starts`` of the object (by position in the layout).

    Objects are aligned to ``granule`` and ``growth`` bytes larger than they are now.
    """
    mix, seen, line_bytes = heat.mix(granule, growth), heat.here(granule, growth), heat.line_bytes
    here = anywhere = 0.0
    for contact in heat.contacts:
        last, first = _edges(contact, starts)
        if first - last < line_bytes:
            anywhere += contact.weight * mix.share(last, first, line_bytes)
            here += contact.weight * seen.share(last, first, line_bytes)
    return Cost(here, anywhere)


def share_together(contact: Contact, starts: Sequence[int], mix: PhaseMix, line_bytes: int) -> float:
    """Share of the objects of ``mix`` in which the contact's spots meet."""
    last, first = _edges(contact, starts)
    return mix.share(last, first, line_bytes)


def adjacent_cost(heat: RecordHeat, starts: Sequence[int], objects: ObjectStarts) -> float:
    """The average over all phases of the ``objects`` at 128 bytes, where the prefetcher pairs lines."""
    return sum(one.weight * residual_share(one, starts, ADJACENT_LINE_BYTES, objects) for one in heat.contacts)


def _edges(contact: Contact, starts: Sequence[int]) -> tuple[int, int]:
    """Last byte of the spot that begins first, and first byte of the other: what lies between parts them."""
    one, other = contact.first, contact.second
    here, there = starts[one.member] + one.start, starts[other.member] + other.start
    return (here + one.size - 1, there) if here <= there else (there + other.size - 1, here)


def residual_share(contact: Contact, starts: Sequence[int], line_bytes: int, objects: ObjectStarts) -> float:
    """Share of the phases of the ``objects`` in which the contact's spots meet on a line of ``line_bytes``."""
    last, first = _edges(contact, starts)
    if first - last >= line_bytes:
        return 0.0
    return _share((last + objects.first) % objects.step, max(first - last, 0), line_bytes, objects.step)


@lru_cache(maxsize=1 << 14)
def _share(last: int, gap: int, line_bytes: int, granule: int) -> float:
    return meeting_phases(Span(last, 1), Span(last + gap, 1), line_bytes, granule)


def residuals(
    heat: RecordHeat, before: Sequence[int], after: Sequence[int], objects: tuple[ObjectStarts, ObjectStarts]
) -> tuple[Residual, ...]:
    """For each sampled contact and line size, the share of phases in which it meets before and after.

    ``objects`` are those of the old layout and of the new one.
    """
    return tuple(
        Residual(
            contact.first.name,
            contact.second.name,
            line_bytes,
            residual_share(contact, before, line_bytes, objects[0]),
            residual_share(contact, after, line_bytes, objects[1]),
        )
        for contact in heat.sampled
        for line_bytes in (CACHE_LINE_BYTES, ADJACENT_LINE_BYTES)
    )


def proofs(heat: RecordHeat, starts: Sequence[int], granule: int, growth: int = 0) -> tuple[PhaseProof, ...]:
    """Each contact of the profile, at 64 and at 128 bytes, at each place and, last, at every multiple of ``granule``.

    The last is left out where all objects were found in slab caches. Members begin at bytes ``starts`` of objects that
    are ``growth`` bytes larger than now.
    """
    mix = heat.mix(granule, growth)
    in_slabs = heat.mixes.placed and not heat.mixes.rows
    # At each place, and at every start; with each of its phases by itself.
    places = [
        (size, place, tuple(_one_phase(phase, size) for phase, _ in place.phases))
        for size in LINE_SIZES
        for place in (*(one for one in mix.at(size) if one.place), *(() if in_slabs else (every_start(granule, size),)))
    ]
    found = []
    for contact in sorted(heat.sampled, key=lambda one: -one.weight):
        names = contact.first.name, contact.second.name
        for size, place, alone in places:
            met = [share_together(contact, starts, one, size) > 0 for one in alone]
            share = sum(share for (_, share), together in zip(place.phases, met, strict=True) if together)
            found.append(PhaseProof(*names, place.place, size, len(met), sum(met), min(share, 1.0)))
    return tuple(found)


@lru_cache(maxsize=1024)
def _one_phase(phase: int, line_bytes: int) -> PhaseMix:
    return phase_mix([PlacePhases("", line_bytes, ((phase, 1.0),))])


# What of their contention two hot members are taken to cost each other that were never seen on one line: often they
# are touched by the same CPU.
CHANCE = 0.25


def record_heat(
    lines: Sequence[Finding], found: Mapping[str, MemberSpot], starts: Sequence[int], granule: int, mixes: PhaseMixes
) -> RecordHeat:
    """The heat that all ``lines`` put on the spots ``found``; each line's first object is of the record.

    ``starts`` are bytes in the object by member position. A contact that was seen in some of the profile's phases would
    cost more in all of them: it weighs what it costs where the two are always together.
    """
    by_line = [line_contacts(line, found, starts) for line in lines]
    phases = [phase for phase, _ in by_line]
    shares = {name: contention(name, lines) for name in found}
    # Members that were hot on one line: if they cost each other anything, the line says so.
    hot = [{member.top for member in own_members(line) if member.top in found} for line in lines]
    peaceful = {frozenset(pair) for names in hot for pair in combinations(names, 2)}
    added = _added(one for _, contacts in by_line for one in contacts)
    contacts = [one for one in added if one.sampled or one.names not in peaceful]
    heat = RecordHeat(tuple(found.values()), (), _seen(phases, lines), granule, lines[0].bytes, mixes)
    return replace(heat, contacts=tuple(_weighed(one, heat, shares, starts) for one in contacts))


def contention(name: str, lines: Iterable[Finding]) -> float:
    """In how many contended samples a member can have had a part: on no line in more than the line has."""
    return sum(
        min(line.contended, sum(member.reads + member.writes for member in own_members(line) if member.top == name))
        for line in lines
    )


def _added(found: Iterable[Contact]) -> tuple[Contact, ...]:
    """Each two spots once; those seen to meet on some line count as sampled, with the weight of all lines."""
    contacts: dict[frozenset[str], Contact] = {}
    for one in sorted(found, key=lambda one: not one.sampled):
        known = contacts.get(one.names)
        if known is None:
            contacts[one.names] = one
        elif one.sampled:
            contacts[one.names] = replace(known, weight=known.weight + one.weight)
    return tuple(contacts.values())


def _weighed(contact: Contact, heat: RecordHeat, shares: Mapping[str, float], starts: Sequence[int]) -> Contact:
    """What the contact costs where its spots are always together; of one never seen, what it may cost by chance."""
    if contact.sampled:
        share = share_together(contact, starts, heat.here(heat.granule), heat.line_bytes) if heat.seen else 1.0
        return replace(contact, weight=contact.weight / (share or 1.0))
    return replace(contact, weight=CHANCE * min(shares[contact.first.name], shares[contact.second.name]))


def _seen(phases: Sequence[int | None], lines: Sequence[Finding]) -> tuple[tuple[int, float], ...]:
    """The phases of the lines' objects by their contended samples; none where one of them is not known."""
    weights: dict[int, float] = defaultdict(float)
    for phase, line in zip(phases, lines, strict=True):
        if phase is None:
            return ()
        weights[phase] += max(line.contended, 1)
    total = sum(weights.values())
    return tuple((phase, weight / total) for phase, weight in sorted(weights.items()))
