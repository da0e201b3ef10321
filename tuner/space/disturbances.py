# SPDX-License-Identifier: GPL-2.0-or-later
"""Contacts with those that stand in for them: who disturbs once the writer that is blamed now has gone.

A worker that writes several members of a line takes the line once, with the first of them, and a profile blames that
one alone. The others disturb the same readers as soon as they are left behind, so moving the first gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from linesmith.analyzer.geometry import ObjectStarts
from linesmith.analyzer.model import ADJACENT_LINE_BYTES, Finding
from linesmith.analyzer.sharing.own_members import own_members
from linesmith.tuner.cost.conflict import Cost, residual_share, share_together
from linesmith.tuner.cost.heat import Contact, Heat, Spot

# A contact of the profile, and those of which the worst takes its place where it does not meet any more.
Disturbance = tuple[Contact, ...]
# Stores by function, for each member.
Stores = Mapping[str, Mapping[str, int]]
# A spot and how often it is written, of the times that the one is for which it stands in.
Deputy = tuple[Spot, float]

# Spots that stand in for one that is written: those written most.
MOST_DEPUTIES = 3


def disturbances(heat: Heat, lines: Sequence[Finding]) -> tuple[Disturbance, ...]:
    """Each contact of ``heat``, followed by what stands in for it; ``lines`` are the findings on the record."""
    hostile = {frozenset((one.first.name, one.second.name)) for one in heat.sampled}
    lined = [_stores(line) for line in lines]
    return tuple((one, *_instead(heat, one, lined, hostile)) for one in heat.contacts)


def disturbance(heat: Heat, groups: Sequence[Disturbance], starts: Sequence[int], granule: int) -> Cost:
    """Contended samples of members that begin at bytes ``starts`` of objects that can start each ``granule`` bytes.

    Of each group the worst counts.
    """
    here, anywhere = heat.here(granule), heat.mix(granule)
    return Cost(
        _worst(groups, lambda one: share_together(one, starts, here, heat.line_bytes)),
        _worst(groups, lambda one: share_together(one, starts, anywhere, heat.line_bytes)),
    )


def adjacent_disturbance(groups: Sequence[Disturbance], starts: Sequence[int], objects: ObjectStarts) -> float:
    """The same on average over all phases of the ``objects`` at 128 bytes, where the prefetcher pairs lines."""
    return _worst(groups, lambda one: residual_share(one, starts, ADJACENT_LINE_BYTES, objects))


def _worst(groups: Sequence[Disturbance], share: Callable[[Contact], float]) -> float:
    return sum(max(one.weight * share(one) for one in group) for group in groups)


def _stores(line: Finding) -> Stores:
    found: dict[str, dict[str, int]] = {}
    for member in own_members(line):
        for function in member.functions:
            known = found.setdefault(member.top, {})
            known[function.name] = known.get(function.name, 0) + function.stores
    return found


def _instead(heat: Heat, contact: Contact, lined: Sequence[Stores], hostile: set[frozenset[str]]) -> Iterator[Contact]:
    """The contacts of all that stand in for its spots with each other, where both were seen on one line."""
    if not contact.sampled:
        return
    for stores in lined:
        if contact.first.name in stores and contact.second.name in stores:
            sides = [(one, *_deputies(heat, one, stores, hostile)) for one in _sides(contact)]
            for (first, often), (second, as_often) in list(product(*sides))[1:]:
                if first != second:
                    yield replace(contact, first=first, second=second, weight=contact.weight * often * as_often)


def _sides(contact: Contact) -> tuple[Deputy, Deputy]:
    return (contact.first, 1.0), (contact.second, 1.0)


def _deputies(heat: Heat, of: Deputy, stores: Stores, hostile: set[frozenset[str]]) -> list[Deputy]:
    """Who is written by the same functions, those written most first; none that the spot was seen to disturb."""
    spot = of[0]
    friends = [
        (one, _share(stores[one.name], stores[spot.name]))
        for one in heat.spots
        if one != spot and one.name in stores and frozenset((one.name, spot.name)) not in hostile
    ]
    return sorted((one for one in friends if one[1]), key=lambda one: -one[1])[:MOST_DEPUTIES]


def _share(stores: Mapping[str, int], others: Mapping[str, int]) -> float:
    """How often a member is stored to by functions that store to another, of the times that this one is; at most 1."""
    common = [name for name, count in stores.items() if count and others.get(name)]
    whole = sum(others[name] for name in common)
    return min(1.0, sum(stores[name] for name in common) / whole) if whole else 0.0
