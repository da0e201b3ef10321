# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout saves of the present one's contended accesses, with limits, and what is too little to be told.

A profile cannot speak for members that would newly share a line with a written one. A line without contention is not in
a profile, however often it is read: a reader moved there finds no writer, but a writer moved there disturbs readers
that nobody saw. ``exposure`` counts those, and the limits have what they may cost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from linesmith.analyzer.model import CACHE_LINE_BYTES, Bounds, ReplayedSaving, Saving, Simulation
from linesmith.tuner.cost.heat import Contact, LineHeat, MemberSpot, Names
from linesmith.tuner.cost.meetings import (
    Cost,
    Placed,
    Regrouped,
    Regroupings,
    WaitingCost,
    cost,
    partners,
    share_together,
)
from linesmith.tuner.cost.turns import forecast
from linesmith.tuner.cost.victims import Victim, difference
from linesmith.tuner.propose.subject import ContendedRecord


def replayed_saving(saving: Saving, simulation: Simulation) -> ReplayedSaving | None:
    """Both at lines of 64 bytes, objects where the trace had them; ``None`` where either says nothing.

    They are compared as shares of what the record costs before: the profile has the hottest lines, the trace all.
    """
    lines = [one for one in simulation.lines if one.line_bytes == CACHE_LINE_BYTES and one.phases == 1]
    if not lines or not lines[0].before.total or not saving.before:
        return None
    predicted = saving.contended.times(1 / saving.before)
    likely, replayed = saving.likely / saving.before, -lines[0].change
    holds = predicted.least <= replayed <= predicted.most
    return ReplayedSaving(predicted, likely, replayed, likely - replayed, holds)


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
    heat, member = target.heat, target.layout.members[position]
    mixes = heat.here(granule), heat.mix(granule)
    alone = MemberSpot(member.name, position, 0, member.size, 0, False)
    found = 0.0
    for spot in heat.spots:
        first = starts[spot.member] + spot.start
        in_reach = first - heat.line_bytes - member.size < starts[position] < first + spot.size + heat.line_bytes
        if spot.written and in_reach:
            contact = Contact(spot, alone, "", 1, False)
            found = max(found, sum(share_together(contact, starts, mix, heat.line_bytes) for mix in mixes) / 2)
    return found


def saving(target: ContendedRecord, starts: Sequence[int], size: int, granule: int) -> Saving:
    """What ``target`` saves with its members at bytes ``starts`` of the object, by position.

    ``size`` is that of the record whose members move, ``granule`` the alignment of the objects, both in bytes.
    """
    before, after = before_and_after(target, starts, size, granule)
    # By how much two runs of the present layout may differ, of what its contacts cost.
    noise = difference(sum(one.weight for one in target.heat.sampled))
    likely, exposed = likely_savings(target, after).here, exposure_cost(target, after)
    known = saved(before, after, before.here)
    total, each = target.heat.contended, target.heat.mean_cycles
    contended = _limits(widened(known.contended, exposed, likely), noise, max(total, noise))
    cycles = widened(known.cycles, exposed * each, likely * each)
    return Saving(
        contended, _limits(cycles, noise * each, max(total, noise) * each), likely, noise, total, total * each
    )


def _limits(limits: Bounds, noise: float, most: float) -> Bounds:
    """The limits with what is chance, at most twice as much as now and at least nothing left: nobody knows of more."""
    return Bounds(max(limits.least - noise, -most), min(limits.most + noise, most))


def before_and_after(target: ContendedRecord, starts: Sequence[int], size: int, granule: int) -> tuple[Placed, Placed]:
    """The record as it is, and with ``size`` bytes and its members at bytes ``starts``."""
    now = Placed(target.heat, target.starts, target.heat.granule)
    return now, Placed(target.heat, starts, granule, size - target.layout.size)


def likely_savings(target: ContendedRecord, after: Placed) -> Cost:
    """What is most likely saved: in the phases of the profile's objects, and in all.

    No more than contacts cost now, for the rest has other causes; turns expect more where a lock is given up sooner.
    """
    now, then = target.now, forecast(target.heat, target.turns, after.starts, after.granule, after.growth)
    most = cost(target.heat, target.starts, target.heat.granule)
    return Cost(min(now.here - then.here, most.here), min(now.anywhere - then.anywhere, most.anywhere))


def exposure_cost(target: ContendedRecord, after: Placed) -> float:
    """What members without samples that newly meet a written one may cost: as much as any that was seen."""
    hottest = max((victim.whole.most for line in target.heat.lines for victim in line.victims), default=0.0)
    return min(exposure(target, after.starts, after.granule), 1.0) * hottest


def widened(known: Bounds, exposed: float, likely: float) -> Bounds:
    """The limits of what is known with what exposed members may cost, and what is likely where that is beyond them."""
    return Bounds(min(known.least - exposed, likely), max(known.most, likely))


def saved(before: Placed, after: Placed, phases_of: Callable[[LineHeat], tuple[tuple[int, float], ...]]) -> WaitingCost:
    """The limits of what is saved on all lines, each in its phases, by their shares."""
    regrouped = Regroupings(before, after)
    return sum(
        (
            _difference(line, regrouped.between(phase, then)).times(share * part)
            for line in before.heat.lines
            for phase, share in phases_of(line)
            for then, part in (((phase, 1.0),) if after.stays else after.everywhere)
        ),
        WaitingCost(),
    )


def _difference(line: LineHeat, regrouped: Regrouped) -> WaitingCost:
    """What a line saves when its members are regrouped."""
    found = WaitingCost()
    if not regrouped.members:
        return found
    for victim in line.victims:
        if victim.name in regrouped.members:
            amount = _of_victim(victim, regrouped)
            found += WaitingCost(amount, amount.times(victim.cycles))
    unexplained = _where(line.pairs, regrouped, line.unexplained) if line.unexplained else Bounds()
    # Contacts of which the line of the profile says nothing.
    silent = [one for one in regrouped.contacts if one.names not in line.together]
    new = sum((_where((one.names,), regrouped, one.most * line.share) for one in silent), Bounds())
    each = line.cycles / line.contended if line.contended else 0.0
    return found + WaitingCost(unexplained + new, (unexplained + new).times(each))


def _of_victim(victim: Victim, regrouped: Regrouped) -> Bounds:
    """The least and the most that a victim saves; nothing where it still meets the same."""
    names = victim.others
    then, later = (partners(victim.name, met) & names for met in (regrouped.before, regrouped.after))
    if then == later or victim.blamed <= then & later:
        return Bounds()
    old, new = victim.waits(then), victim.waits(later)
    least, most = old.least - new.most, old.most - new.least
    return Bounds(max(least, 0.0) if later <= then else least, min(most, 0.0) if then <= later else most)


def _where(pairs: Collection[Names], regrouped: Regrouped, most: float) -> Bounds:
    """Nothing up to ``most`` where some of ``pairs`` part, and as much lost where some come together."""
    joined, separated = not regrouped.joined.isdisjoint(pairs), not regrouped.separated.isdisjoint(pairs)
    return Bounds(-most if joined else 0.0, most if separated else 0.0)
