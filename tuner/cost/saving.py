# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout saves of the present one's contended accesses, with limits, and what is too little to be told."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from linesmith.analyzer.model import Bounds, Saving
from linesmith.tuner.cost.conflict import cost
from linesmith.tuner.cost.heat import Contact, Heat
from linesmith.tuner.cost.line_heat import LineHeat, Names
from linesmith.tuner.cost.noise import difference
from linesmith.tuner.cost.victims import Victim
from linesmith.tuner.cost.waiting import Placed, Waiting, partners
from linesmith.tuner.subject import Subject


def saving(target: Subject, starts: Sequence[int], size: int, granule: int) -> Saving:
    """What ``target`` saves with its members at bytes ``starts``; ``size`` and ``granule`` as for ``layout_cost``."""
    heat, growth = target.heat, size - target.layout.size
    before = Placed(heat, target.starts, heat.granule)
    after = Placed(heat, starts, granule, growth)
    found = [one for line in heat.lines for one in _saved(before, after, line)]
    likely = cost(heat, target.starts, heat.granule).here - cost(heat, starts, granule, growth).here
    noise = noise_floor(target)
    contended = Bounds(sum(one.contended.least for one in found), sum(one.contended.most for one in found))
    likely = min(max(likely, contended.least), contended.most)
    cycles = Bounds(sum(one.cycles.least for one in found), sum(one.cycles.most for one in found))
    return Saving(_with_noise(contended, noise), cycles, likely, noise)


def noise_floor(target: Subject) -> float:
    """Contended accesses by which two runs of the present layout may differ, of those that its contacts cost."""
    return difference(sum(one.weight for one in target.heat.sampled))


def _with_noise(amount: Bounds, noise: float) -> Bounds:
    return Bounds(amount.least - noise, amount.most + noise)


def _saved(before: Placed, after: Placed, line: LineHeat) -> Iterator[Waiting]:
    """What is saved in each phase of a line's objects, by the share that it has."""
    for phase, share in before.here(line):
        met = before.met(phase)
        for then, part in ((phase, 1.0),) if after.stays else after.everywhere:
            yield _difference(before.heat, line, met, after.met(then)).times(share * part)


def _difference(heat: Heat, line: LineHeat, before: frozenset[Names], after: frozenset[Names]) -> Waiting:
    """What a line saves when the members in ``before`` shared one and those in ``after`` will."""
    found = Waiting()
    for victim in line.victims:
        amount = _of_victim(victim, before, after)
        found += Waiting(amount, amount.times(victim.cycles))
    untold = _where(line.pairs, before, after, line.untold.most)
    new = sum(
        (_where({one.names}, before, after, one.most * line.share) for one in heat.contacts if _is_new(one, line)),
        Bounds(),
    )
    return found + Waiting(untold + new, (untold + new).times(line.cycles))


def _is_new(contact: Contact, line: LineHeat) -> bool:
    """Whether the line of the profile says nothing of the two."""
    return contact.names not in line.together


def _of_victim(victim: Victim, before: frozenset[Names], after: frozenset[Names]) -> Bounds:
    """The least and the most that a victim saves; nothing where it still meets the same."""
    names = frozenset(name for name, _ in victim.disturbers)
    then, later = (partners(victim.name, met) & names for met in (before, after))
    if then == later:
        return Bounds()
    old, new = victim.waits(then), victim.waits(later)
    least, most = old.least - new.most, old.most - new.least
    return Bounds(max(least, 0.0) if later <= then else least, min(most, 0.0) if then <= later else most)


def _where(pairs: Collection[Names], before: frozenset[Names], after: frozenset[Names], most: float) -> Bounds:
    """Nothing up to ``most`` where some of ``pairs`` part, and as much lost where some come together."""
    parted = any(pair in before and pair not in after for pair in pairs)
    joined = any(pair in after and pair not in before for pair in pairs)
    return Bounds(-most if joined else 0.0, most if parted else 0.0)
