# SPDX-License-Identifier: GPL-2.0-or-later
"""Hot members that may stay together: those that do not disturb each other, as far as the profile shows.

A lock and the word it protects, or what one thread writes, move as one; each alone would leave half of the contention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from linesmith.tuner.cost.record_heat import contention
from linesmith.tuner.grouping import companies as grouped
from linesmith.tuner.space.hot_record import HotRecord

# Hot atoms that are looked at, the hottest.
MOST_ATOMS = 8
# Groups of them that are moved.
MOST_COMPANIES = 4
# What of the record's contention an atom must have had a part in to be worth a dimension.
WORTHWHILE = 0.05


@dataclass(frozen=True, slots=True)
class Company:
    """Atoms that move together, the hottest first."""

    atoms: tuple[int, ...]


def companies(record: HotRecord) -> tuple[Company, ...]:
    """The companies of the record's hot atoms, the hottest first; each atom is in one."""
    costs = _costs(record)
    found = grouped(hottest(record)[:MOST_ATOMS], partial(_with, costs))
    return tuple(Company(tuple(one)) for one in found[:MOST_COMPANIES])


def hottest(record: HotRecord) -> list[int]:
    """Atoms with hot members that may move, those that cost most first; of equal ones the written before the read."""
    target = record.subject
    heat = {spot: [0.0, float(spot.written), float(spot.samples)] for spot in target.heat.spots}
    for contact in target.heat.sampled:
        for spot in (contact.first, contact.second):
            heat[spot][0] += contact.weight
    for pair in record.neighbours:
        for spot in (pair.first, pair.second):
            heat[spot][0] += pair.weight
    least = WORTHWHILE * record.contended
    worth = [spot for spot in heat if contention(spot.name, record.lines) >= least]
    ranked = sorted(worth, key=lambda spot: [-value for value in heat[spot]])
    atoms = dict.fromkeys(target.owners[spot.member] for spot in ranked)
    return [atom for atom in atoms if target.parts[atom].name and len(target.freedom.places(atom)) > 1]


def _costs(record: HotRecord) -> list[dict[frozenset[int], float]]:
    """What each two atoms cost each other, for each disturbance: of what stands in for it, the worst counts."""
    owners = record.subject.owners
    found: list[dict[frozenset[int], float]] = []
    for group in record.disturbances:
        costs: dict[frozenset[int], float] = {}
        for contact in (one for one in group if one.sampled):
            pair = frozenset((owners[contact.first.member], owners[contact.second.member]))
            costs[pair] = max(costs.get(pair, 0.0), contact.weight)
        found.append(costs)
    return found


def _with(costs: list[dict[frozenset[int], float]], atom: int, company: Sequence[int] | None) -> float:
    """What the atom costs with those of the company, ``None`` for all there are."""
    met = (
        [pair for pair in one if atom in pair and (company is None or pair - {atom} <= set(company))] for one in costs
    )
    return sum(max((one[pair] for pair in pairs), default=0.0) for one, pairs in zip(costs, met, strict=True))
