# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile says about the members of one record: hot spots, and the contacts between them that cost.

A finding gives the contacts of its own line. Members that other
findings show hot are spots too, so that a move does not carry a member from one contended line to the next. How much a
member is probably read where no sample tells is its ``interest``: by the code, else by its place in the declaration.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from math import sqrt

from linesmith.analyzer.layouts.gaps import Span, meet
from linesmith.analyzer.layouts.placement import MemberPlace
from linesmith.analyzer.model import CACHE_LINE_BYTES, Finding, Layout, LineMember, PlacePhases, TypeAccesses
from linesmith.analyzer.sharing.parts import own_members
from linesmith.tuner.cost.phases import PhaseMix, PhaseMixes, phase_mix

Names = frozenset[str]
# Functions that read a member which is then taken to be read all the time.
MANY = 32
# What the first member of a declaration counts for where nothing is known of the code.
BY_PLACE = 1 / 3


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


@lru_cache(maxsize=256)
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
    """The phase of a line's object, and the contacts of the spots ``found``: its pairs, and those it does not have yet.

    ``starts`` are bytes in the object by member position. The phase counts as unknown when a pair of the profile would
    not meet in it: the profile comes from another build.
    """
    sampled = _sampled(finding, found)
    phase: int | None = finding.objects[0].phase
    if not all(_together(contact, phase, starts, finding.bytes) for contact in sampled):
        phase = None
    named = {contact.names for contact in sampled}
    possible = [
        Contact(one, other, one.name if one.written else other.name, min(one.samples, other.samples), sampled=False)
        for one, other in combinations(found.values(), 2)
        if (one.written or other.written) and frozenset((one.name, other.name)) not in named
    ]
    return phase, (*sampled, *(one for one in possible if not _together(one, phase, starts, finding.bytes)))


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


def _together(contact: Contact, phase: int | None, starts: Sequence[int], line_bytes: int) -> bool:
    """Whether both spots are on one line in this phase; never, when the phase is not known."""
    one, other = (Span(starts[spot.member] + spot.start, spot.size) for spot in (contact.first, contact.second))
    return phase is not None and meet(one, other, line_bytes, phase)


def interest(layout: Layout, starts: Sequence[int], code: TypeAccesses | None) -> tuple[float, ...]:
    """From 0 to 1 for each member of ``layout``, which begin at bytes ``starts`` of the object, by position.

    Many functions that read a member are taken for many reads, but not in proportion. Where the code is not known,
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
    return tuple(min(1.0, sqrt(len(readers[position]) / MANY)) for position in range(count))
