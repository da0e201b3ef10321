# SPDX-License-Identifier: GPL-2.0-or-later
"""The heat of a whole record: the contacts of all lines that hold it, and what meets nowhere yet, on one scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

from linesmith.analyzer.model import Finding
from linesmith.analyzer.sharing.own_members import own_members
from linesmith.tuner.cost.conflict import share_together
from linesmith.tuner.cost.heat import Contact, Heat, Spot, heat_of
from linesmith.tuner.cost.line_heat import LineHeat, contended_on, line_heat
from linesmith.tuner.cost.phase_mixes import PhaseMixes

# What of their contention two hot members are taken to cost each other that were never seen on one line: often they
# are touched by the same CPU.
CHANCE = 0.25


def record_heat(
    lines: Sequence[Finding], found: Mapping[str, Spot], starts: Sequence[int], granule: int, mixes: PhaseMixes
) -> Heat:
    """The heat that all ``lines`` put on the spots ``found``; each line's first object is of the record.

    ``starts`` are bytes in the object by member position. A contact that was seen in some of the profile's phases would
    cost more in all of them: it weighs what it costs where the two are always together.
    """
    heats = [heat_of(line, found, starts, granule, mixes) for line in lines]
    shares = {name: contention(name, lines) for name in found}
    peaceful = {names for line in lines for names in _seen_together(line, found)}
    contacts = [
        one if one.sampled else _by_chance(one, shares)
        for one in _added(heats)
        if one.sampled or one.names not in peaceful
    ]
    known = _line_heats(heats, lines, found)
    heat = Heat(tuple(found.values()), tuple(contacts), _seen(heats, lines), granule, lines[0].bytes, mixes, known)
    return replace(heat, contacts=tuple(_always(heat, one, starts) for one in contacts))


def _line_heats(heats: Sequence[Heat], lines: Sequence[Finding], found: Mapping[str, Spot]) -> tuple[LineHeat, ...]:
    total = sum(max(contended_on(line), 1) for line in lines)
    pairs = zip(heats, lines, strict=True)
    return tuple(line_heat(line, heat.phase, max(contended_on(line), 1) / total, found) for heat, line in pairs)


def contention(name: str, lines: Iterable[Finding]) -> float:
    """In how many contended samples a member can have had a part: on no line in more than the line has."""
    return sum(min(line.contended, _samples(name, line)) for line in lines)


def _samples(name: str, line: Finding) -> int:
    return sum(member.reads + member.writes for member in own_members(line) if member.top == name)


def _seen_together(line: Finding, found: Mapping[str, Spot]) -> Iterable[frozenset[str]]:
    """Members that were hot on one line: if they cost each other anything, the line says so."""
    names = dict.fromkeys(member.top for member in own_members(line) if member.top in found)
    return (frozenset(pair) for pair in combinations(names, 2))


def _added(heats: Sequence[Heat]) -> tuple[Contact, ...]:
    """Each two spots once; those seen to meet on some line count as sampled, with the weight of all lines."""
    contacts: dict[frozenset[str], Contact] = {}
    for one in sorted(chain.from_iterable(heat.contacts for heat in heats), key=lambda one: not one.sampled):
        known = contacts.get(one.names)
        if known is None:
            contacts[one.names] = one
        elif one.sampled:
            contacts[one.names] = replace(known, weight=known.weight + one.weight)
    return tuple(contacts.values())


def _by_chance(contact: Contact, shares: Mapping[str, float]) -> Contact:
    least = min(shares[contact.first.name], shares[contact.second.name])
    return replace(contact, weight=CHANCE * least, most=max(least, min(contact.first.samples, contact.second.samples)))


def _seen(heats: Sequence[Heat], lines: Sequence[Finding]) -> tuple[tuple[int, float], ...]:
    """The phases of the lines' objects by their contended samples; none where one of them is not known."""
    if any(heat.phase is None for heat in heats):
        return ()
    weights: dict[int, float] = defaultdict(float)
    for heat, line in zip(heats, lines, strict=True):
        weights[heat.seen[0][0]] += max(line.contended, 1)
    total = sum(weights.values())
    return tuple((phase, weight / total) for phase, weight in sorted(weights.items()))


def _always(heat: Heat, contact: Contact, starts: Sequence[int]) -> Contact:
    if not contact.sampled:
        return contact
    share = share_together(contact, starts, heat.here(heat.granule), heat.line_bytes) if heat.seen else 1.0
    weight = contact.weight / (share or 1.0)
    return replace(contact, weight=weight, most=weight)
