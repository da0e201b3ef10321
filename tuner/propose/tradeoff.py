# SPDX-License-Identifier: GPL-2.0-or-later
"""What speaks for and against an option: what it leaves, how large it makes the record, what a reviewer has to read.

It orders what is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.layouts.gaps import ObjectStarts
from linesmith.tuner.cost.meetings import Cost, adjacent_cost, residual_share
from linesmith.tuner.cost.phases import memory
from linesmith.tuner.propose.arrangement import Option, churn
from linesmith.tuner.propose.subject import ContendedRecord

# What one exposed member is taken to cost, as a share of what can be saved.
EXPOSED_COST = 0.3
# What each member that moves must take away at least, as a share of what can be saved.
WORTH_A_MOVE = 0.06
# What must be taken away if all members change their offset without being moved: nobody knows whom they meet then.
WORTH_DISTURBING = 0.05
# What growing must take away more: for growing at all, and for its share of the size; there is a limit to it, for what
# is contended most is often not what there is most of. Shrinking is worth its share.
WORTH_GROWING = 0.2
MOST_FOR_GROWING = 0.5
# What moving others away from a contended lock must take away more than moving the lock: it stays with all the rest.
AROUND_A_LOCK = 0.3
# Steps in which options are compared, as a share of what can be saved: within one, smaller things decide.
STEP = 0.05


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """What speaks for and against ``option``; less is better in all.

    ``left`` are contended samples that stay, the mean of the profile's phase and of all objects, of ``now`` as it is;
    the best option leaves ``best``. ``exposed`` is how many members without samples newly meet a writer, as much as
    each is probably read. ``members`` move, ``disturbed`` is the share of the others whose offsets change. ``growth``,
    of ``size`` bytes, may be negative; ``held`` is by how much the record around it grows that grows most. Both make
    objects take a share of ``heavier`` more memory. ``around_lock`` tells that others move away from a lock that stays.
    ``details`` decide between equals.
    """

    option: Option
    now: float
    best: float
    left: float
    exposed: float
    members: int
    disturbed: float
    size: int
    growth: int
    heavier: float
    around_lock: bool
    details: tuple[float, ...]
    held: int = 0

    @property
    def grown(self) -> int:
        """Bytes by which the record or one around it becomes larger, negative where all shrink."""
        return max(self.growth, self.held)

    @property
    def cost(self) -> float:
        """Contended samples that stay, with those that are risked."""
        return self.left + EXPOSED_COST * (self.now - self.best) * self.exposed

    @property
    def price(self) -> float:
        """What is left of what can be saved, as a share, with what churn and growth must earn; doing nothing has 1."""
        share = self.growth / self.size if self.growth else self.heavier
        grown = share + (WORTH_GROWING if self.grown > 0 else 0.0)
        changed = WORTH_A_MOVE * self.members + WORTH_DISTURBING * self.disturbed
        around = AROUND_A_LOCK if self.around_lock else 0.0
        return (self.cost - self.best) / (self.now - self.best) + changed + around + min(grown, MOST_FOR_GROWING)

    @property
    def effort(self) -> tuple[bool, int]:
        """Whether a record grows, and how many members move: the smaller change has less of it."""
        return self.grown > 0, self.members


def tradeoff(target: ContendedRecord, option: Option, best: float) -> Tradeoff:
    """What speaks for and against a priced option; the best of all leaves ``best`` contended samples."""
    growth = option.size - target.layout.size
    objects = target.heat.mixes.starts(option.granule, target.growth(option.size))
    names = {contact.writer for contact in target.heat.sampled}
    writers = [spot for spot in target.heat.spots if spot.name in names]
    locks = {target.owners[spot.member] for spot in writers if spot.lock}
    changed = disturbed(target, option)
    return Tradeoff(
        option=option,
        now=left(target.now),
        best=best,
        left=left(option.cost),
        exposed=exposure(target, option.starts, option.granule),
        members=churn(target, option.arrangement).members,
        disturbed=sum(target.interest[position] for position in changed) / max(sum(target.interest), 1.0),
        size=target.layout.size,
        growth=growth,
        heavier=heavier(target, option),
        around_lock=bool(locks) and locks.isdisjoint(option.arrangement.moved),
        details=(
            option.cost.anywhere,
            elsewhere(target, option),
            option.size,
            all(target.owners[spot.member] not in option.arrangement.moved for spot in writers),
            adjacent_cost(target.heat, option.starts, objects),
            len(changed),
        ),
        held=target.holders.growth(option.granule, growth),
    )


def exposure(target: ContendedRecord, starts: Sequence[int], granule: int) -> float:
    """How many members without samples newly meet a written one, each as much as it is probably used (0 to 1).

    Each counts once, for the mean of the profile's phases and all phases, as far as ``starts`` (bytes in the object by
    member position; objects start every ``granule`` bytes) make it more than it is now.
    """
    sampled = {spot.member for spot in target.heat.spots}
    found = 0.0
    for position in range(len(starts)):
        if position not in sampled and (then := _exposed(target, position, starts, granule)):
            now = _exposed(target, position, target.starts, target.heat.granule)
            found += target.interest[position] * max(0.0, then - now)
    return found


def _exposed(target: ContendedRecord, position: int, starts: Sequence[int], granule: int) -> float:
    """How much of the time the member at ``position`` shares a line with the written one that it meets most."""
    heat, start, size = target.heat, starts[position], target.layout.members[position].size
    mixes = heat.here(granule), heat.mix(granule)
    found = 0.0
    for spot in (one for one in heat.spots if one.written):
        first = starts[spot.member] + spot.start
        last, behind = (first + spot.size - 1, start) if first <= start else (start + size - 1, first)
        found = max(found, sum(mix.share(last, behind, heat.line_bytes) for mix in mixes) / 2)
    return found


def elsewhere(target: ContendedRecord, option: Option) -> float:
    """What an option costs a variable that another build puts elsewhere; nothing where all places count already."""
    heat = target.heat
    if not heat.mixes.rows or not heat.mixes.placed:
        return 0.0
    anywhere = ObjectStarts(option.granule)
    return sum(one.weight * residual_share(one, option.starts, heat.line_bytes, anywhere) for one in heat.contacts)


def left(cost: Cost) -> float:
    """Contended samples that a layout leaves: the profile's phase counts as much as all phases together."""
    return (cost.here + cost.anywhere) / 2


def smallest_first(one: Tradeoff) -> tuple[float, ...]:
    """What to order by: growth, then members that move, then what is left and risked, then details."""
    return *one.effort, round(one.cost / max(one.now - one.best, 1e-9) / STEP), *one.details


def best_first(one: Tradeoff) -> tuple[float, ...]:
    """What to order by: the price, then the smallest change."""
    return round(one.price / STEP), *smallest_first(one)


def heavier(target: ContendedRecord, option: Option) -> float:
    """By what share objects need more memory: slabs of all caches that hold one, else bytes."""
    if target.grown(option.size, option.granule) <= 0:
        return 0.0
    mixes, growth = target.heat.mixes, target.growth(option.size)
    before = sum(one.pages_per_1000 for one in memory(mixes, target.heat.granule))
    after = sum(one.pages_per_1000 for one in memory(mixes, option.granule, growth))
    if before:
        return after / before - 1
    largest = target.holders.largest(option.granule, option.size - target.layout.size)
    of_holder = largest.after / largest.before - 1 if largest else 0.0
    return max(option.size / target.layout.size - 1, of_holder)


def disturbed(target: ContendedRecord, option: Option) -> list[int]:
    """The positions of members that change their offset without being moved."""
    still = (position for position, atom in enumerate(target.owners) if atom not in option.arrangement.moved)
    return [position for position in still if option.starts[position] != target.starts[position]]
