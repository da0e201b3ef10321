# SPDX-License-Identifier: GPL-2.0-or-later
"""What each sharing on a line costs, and what share of the profile a layout can remove.

In a recording every miss names the store that had taken the line. A sample of a contended load does not tell its
writer: that is one of the members that other CPUs write, each as likely as its share of the stores sampled. Latencies
are the profile's own where it has them, else the defaults of ``model.Latencies``. docs/cost.md has the formulas and
what they assume.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Access,
    Bounds,
    CacheLine,
    Conflict,
    Finding,
    Latencies,
    LineCost,
    LineMember,
    LineObject,
    Profile,
    SharingCost,
    Side,
)
from linesmith.analyzer.sharing.parts import LinePart, part_names, parts

NONE, ALL, ANY = Bounds(0.0, 0.0), Bounds(1.0, 1.0), Bounds(0.0, 1.0)
UNKNOWN_WRITER = "nobody was seen to write where {count:,} contended accesses waited: a member that was not sampled may"
UNLISTED = "{count:,} contended {accesses} in no row of the profile: {they} may be of any member"
NO_RATES = (
    "how often each member is written was not sampled: a written member may wait for itself only, or for others only"
)
OWN_STORES = "a written member may have been written itself before each miss: then parting it from others gains nothing"
BEHIND = "up to {count:,} of these misses also brought bytes written elsewhere: parted, those would miss instead"
HELD_LONGER = "who holds the lock waits for its neighbours on the line, and all who wait for the lock wait with it"
# Contended accesses to a lock's neighbours that may matter to those who wait for the lock, as a share of the line's.
NEIGHBOURS_SHARE = 0.01
# Two-sided 95 % of the normal distribution.
Z = 1.959964
# Cycles of a load that finds its line in the first-level cache, on current x86 and Arm cores (4 or 5).
HIT = 5
DEFAULTS = Latencies()
# perf prints shares with two decimals: a count made of one may be off by this part of its column's total, and by one.
_ROUNDING = 0.00005


def line_cost(
    line: CacheLine,
    objects: Sequence[LineObject],
    members: Sequence[LineMember],
    profile: Profile,
    buddies: Sequence[LinePart],
    waited: float,
    unseen: Sequence[LineMember] = (),
) -> LineCost:
    """The cost of one line; ``members`` as ``line_members`` and ``infer_writers`` gave them.

    ``buddies`` are the parts of the other line of its 128-byte pair, ``waited`` is ``profile_waited`` of the profile;
    ``unseen`` are members that only conflicts name.
    """
    here = parts(line.accesses, members, objects, line.bytes)
    if line.conflicts:
        cost = recorded_cost(line, {**part_names(unseen, objects), **part_names(members, objects)}, here)
    else:
        # IBS counts atomic updates among the loads.
        ibs = any(event.startswith("ibs_") for event in profile.events)
        hidden = ibs and any(part.inferred and not part.stores for part in here)
        cost = _sampled_cost(line, here, buddies, any(part.stores for part in here) and not hidden)
    most = Bounds(
        max(cost.removable_cycles.least, cost.adjacent_cycles.least),
        max(cost.removable_cycles.most, cost.adjacent_cycles.most),
    )
    # Of all cycles of the profile; where its lines cannot be compared, of the line's own share.
    if line.nominal and line.share is not None:
        return replace(cost, share=most.times(line.share / cost.waited) if cost.waited else Bounds())
    return replace(cost, share=most.times(1 / waited) if waited else Bounds())


def by_removable(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by the share of the profile that a layout can remove at most, then at least, then by their rank."""
    return tuple(sorted(found, key=lambda one: (-one.cost.share.most, -one.cost.share.least, one.rank)))


def removable_limit(line: CacheLine) -> float:
    """Cycles of misses for nothing between different offsets: whatever lies there, no layout removes more."""
    return sum(
        conflict_cycles(one) for one in line.conflicts if not one.true_sharing and one.offset != one.writer_offset
    )


def _sampled_cost(line: CacheLine, parts: Sequence[LinePart], buddies: Sequence[LinePart], rated: bool) -> LineCost:
    """The cost of a line whose misses do not name their writers.

    ``buddies`` are the parts of the other line of the 128-byte pair, if that is in the profile. ``rated`` tells that
    sampled stores say how often each member is written.
    """
    listed = total(line.accesses)
    found = _LineSum(rated)
    for part in parts:
        near = [one for one in parts if one.halves & part.halves]
        far = [one for one in parts if not one.halves & part.halves]
        # A lock may be held longer for its neighbours: who holds it waits for them, and everybody else for it.
        waits = {one.name: total(one.accesses).contended for one in near}
        everything = sum(waits.values())
        longer = part.waited_for and everything - waits[part.name] >= NEIGHBOURS_SHARE * everything > 0
        for victims in _victims(part, near, (*far, *buddies)):
            found.blame(victims, longer)
        if writing := _writers(near, part.only_cpu):
            most = 1.0 if longer else found.removable_share(part.name, writing).most
            # Loads that were no HITM and yet slow may have waited for the line: they count in the upper limit.
            found.removable_cycles += Bounds(0.0, most * total(part.accesses).slow_cycles)
    # Accesses of no part, for they have no offset or stand in no row, may be of any member.
    unlisted_here = unlisted(line)
    rest = unlisted_here + listed.contended - sum(total(part.accesses).contended for part in parts)
    if rest > 0:
        found.removable += ANY.times(rest)
        found.removable_cycles += ANY.times(rest * listed.mean)
        stands, they = ("access stands", "it") if rest == 1 else ("accesses stand", "they")
        found.notes[UNLISTED.format(count=rest, accesses=stands, they=they)] = None
    sides = {part.name: part.side() for part in (*parts, *buddies)}
    sharings = (
        SharingCost(sides[victim], sides[writer], amount, found.cycles[victim, writer, span], span)
        for (victim, writer, span), amount in found.contended.items()
    )
    unknown = (UNKNOWN_WRITER.format(count=found.unknown),) if found.unknown else ()
    return LineCost(
        contended=listed.contended + unlisted_here,
        cycles=listed.cycles + unlisted_here * listed.mean,
        slow_cycles=listed.slow_cycles,
        sharings=_heaviest_first(sharings),
        removable=found.removable,
        removable_cycles=found.removable_cycles,
        adjacent=found.adjacent,
        adjacent_cycles=found.adjacent_cycles,
        timed=bool(listed.contended) and listed.timed == listed.contended,
        notes=(*unknown, *found.notes),
    )


@dataclass(frozen=True, slots=True)
class _Victims:
    """Accesses to one part from CPUs that can wait for the same writers.

    ``here`` are those within 64 bytes with the stores that other CPUs made (the mean of all accesses), ``beside`` those
    in the other half of the 128-byte pair.
    """

    part: LinePart
    contended: int
    cycles: float
    here: Mapping[str, float]
    beside: tuple[str, ...]


@dataclass(slots=True)
class _LineSum:
    """What is added up over the victims of a line."""

    rated: bool
    contended: dict[tuple[str, str, int], Bounds] = field(default_factory=dict)
    cycles: dict[tuple[str, str, int], Bounds] = field(default_factory=dict)
    removable: Bounds = NONE
    removable_cycles: Bounds = NONE
    adjacent: Bounds = NONE
    adjacent_cycles: Bounds = NONE
    unknown: int = 0
    notes: dict[str, None] = field(default_factory=dict)

    def blame(self, victims: _Victims, longer: bool) -> None:
        """Add what the victims waited for each writer; ``longer`` tells that a lock is held longer for them."""
        share = self.removable_share(victims.part.name, victims.here)
        if longer and share.most < 1:
            share = Bounds(share.least, 1.0)
            self.notes[HELD_LONGER] = None
        self.removable += share.times(victims.contended)
        self.removable_cycles += share.times(victims.cycles)
        if not victims.here:
            self.unknown += victims.contended
        elif share.least < share.most and not (victims.part.waited_for and len(victims.here) == 1):
            self.notes[OWN_STORES if self._knows(victims.here) else NO_RATES] = None
        for name, stores in victims.here.items():
            # In which share of the misses the writer is the one who took the line.
            took = share_of(stores, sum(victims.here.values())) if self._knows(victims.here) else ANY
            self._add(victims, name, CACHE_LINE_BYTES, ALL if len(victims.here) == 1 else took)
        if victims.beside and not victims.here:
            for name in victims.beside:
                self._add(victims, name, ADJACENT_LINE_BYTES, ANY)
            self.adjacent += ANY.times(victims.contended)
            self.adjacent_cycles += ANY.times(victims.cycles)

    def removable_share(self, part: str, found: Mapping[str, float]) -> Bounds:
        """Share of a part's misses that go when every other part leaves its line; ``found`` are the writers."""
        if part not in found:
            return ALL if found else ANY
        if len(found) == 1:
            return NONE
        others = sum(found.values()) - found[part]
        return Bounds(0.0, share_of(others, sum(found.values())).most) if self._knows(found) else ANY

    def _knows(self, found: Mapping[str, float]) -> bool:
        """Whether sampled stores tell how often each writes."""
        return self.rated and any(found.values())

    def _add(self, victims: _Victims, writer: str, span: int, share: Bounds) -> None:
        key = victims.part.name, writer, span
        self.contended[key] = self.contended.get(key, NONE) + share.times(victims.contended)
        self.cycles[key] = self.cycles.get(key, NONE) + share.times(victims.cycles)


def _heaviest_first(sharings: Iterable[SharingCost]) -> tuple[SharingCost, ...]:
    return tuple(sorted(sharings, key=lambda one: (-one.cycles.most, one.victim.member, one.writer.member)))


def _victims(part: LinePart, near: Sequence[LinePart], far: Sequence[LinePart]) -> Iterator[_Victims]:
    """The accesses of a part that waited, those of CPUs with the same possible writers together."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[int, float, Mapping[str, int]]]] = {}
    for cpu, (contended, cycles) in _waited(part).items():
        here, beside = _writers(near, cpu), _writers(far, cpu)
        found.setdefault((tuple(here), tuple(beside)), []).append((contended, cycles, here))
    for (names, others), group in found.items():
        contended = sum(count for count, _, _ in group)
        mean = {name: sum(count * here[name] for count, _, here in group) / contended for name in names}
        yield _Victims(part, contended, sum(cycles for _, cycles, _ in group), mean, others)


def _waited(part: LinePart) -> dict[int | None, tuple[int, float]]:
    """Contended accesses and their cycles by CPU; ``None`` stands for CPUs that are not distinguished."""
    counts: Counter[int | None] = Counter()
    cycles: dict[int | None, float] = {}
    for access in part.accesses:
        cost = waiting(access)
        seen: Counter[int | None] = Counter()
        for one in access.by_cpu:
            seen[one.cpu] += one.contended
        if seen.total() != cost.contended:
            seen = Counter({part.only_cpu: cost.contended})
        for cpu, count in seen.items():
            counts[cpu] += count
            cycles[cpu] = cycles.get(cpu, 0.0) + cost.cycles * count / max(cost.contended, 1)
    return {cpu: (count, cycles[cpu]) for cpu, count in counts.items() if count}


def _writers(parts: Sequence[LinePart], cpu: int | None) -> dict[str, int]:
    """Parts that a CPU other than ``cpu`` writes, with the stores sampled there; 0 where they are inferred only."""
    found = {}
    for part in parts:
        stores = part.stores_elsewhere(cpu)
        if stores or (part.inferred and (cpu is None or part.only_cpu != cpu)):
            found[part.name] = stores
    return found


def recorded_cost(line: CacheLine, names: Mapping[int, str], parts: Sequence[LinePart] = ()) -> LineCost:
    """The cost of a line with conflicts; ``names`` give the part at an offset."""
    grouped: dict[tuple[str, str], tuple[int, int]] = {}
    misses = cycles = 0
    for one in line.conflicts:
        pair = names.get(one.offset, f"{one.offset:#x}"), names.get(one.writer_offset, f"{one.writer_offset:#x}")
        missed, waited = grouped.get(pair, (0, 0))
        own, took = one.misses, conflict_cycles(one)
        grouped[pair] = missed + own, waited + took
        if pair[0] != pair[1] and not one.true_sharing:
            misses, cycles = misses + own, cycles + took
    behind = min(misses, sum(one.shadowed for one in line.conflicts if one.true_sharing))
    kept = 1 - behind / misses if misses else 0.0
    sides = {part.name: part.side() for part in parts}
    sharings = []
    for pair, (count, waited) in grouped.items():
        if count:
            first, second = (sides.get(name) or Side(name, 0, 0) for name in pair)
            sharings.append(SharingCost(first, second, Bounds(count, count), Bounds(waited, waited)))
    return LineCost(
        contended=sum(missed for missed, _ in grouped.values()),
        cycles=sum(waited for _, waited in grouped.values()),
        sharings=_heaviest_first(sharings),
        removable=Bounds(misses * kept, misses),
        removable_cycles=Bounds(cycles * kept, cycles),
        exact=True,
        notes=(BEHIND.format(count=behind),) if behind else (),
    )


def share_of(count: float, total: float, z: float = Z) -> Bounds:
    """Where the share ``count / total`` lies: the score interval of Wilson (JASA 22, 1927); 0 to 1 without samples."""
    if total <= 0:
        return Bounds(0.0, 1.0)
    share, spread = count / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return Bounds(0.0 if count <= 0 else max(0.0, middle - half), 1.0 if count >= total else min(1.0, middle + half))


@dataclass(frozen=True, slots=True)
class WaitedCycles:
    """``contended`` accesses took ``cycles``; other loads of the line took ``slow_cycles`` more than hits do.

    ``timed`` contended accesses have latencies of their own.
    """

    contended: int = 0
    cycles: float = 0.0
    slow_cycles: float = 0.0
    timed: int = 0

    @property
    def mean(self) -> float:
        """Cycles of one contended access; what is usual where there are none."""
        return self.cycles / self.contended if self.contended else DEFAULTS.hitm_local

    def __add__(self, other: WaitedCycles) -> WaitedCycles:
        return WaitedCycles(
            self.contended + other.contended,
            self.cycles + other.cycles,
            self.slow_cycles + other.slow_cycles,
            self.timed + other.timed,
        )


def waiting(access: Access) -> WaitedCycles:
    """What one row of a profile waited."""
    hitm = bool(access.hitm_remote or access.hitm_local)
    remote = (access.hitm_remote if hitm else access.peer_remote) or 0
    local = (access.hitm_local if hitm else access.peer_local) or 0
    taken = access.taken or 0
    cycles = remote * (access.cycles_remote or DEFAULTS.hitm_remote)
    cycles += local * (access.cycles_local or DEFAULTS.hitm_local)
    cycles += taken * DEFAULTS.taken_local
    timed = (remote if access.cycles_remote else 0) + (local if access.cycles_local else 0)
    # Most loads that were not contended and took longer than a hit wait for a line that is on its way already.
    others = (access.records or 0) - access.stores - access.contended
    slow = max(others, 0) * max((access.cycles_load or 0) - HIT, 0)
    return WaitedCycles(remote + local + taken, cycles, slow, timed)


def total(accesses: Iterable[Access]) -> WaitedCycles:
    """What all of them waited."""
    return sum(map(waiting, accesses), WaitedCycles())


def unlisted(line: CacheLine) -> int:
    """Contended accesses of the line that stand in no row: people leave rows out when they paste."""
    missing = line.contended - sum(access.contended for access in line.accesses)
    return missing if missing > len(line.accesses) * (1 + _ROUNDING * line.contended) else 0


def conflict_cycles(one: Conflict) -> int:
    """What the misses of one conflict of a recording take."""
    if one.stores:
        return one.local * DEFAULTS.taken_local + one.remote * DEFAULTS.taken_remote
    return one.local * DEFAULTS.hitm_local + one.remote * DEFAULTS.hitm_remote


def profile_waited(profile: Profile) -> float:
    """The cycles that all accesses of a profile waited; those in no row as long as the others of their line on average.

    Lines that a paste left out are taken to wait as those it has, by share.
    """
    shares = [line.share for line in profile.lines]
    known = sum(share for share in shares if share is not None)
    covered = known if None not in shares and 0 < known < 1 else 1.0
    waited = 0.0
    for line in profile.lines:
        if line.conflicts:
            waited += sum(map(conflict_cycles, line.conflicts))
        else:
            listed = total(line.accesses)
            waited += listed.cycles + listed.slow_cycles + unlisted(line) * listed.mean
    return waited / covered
