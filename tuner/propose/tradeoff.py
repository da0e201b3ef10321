# SPDX-License-Identifier: GPL-2.0-or-later
"""What speaks for and against an option: what it leaves, how large it makes the record, what a reviewer has to read.

Of all options those stay that no other one beats in what they leave and risk, in size and in churn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.layouts.gaps import ObjectStarts
from linesmith.analyzer.model import Saving
from linesmith.tuner.cost.meetings import Cost, adjacent_cost, hot_lines, hot_neighbours, residual_share, share_together
from linesmith.tuner.cost.phases import memory
from linesmith.tuner.cost.saving import exposure
from linesmith.tuner.propose.arrangement import churn
from linesmith.tuner.propose.search import Option
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

NO_SAVING = Saving()


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """What speaks for and against ``option``; less is better in all.

    ``left`` are contended samples that stay, the mean of the profile's phase and of all objects, of ``now`` as
    it is; the best option leaves ``best``. ``paired`` are those of members on one pair of
    lines. ``exposed`` is how many members without samples newly meet a writer, as much as each is probably read.
    ``members`` move, ``disturbed`` is the share of the others whose offsets change. ``growth``, of ``size`` bytes, may
    be negative; ``held`` is by how much the record around it grows that grows most. Both make objects take a share of
    ``heavier`` more memory. ``around_lock`` tells that others move
    away from a lock that stays. ``details`` decide between equals.
    ``saving`` is what a user is told, once it is worked out. ``parts`` tells that some pair of the profile meets in
    fewer objects than now, wherever they begin; ``held_longer`` that a lock is held longer because of its neighbours.
    """

    option: Option
    now: float
    best: float
    left: float
    paired: float
    exposed: float
    members: int
    disturbed: float
    size: int
    growth: int
    heavier: float
    around_lock: bool
    details: tuple[float, ...]
    saving: Saving = NO_SAVING
    held: int = 0
    parts: bool = True
    held_longer: bool = False

    @property
    def promised(self) -> float:
        """Contended samples to expect: half of what may go besides where all wait for who waits beside the lock."""
        return (self.saving.likely + self.saving.contended.most) / 2 if self.held_longer else self.saving.likely

    @property
    def grown(self) -> int:
        """Bytes by which the record or one around it becomes larger, negative where all shrink."""
        return max(self.growth, self.held)

    @property
    def cost(self) -> float:
        """Contended samples that stay, with those that are risked."""
        return self.left + EXPOSED_COST * (self.now - self.best) * self.exposed

    @property
    def victim(self) -> bool:
        """Whether only members move that writers disturb, and no writer."""
        return bool(self.details[4])

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
    paired = adjacent_cost(target.heat, option.starts, objects)
    names = {contact.writer for contact in target.heat.sampled}
    writers = [spot for spot in target.heat.spots if spot.name in names]
    locks = {target.owners[spot.member] for spot in writers if spot.lock}
    changed = disturbed(target, option)
    return Tradeoff(
        option=option,
        now=left(target.now),
        best=best,
        left=left(option.cost),
        paired=paired,
        exposed=exposure(target, option.starts, option.granule),
        members=churn(target, option.arrangement).members,
        disturbed=sum(target.interest[position] for position in changed) / max(sum(target.interest), 1.0),
        size=target.layout.size,
        growth=growth,
        heavier=_heavier(target, option),
        around_lock=bool(locks) and locks.isdisjoint(option.arrangement.moved),
        details=(
            option.cost.anywhere,
            elsewhere(target, option),
            hot_neighbours(target.heat, option.starts, objects),
            option.size,
            all(target.owners[spot.member] not in option.arrangement.moved for spot in writers),
            hot_lines(target.heat, option.starts, target.heat.mix(option.granule)),
            paired,
            len(changed),
        ),
        held=target.holders.growth(option.granule, growth),
        parts=_parts(target, option),
        held_longer=bool(target.heat.waited_for),
    )


def elsewhere(target: ContendedRecord, option: Option) -> float:
    """What an option costs a variable that another build puts elsewhere; nothing where all places count already."""
    heat = target.heat
    if not heat.mixes.rows or not heat.mixes.placed:
        return 0.0
    anywhere = ObjectStarts(option.granule)
    return sum(one.weight * residual_share(one, option.starts, heat.line_bytes, anywhere) for one in heat.contacts)


def _parts(target: ContendedRecord, option: Option) -> bool:
    """Whether a pair of the profile meets in fewer objects, with all phases that they have.

    A layout that only helps where the profile's objects happen to begin helps no other run.
    """
    heat = target.heat
    now, then = heat.mix(heat.granule), heat.mix(option.granule, target.growth(option.size))
    return any(
        share_together(one, option.starts, then, heat.line_bytes)
        < share_together(one, target.starts, now, heat.line_bytes)
        for one in heat.sampled
    )


def left(cost: Cost) -> float:
    """Contended samples that a layout leaves: the profile's phase counts as much as all phases together."""
    return (cost.here + cost.anywhere) / 2


def smallest_first(one: Tradeoff) -> tuple[float, ...]:
    """What to order by: growth, then members that move, then what is left and risked, then details."""
    return *one.effort, round(one.cost / max(one.now - one.best, 1e-9) / STEP), *one.details


def best_first(one: Tradeoff) -> tuple[float, ...]:
    """What to order by: the price, then the smallest change."""
    return round(one.price / STEP), *smallest_first(one)


def _heavier(target: ContendedRecord, option: Option) -> float:
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


# What two options may leave more or less, as a share of what can be saved, without being better or worse: on
# one line, and on a pair of lines, which matters where a prefetcher brings pairs only.
EQUAL = 0.02
PAIRED_EQUAL = 0.2


def undominated(found: Sequence[Tradeoff]) -> list[Tradeoff]:
    """Those of ``found`` that none beats in one thing without being beaten in another; equals stay."""
    return [one for one in found if not any(_beats(other, one) for other in found)]


def _beats(one: Tradeoff, other: Tradeoff) -> bool:
    """Whether ``one`` is better in something, and worse in nothing; moving the victim never beats moving the writer."""
    if one.victim and not other.victim:
        return False
    now = other.now - other.best
    leads = (
        (other.left - one.left) / (EQUAL * now),
        (other.paired - one.paired) / (PAIRED_EQUAL * now),
        2.0 * (other.exposed - one.exposed),
        2.0 * (other.grown - one.grown),
        2.0 * (other.members - one.members),
    )
    return max(leads) > 1 and min(leads) >= -1
