# SPDX-License-Identifier: GPL-2.0-or-later
"""The record that is searched, with the heat of all lines of the profile, and what a layout is predicted to cost.

A worker that writes several members of a line takes the line once, with the first of them, and a profile blames that
one alone. The others disturb the same readers as soon as they are left behind, so moving the first gains nothing. So a
contact has others that stand in for it where it does not meet any more. A line also costs what no members of one object
do: a member on two lines, and the end of a neighbour in a row of objects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd

from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import Span, meet
from linesmith.analyzer.model import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES, Finding, Outcome
from linesmith.analyzer.sharing.parts import own_members
from linesmith.tuner.constraints.facts import NO_PREMISES, Premises
from linesmith.tuner.cost.heat import Contact, MemberSpot, RecordHeat
from linesmith.tuner.cost.meetings import Cost, hot_lines, residual_share, share_together
from linesmith.tuner.propose.advice import refuse_hopeless
from linesmith.tuner.propose.arrangement import Option
from linesmith.tuner.propose.subject import ContendedRecord, subject
from linesmith.tuner.propose.tradeoff import exposure

# A contact of the profile, and those of which the worst takes its place where it does not meet any more.
Disturbance = tuple[Contact, ...]
# Stores by function, for each member.
Stores = Mapping[str, Mapping[str, int]]
# A spot and how often it is written, of the times that the one is for which it stands in.
Deputy = tuple[MemberSpot, float]

# Spots that stand in for one that is written: those written most.
MOST_DEPUTIES = 3


def disturbances(heat: RecordHeat, lines: Sequence[Finding]) -> tuple[Disturbance, ...]:
    """Each contact of ``heat``, followed by what stands in for it; ``lines`` are the findings on the record."""
    hostile = {frozenset((one.first.name, one.second.name)) for one in heat.sampled}
    lined = [_stores(line) for line in lines]
    return tuple((one, *_instead(heat, one, lined, hostile)) for one in heat.contacts)


def disturbance(heat: RecordHeat, groups: Sequence[Disturbance], starts: Sequence[int], granule: int) -> Cost:
    """Contended samples of members that begin at bytes ``starts`` of objects that can start each ``granule`` bytes.

    Of each group the worst counts.
    """
    here, anywhere = heat.here(granule), heat.mix(granule)
    return Cost(
        _worst(groups, lambda one: share_together(one, starts, here, heat.line_bytes)),
        _worst(groups, lambda one: share_together(one, starts, anywhere, heat.line_bytes)),
    )


def _worst(groups: Sequence[Disturbance], share: Callable[[Contact], float]) -> float:
    return sum(max(one.weight * share(one) for one in group) for group in groups)


def _stores(line: Finding) -> Stores:
    found: dict[str, dict[str, int]] = {}
    for member in own_members(line):
        for function in member.functions:
            known = found.setdefault(member.top, {})
            known[function.name] = known.get(function.name, 0) + function.stores
    return found


def _instead(
    heat: RecordHeat, contact: Contact, lined: Sequence[Stores], hostile: set[frozenset[str]]
) -> Iterator[Contact]:
    """The contacts of all that stand in for its spots with each other, where both were seen on one line."""
    if not contact.sampled:
        return
    for stores in lined:
        if contact.first.name in stores and contact.second.name in stores:
            ends: tuple[Deputy, Deputy] = (contact.first, 1.0), (contact.second, 1.0)
            sides = [(one, *_deputies(heat, one[0], stores, hostile)) for one in ends]
            for (first, often), (second, as_often) in list(product(*sides))[1:]:
                if first != second:
                    yield replace(contact, first=first, second=second, weight=contact.weight * often * as_often)


def _deputies(heat: RecordHeat, spot: MemberSpot, stores: Stores, hostile: set[frozenset[str]]) -> list[Deputy]:
    """Who is written by the same functions, those written most first; none that the spot was seen to disturb."""

    def share(name: str) -> float:
        """How often a member is stored to by functions that store to the spot, of the times that this is; at most 1."""
        common = [function for function, count in stores[name].items() if count and stores[spot.name].get(function)]
        whole = sum(stores[spot.name][function] for function in common)
        return min(1.0, sum(stores[name][function] for function in common) / whole) if whole else 0.0

    friends = [
        (one, share(one.name))
        for one in heat.spots
        if one != spot and one.name in stores and frozenset((one.name, spot.name)) not in hostile
    ]
    return sorted((one for one in friends if one[1]), key=lambda one: -one[1])[:MOST_DEPUTIES]


@dataclass(frozen=True, slots=True)
class SpotTouch:
    """Bytes of a spot that are accessed together with its others: ``start`` counts from the spot's member.

    ``weight`` is its part of the contended samples of the line on which it was seen.
    """

    spot: MemberSpot
    start: int
    weight: float


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Spots of two objects in a row that cost ``weight`` contended samples: the second is ``objects`` further on.

    ``phase`` is that of one of the objects.
    """

    first: MemberSpot
    second: MemberSpot
    objects: int
    weight: float
    phase: int


def touches(heat: RecordHeat, lines: Sequence[Finding], starts: Sequence[int]) -> tuple[SpotTouch, ...]:
    """All touches of spots that fit a line; ``starts`` are bytes in the object by member position."""
    spots = {spot.name: spot for spot in heat.spots if spot.size <= CACHE_LINE_BYTES}
    found: dict[tuple[MemberSpot, int], float] = defaultdict(float)
    for line in lines:
        members = [one for one in own_members(line) if one.top in spots]
        total: dict[str, int] = defaultdict(int)
        for one in members:
            total[one.top] += one.reads + one.writes
        for one in members:
            spot = spots[one.top]
            share = (one.reads + one.writes) / max(total[one.top], 1)
            found[spot, (one.object_offset or 0) - starts[spot.member]] += share * line.contended
    return tuple(SpotTouch(spot, start, weight) for (spot, start), weight in found.items())


def straddling(heat: RecordHeat, touched: Sequence[SpotTouch], starts: Sequence[int], granule: int) -> float:
    """Contended samples of spots on a second line, in the profile's phase or on average over all phases."""

    def beside_the_first(phase: int) -> float:
        by_spot: dict[MemberSpot, dict[int, float]] = {}
        for one in touched:
            lines = by_spot.setdefault(one.spot, defaultdict(float))
            lines[(starts[one.spot.member] + one.start + phase) // heat.line_bytes] += one.weight
        return sum(sum(lines.values()) - max(lines.values()) for lines in by_spot.values())

    return sum(share * beside_the_first(phase) for phase, share in heat.here(granule).phases(heat.line_bytes))


def neighbours(finding: Finding, heat: RecordHeat, size: int) -> Iterator[NeighbourPair]:
    """Pairs of the finding whose ends belong to different objects of ``size`` bytes in a row."""
    spots = {spot.name: spot for spot in heat.spots}
    places = {member.top: member.offset - (member.object_offset or 0) for member in finding.members}
    for pair in finding.triage.pairs:
        if pair.first in spots and pair.second in spots:
            apart = places.get(pair.second, 0) - places.get(pair.first, 0)
            if apart and apart % size == 0:
                first, second = spots[pair.first], spots[pair.second]
                yield NeighbourPair(first, second, apart // size, pair.weight, finding.objects[0].phase)


def meeting(one: NeighbourPair, starts: Sequence[int], size: int, line_bytes: int, granule: int) -> float:
    """How often the two meet in a row of objects of ``size`` bytes, each looking at the one behind and before it.

    The row is taken to begin where it does now, as far as the alignment ``granule`` of its objects allows. The sum of
    both shares: a layout that turns the two round has only changed which neighbour it is.
    """
    step = gcd(size, line_bytes)
    base = one.phase % step // granule * granule
    first, second = (Span(starts[spot.member] + spot.start, spot.size) for spot in (one.first, one.second))
    rows = (replace(second, offset=second.offset + far) for far in (one.objects * size, -one.objects * size))
    meetings = [meet(first, other, line_bytes, phase) for other in rows for phase in range(base, line_bytes, step)]
    return sum(meetings) / len(range(base, line_bytes, step))


@dataclass(frozen=True, slots=True)
class HotRecord:
    """``leading`` is the record's hottest line, ``lines`` are all of them, one for each of their objects of this type.

    ``subject`` carries the contacts of all of them, ``disturbances`` also what stands in for them; ``others`` are the
    profile's other findings. ``contended`` are the samples of the record's lines, at least those that the contacts
    explain.
    """

    leading: Finding
    lines: tuple[Finding, ...]
    others: tuple[Finding, ...]
    subject: ContendedRecord
    disturbances: tuple[Disturbance, ...]
    touches: tuple[SpotTouch, ...]
    neighbours: tuple[NeighbourPair, ...]
    contended: float


def hot_records(
    findings: Sequence[Finding], layouts: Layouts, wanted: str, premises: Premises = NO_PREMISES
) -> Iterator[HotRecord]:
    """Records whose members may be rearranged, hottest first; those called ``wanted`` only, unless it is empty.

    Raises ``NothingToSuggest`` with the reason for the hottest line when there is none.
    """
    name = wanted.split()[-1] if wanted else ""
    holding = [one for one in findings if not name or any(it.type == name for it in one.objects)]
    # Each with its objects of that type first.
    chosen = [replace(one, objects=tuple(sorted(one.objects, key=lambda it: it.type != name))) for one in holding]
    if not chosen:
        held = f"no line of the profile holds {name}" if name else "The profile has no line with a record to rearrange"
        raise NothingToSuggest(f"{held}; `linesmith hot` lists its records")
    reasons: list[NothingToSuggest] = []
    done: set[int | None] = set()
    for leading in chosen:
        layout = leading.objects[0].layout if leading.objects else None
        if layout is None or layout not in done:
            try:
                yield _hot_record(leading, [one for one in chosen if one is not leading], layouts, premises)
                done.add(layout)
            except NothingToSuggest as reason:
                reasons.append(reason)
    if not done:
        raise reasons[0]


def _hot_record(leading: Finding, others: Sequence[Finding], layouts: Layouts, premises: Premises) -> HotRecord:
    first = leading.objects[0] if leading.objects else None
    # Whose members could move has to be known, though it may not be known who meets whom.
    known = first is not None and first.layout is not None and first.outcome is Outcome.RESOLVED
    if not known or (first is not None and is_lock(first.type)):
        refuse_hopeless(leading, layouts)
    same = [one for one in (leading, *others) if any(it.layout == leading.objects[0].layout for it in one.objects)]
    lines = [line for finding in same for line in _by_object(finding, leading.objects[0].layout)]
    target = subject(lines[0], layouts, lines[1:], premises)
    heat = target.heat
    contended = max(sum(contact.weight for contact in heat.sampled), sum(one.contended for one in same))
    met = tuple(pair for finding in same for pair in neighbours(finding, heat, target.layout.size))
    return HotRecord(
        leading,
        tuple(lines),
        tuple(others),
        target,
        disturbances(heat, lines),
        touches(heat, lines, target.starts),
        met,
        max(contended, sum(pair.weight for pair in met)),
    )


def _by_object(finding: Finding, layout: int | None) -> Iterator[Finding]:
    """The finding once for each object of this layout, which comes first, with the pairs that meet inside it."""
    for target in finding.objects:
        if target.layout == layout:
            rest = (one for one in finding.objects if one is not target)
            own = replace(finding, objects=(target, *rest))
            names = {member.top for member in own_members(own)}
            pairs = tuple(pair for pair in own.triage.pairs if pair.first in names and pair.second in names)
            yield replace(own, triage=replace(own.triage, pairs=pairs))


# What a layout is predicted to cost as a ratio to the layout as it is: the cheapest fidelity.
#
# Contacts count as in docs/cost.md, half in the profile's phase and half over all phases, and a little for meeting on
# a pair of lines; what lies on a second line, and neighbours in a row of objects, count likewise. The ratio is that of
# contended samples, not of time: it orders layouts, and promises no gain.

# What meeting on a 128-byte pair of lines costs of meeting on a line: a prefetcher may bring the pair together.
ADJACENT = 0.1
# What of its samples a member on a second line costs.
STRADDLE = 0.8
# What one member without samples that newly meets a writer costs, as a share of all contended samples.
EXPOSED = 0.02
# What one more line of hot members costs: each is fetched by itself.
LINE = 0.03
# What a record twice as large costs more: fewer of them fit a cache.
SIZE = 0.02
# What a step more costs, so that of layouts that promise the same the smaller change comes first.
STEP = 0.003
# No layout removes all contention.
LEAST = 0.02


def estimate(record: HotRecord, option: Option) -> float:
    """The predicted ratio, below 1 when better."""
    target = record.subject
    before = _cost(record, target.starts, target.layout.size, target.heat.granule)
    after = _cost(record, option.starts, option.size, option.granule)
    total = max(record.contended, before, 1.0)
    # What no contact tells: who is newly exposed, lines of hot members, the size, and the steps.
    exposed = exposure(target, option.starts, option.granule)
    lines = hot_lines(target.heat, option.starts, target.heat.mix(option.granule))
    lines -= hot_lines(target.heat, target.starts, target.heat.mix(target.heat.granule))
    larger = option.size / max(target.layout.size, 1) - 1
    further = EXPOSED * exposed + LINE * lines + SIZE * larger + STEP * len(option.arrangement.moves)
    return max((total - before + after) / total, LEAST) + further


def _cost(record: HotRecord, starts: Sequence[int], size: int, granule: int) -> float:
    heat = record.subject.heat
    met = disturbance(heat, record.disturbances, starts, granule)
    # On average over all phases at 128 bytes, where the prefetcher pairs lines.
    objects = heat.mixes.starts(granule)
    paired = _worst(record.disturbances, lambda one: residual_share(one, starts, ADJACENT_LINE_BYTES, objects))
    split = straddling(heat, record.touches, starts, granule)
    row = sum(one.weight * _still_met(record.subject, one, starts, size, granule) for one in record.neighbours)
    return (1 - ADJACENT) * (met.here + met.anywhere) / 2 + ADJACENT * paired + STRADDLE * split + row


def _still_met(target: ContendedRecord, one: NeighbourPair, starts: Sequence[int], size: int, granule: int) -> float:
    """How often neighbours meet of the times that they meet now, which gave them their weight."""
    line_bytes = target.heat.line_bytes
    now = meeting(one, target.starts, target.layout.size, line_bytes, target.heat.granule)
    return meeting(one, starts, size, line_bytes, granule) / now if now else 0.0
