# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile says of the members of one record, and what a layout is predicted to cost: contended samples.

The heat of a record are hot spots and the contacts between them, of all lines that hold it, on one scale: a move must
not carry a member from one contended line to the next. How much a member is probably read where no sample tells is its
``interest``. A contact costs its weight in a phase in which both spots have bytes on one line, and nothing in any other
phase. The assumptions are in docs/cost.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, combinations
from math import sqrt

import numpy as np

from linesmith.analyzer.layouts.gaps import ObjectStarts, Span, meet, meeting_phases
from linesmith.analyzer.layouts.placement import MemberPlace
from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Finding,
    Layout,
    LineMember,
    PhaseProof,
    PlacePhases,
    Residual,
    TypeAccesses,
)
from linesmith.analyzer.sharing.parts import own_members
from linesmith.tuner.propose.phases import LINE_SIZES, Floats, Integers, PhaseMix, PhaseMixes, every_start, phase_mix

# A member that so many functions read counts as one.
MANY = 32
# What the first member of a declaration counts for where nothing is known of the code.
BY_PLACE = 1 / 3
# What of their contention two hot members are taken to cost each other that were never seen on one line: often they
# are touched by the same CPU.
CHANCE = 0.25


def contended_on(finding: Finding) -> int:
    """Contended accesses of a line; of a recording also the stores that took it."""
    return finding.cost.contended or finding.contended


@dataclass(frozen=True, slots=True)
class MemberSpot:
    """The bytes of a member that were seen hot: ``start`` and ``size`` count from the first byte of member ``member``.

    ``member`` is the member's position in the layout. ``samples`` are accesses of any kind.
    """

    name: str
    member: int
    start: int
    size: int
    samples: int
    written: bool
    lock: bool = False


@dataclass(frozen=True, slots=True)
class Contact:
    """Two spots that cost ``weight`` contended samples while they are on one line; ``writer`` names the written one.

    ``sampled`` tells a contact of the profile from one that a new layout might create.
    """

    first: MemberSpot
    second: MemberSpot
    writer: str
    weight: float
    sampled: bool

    @property
    def names(self) -> frozenset[str]:
        """Both members."""
        return frozenset((self.first.name, self.second.name))

    def share_together(self, starts: Sequence[int], mix: PhaseMix, line_bytes: int) -> float:
        """Share of the objects of ``mix`` in which the contact's spots meet."""
        last, first = self._edges(starts)
        return mix.share(last, first, line_bytes)

    def residual_share(self, starts: Sequence[int], line_bytes: int, objects: ObjectStarts) -> float:
        """Share of the phases of the ``objects`` in which the contact's spots meet on a line of ``line_bytes``."""
        last, first = self._edges(starts)
        if first - last >= line_bytes:
            return 0.0
        return _share((last + objects.first) % objects.step, max(first - last, 0), line_bytes, objects.step)

    def together(self, phase: int | None, starts: Sequence[int], line_bytes: int) -> bool:
        """Whether both spots are on one line in this phase; never, when the phase is not known."""
        one, other = (Span(starts[spot.member] + spot.start, spot.size) for spot in (self.first, self.second))
        return phase is not None and meet(one, other, line_bytes, phase)

    def _edges(self, starts: Sequence[int]) -> tuple[int, int]:
        """Last byte of the spot that begins first, and first byte of the other: what lies between separates them."""
        one, other = self.first, self.second
        here, there = starts[one.member] + one.start, starts[other.member] + other.start
        return (here + one.size - 1, there) if here <= there else (there + other.size - 1, here)


@dataclass(frozen=True, slots=True)
class RecordHeat:
    """Spots and contacts of one record, and the phases its objects can have.

    ``seen`` are the phases of the profile's objects with their shares of the contended samples, none where they are
    not known. ``granule`` is the step in bytes between the places at which objects can start; ``line_bytes`` is the
    line of the profile, 64 or a double one. ``mixes`` gives the phases that objects have wherever they are.
    """

    spots: tuple[MemberSpot, ...]
    contacts: tuple[Contact, ...]
    seen: tuple[tuple[int, float], ...]
    granule: int
    line_bytes: int
    mixes: PhaseMixes = field(compare=False)

    @property
    def phase(self) -> int | None:
        """The phase of the profile's objects, if they have but one."""
        return self.seen[0][0] if len(self.seen) == 1 else None

    def mix(self, granule: int, growth: int = 0) -> PhaseMix:
        """The phases of all objects when they are aligned to ``granule`` and ``growth`` bytes larger than now."""
        return self.mixes.of(granule, growth)

    def here(self, granule: int, growth: int = 0) -> PhaseMix:
        """Those of the profile's objects; of all where they are not known, or begin elsewhere in the new layout."""
        if not self.seen or granule != self.granule or growth:
            return self.mix(granule, growth)
        return _seen_mix(self.seen, self.line_bytes)

    @property
    def sampled(self) -> tuple[Contact, ...]:
        """The contacts that the profile shows."""
        return tuple(contact for contact in self.contacts if contact.sampled)

    def costs(self, starts: Integers, granule: int, growth: int = 0) -> tuple[Floats, Floats]:
        """What ``Cost`` has, for many layouts: members begin at bytes ``starts`` of the object, a row for each layout.

        Columns are positions in the present layout. Objects are aligned to ``granule`` and ``growth`` bytes larger than
        they are now.
        """
        between, weights = self._gaps(starts)
        here_mix, mix = self.here(granule, growth), self.mix(granule, growth)
        # Added one by one: numpy's sum of one layout would differ in its last bits from that of many.
        none = np.zeros(len(starts))
        anywhere = sum(weights * mix.shares(*between, self.line_bytes), start=none)
        if here_mix is mix:
            return anywhere, anywhere
        return sum(weights * here_mix.shares(*between, self.line_bytes), start=none), anywhere

    def residual_costs(self, starts: Integers, objects: ObjectStarts) -> list[float]:
        """What each layout costs where all phases of the ``objects`` count the same."""
        (last, first), weights = self._gaps(starts)
        gaps, size = np.minimum(np.maximum(first - last, 0), self.line_bytes), self.line_bytes + 1
        pairs, which = np.unique((last + objects.first) % objects.step * size + gaps, return_inverse=True)
        # With a gap of a line they meet nowhere.
        ways = [(divmod(pair, size), self.line_bytes, objects.step) for pair in pairs.tolist()]
        known = [_share(*one, *more) if one[1] < self.line_bytes else 0.0 for one, *more in ways]
        shares: Floats = np.array(known, np.float64)[which].reshape(last.shape)
        found: list[float] = sum(weights * shares, start=np.zeros(len(starts))).tolist()
        return found

    def adjacent_cost(self, starts: Sequence[int], objects: ObjectStarts) -> float:
        """The average over all phases of the ``objects`` at 128 bytes, where the prefetcher pairs lines."""
        return sum(one.weight * one.residual_share(starts, ADJACENT_LINE_BYTES, objects) for one in self.contacts)

    def residuals(
        self, before: Sequence[int], after: Sequence[int], objects: tuple[ObjectStarts, ObjectStarts]
    ) -> tuple[Residual, ...]:
        """For each sampled contact and line size, the share of phases in which it meets before and after.

        ``objects`` are those of the old layout and of the new one.
        """
        return tuple(
            Residual(
                contact.first.name,
                contact.second.name,
                line_bytes,
                contact.residual_share(before, line_bytes, objects[0]),
                contact.residual_share(after, line_bytes, objects[1]),
            )
            for contact in self.sampled
            for line_bytes in (CACHE_LINE_BYTES, ADJACENT_LINE_BYTES)
        )

    def proofs(self, starts: Sequence[int], granule: int, growth: int = 0) -> tuple[PhaseProof, ...]:
        """Each contact of the profile, at 64 and 128 bytes, at each place and, last, at every multiple of ``granule``.

        The last is left out where all objects were found in slab caches. Members begin at bytes ``starts`` of objects
        that are ``growth`` bytes larger than now.
        """
        mix = self.mix(granule, growth)
        in_slabs = self.mixes.placed and not self.mixes.rows
        # At each place, and at every start; with each of its phases by itself.
        places = [
            (size, place, tuple(_seen_mix(((phase, 1.0),), size) for phase, _ in place.phases))
            for size in LINE_SIZES
            for place in (
                *(one for one in mix.at(size) if one.place),
                *(() if in_slabs else (every_start(granule, size),)),
            )
        ]
        found = []
        for contact in sorted(self.sampled, key=lambda one: -one.weight):
            names = contact.first.name, contact.second.name
            for size, place, alone in places:
                met = [contact.share_together(starts, one, size) > 0 for one in alone]
                share = sum(share for (_, share), together in zip(place.phases, met, strict=True) if together)
                found.append(PhaseProof(*names, place.place, size, len(met), sum(met), min(float(share), 1.0)))
        return tuple(found)

    def _gaps(self, starts: Integers) -> tuple[tuple[Integers, Integers], Floats]:
        """What ``_edges`` gives of each contact, a row each, in each layout, and the weights of the contacts."""
        ends = [spot for one in self.contacts for spot in (one.first, one.second)]
        member, start, size = np.array([(one.member, one.start, one.size) for one in ends], np.int64).reshape(-1, 3).T
        columns, start, last = np.ascontiguousarray(starts.T), start[:, np.newaxis], size[:, np.newaxis] - 1
        here, there = (columns[member[side::2]] + start[side::2] for side in (0, 1))
        between = np.where(here <= there, here + last[::2], there + last[1::2]), np.maximum(here, there)
        return between, np.array([[one.weight] for one in self.contacts]).reshape(-1, 1)


@lru_cache(maxsize=1024)
def _seen_mix(seen: tuple[tuple[int, float], ...], line_bytes: int) -> PhaseMix:
    return phase_mix([PlacePhases("", line_bytes, seen)])


def spots(
    findings: Iterable[Finding], places: Mapping[str, MemberPlace], offsets: Sequence[int]
) -> dict[str, MemberSpot]:
    """One spot per visible name; ``offsets`` are the members' bytes in the object, by position."""
    grouped: dict[str, list[LineMember]] = {}
    for finding in findings:
        for member in own_members(finding):
            if member.top in places:
                grouped.setdefault(member.top, []).append(member)
    return {name: _spot(name, group, places[name], offsets) for name, group in grouped.items()}


def _spot(name: str, group: Sequence[LineMember], place: MemberPlace, offsets: Sequence[int]) -> MemberSpot:
    start, size = place.start, place.size
    if size > CACHE_LINE_BYTES:
        # Of a member that is longer than a line, what was sampled.
        offset = offsets[place.member]
        first = max(min((member.object_offset or 0) for member in group) - offset, start)
        end = min(max((one.object_offset or 0) + (one.size or 1) for one in group) - offset, start + size)
        start, size = (first, end - first) if first < end else (start, size)
    return MemberSpot(
        name,
        place.member,
        start,
        max(size, 1),
        sum(member.reads + member.writes for member in group),
        any(member.written for member in group),
        any(member.lock for member in group),
    )


def line_contacts(
    finding: Finding, found: Mapping[str, MemberSpot], starts: Sequence[int]
) -> tuple[int | None, tuple[Contact, ...]]:
    """The phase of a line's object, and the contacts of the spots ``found`` that the line shows.

    ``starts`` are bytes in the object by member position. The phase counts as unknown when a pair of the profile would
    not meet in it: the profile comes from another build.
    """
    sampled = _sampled(finding, found)
    phase: int | None = finding.objects[0].phase
    if not all(contact.together(phase, starts, finding.bytes) for contact in sampled):
        phase = None
    return phase, sampled


def _sampled(finding: Finding, found: Mapping[str, MemberSpot]) -> tuple[Contact, ...]:
    """The pairs of the finding; together they weigh no more than what a layout can remove of the line's contention.

    A load that two writers disturb is in two pairs but is one load, so the weights are scaled down.
    """
    known = [pair for pair in finding.triage.pairs if pair.first in found and pair.second in found]
    total = sum(pair.weight for pair in known)
    limit = finding.cost.removable.most if finding.cost.sharings else finding.contended
    scale = min(1.0, limit / total) if total and limit else 1.0
    return tuple(
        Contact(found[pair.first], found[pair.second], pair.writer, pair.weight * scale, sampled=True)
        for pair in known
        if pair.first != pair.second
    )


def interest(layout: Layout, starts: Sequence[int], code: TypeAccesses | None) -> tuple[float, ...]:
    """How much each member of ``layout`` is read, by position; they begin at bytes ``starts`` of the object.

    1 is what ``MANY`` functions read; more count for more, but not in proportion. Where the code is not known,
    members declared early count for more: authors put first what most code reads.
    """
    readers: dict[int, set[str]] = defaultdict(set)
    for member in code.members if code is not None else ():
        for position, (start, one) in enumerate(zip(starts, layout.members, strict=True)):
            if start <= member.offset < start + one.size:
                readers[position].update(member.readers)
    count = len(starts)
    if not any(readers.values()):
        return tuple(BY_PLACE * (1 - position / count) for position in range(count))
    return tuple(sqrt(len(readers[position]) / MANY) for position in range(count))


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
    possible = [
        Contact(one, other, one.name if one.written else other.name, min(one.samples, other.samples), sampled=False)
        for one, other in combinations(found.values(), 2)
        if one.written or other.written
    ]
    where = dict.fromkeys((phase, line.bytes) for phase, line in zip(phases, lines, strict=True))
    newly = [one for place in where for one in possible if not one.together(place[0], starts, place[1])]
    added = _added([*chain.from_iterable(contacts for _, contacts in by_line), *newly])
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
        share = contact.share_together(starts, heat.here(heat.granule), heat.line_bytes) if heat.seen else 1.0
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


@dataclass(frozen=True, slots=True)
class Cost:
    """Predicted contended samples: ``here`` in the profile's phase, ``anywhere`` averaged over all phases."""

    here: float
    anywhere: float


def cost(heat: RecordHeat, starts: Sequence[int], granule: int, growth: int = 0) -> Cost:
    """The cost of one layout."""
    here, anywhere = heat.costs(np.array([starts]), granule, growth)
    return Cost(float(here[0]), float(anywhere[0]))


@lru_cache(maxsize=1 << 14)
def _share(last: int, gap: int, line_bytes: int, granule: int) -> float:
    return meeting_phases(Span(last, 1), Span(last + gap, 1), line_bytes, granule)
