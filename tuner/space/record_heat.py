# SPDX-License-Identifier: GPL-2.0-or-later
"""The heat of a whole record: the contacts of all its lines, and what meets nowhere yet, weighed on one scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.model import Finding
from linesmith.tuner.cost.heat import Contact, Heat, Spot, heat_of, own_members
from linesmith.tuner.subject import Subject

# What of their contention two hot members are taken to cost each other that were never seen on one line: often they
# are touched by the same CPU.
CHANCE = 0.25


def record_heat(target: Subject, lines: Sequence[Finding]) -> Heat:
    """The heat of all ``lines``, findings on objects of the record ``target``; its hottest comes first.

    The phase is known when all lines agree on it.
    """
    known = {spot.name: spot for spot in target.heat.spots}
    heats = [heat_of(line, known, target.starts, target.heat.granule) for line in lines]
    shares = {name: contention(name, lines) for name in known}
    contacts = tuple(_weighed(contact, shares) for contact in _together(heats))
    phase = heats[0].phase if len({heat.phase for heat in heats}) == 1 else None
    return replace(target.heat, contacts=contacts, phase=phase)


def contention(name: str, lines: Iterable[Finding]) -> float:
    """In how many contended samples a member can have had a part: on no line in more than the line has."""
    return sum(min(line.contended, _samples(name, line)) for line in lines)


def _samples(name: str, line: Finding) -> int:
    return sum(member.reads + member.writes for member in own_members(line) if member.top == name)


def _together(heats: Sequence[Heat]) -> tuple[Contact, ...]:
    """Each two spots once; those seen to meet on some line count as sampled, with the weight of all lines."""
    found: dict[frozenset[Spot], Contact] = {}
    for contact in sorted(_contacts(heats), key=lambda one: not one.sampled):
        key = frozenset((contact.first, contact.second))
        known = found.get(key)
        if known is None:
            found[key] = contact
        elif contact.sampled:
            found[key] = replace(known, weight=known.weight + contact.weight)
    return tuple(found.values())


def _contacts(heats: Iterable[Heat]) -> Iterator[Contact]:
    for heat in heats:
        yield from heat.contacts


def _weighed(contact: Contact, shares: dict[str, float]) -> Contact:
    if contact.sampled:
        return contact
    return replace(contact, weight=CHANCE * min(shares[contact.first.name], shares[contact.second.name]))
