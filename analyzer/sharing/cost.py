# SPDX-License-Identifier: GPL-2.0-or-later
"""What each sharing on a line costs, from samples: who can have written what another CPU waited for.

A sample of a contended load does not tell its writer. That is one of the members that other CPUs write, each as
likely as its share of the stores sampled. docs/conflict-cost.md has the formulas and what they assume.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linesmith.analyzer.model import (
    ADJACENT_LINE_BYTES,
    CACHE_LINE_BYTES,
    Bounds,
    Conflict,
    Finding,
    LineCost,
    LineMember,
    LineObject,
    Profile,
    SharedLine,
    SharingCost,
    Side,
)
from linesmith.analyzer.sharing.parts import Part, part_names, parts
from linesmith.analyzer.sharing.statistics import DEFAULTS, Waiting, conflict_cycles, share_of, total, unlisted, waiting

NONE, ALL, ANY = Bounds(0.0, 0.0), Bounds(1.0, 1.0), Bounds(0.0, 1.0)
UNKNOWN_WRITER = "nobody was seen to write where {count:,} contended accesses waited: a member that was not sampled may"
UNLISTED = "{count:,} contended {accesses} in no row of the profile: {they} may be of any member"
NO_RATES = (
    "how often each member is written was not sampled: a written member may wait for itself only, or for others only"
)
OWN_STORES = "a written member may have been written itself before each miss: then parting it from others gains nothing"
HELD_LONGER = "who holds the lock waits for its neighbours on the line, and all who wait for the lock wait with it"
# Contended accesses to a lock's neighbours that may matter to those who wait for the lock, as a share of the line's.
NEIGHBOURS_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class _Victims:
    """Accesses to one part from CPUs that can wait for the same writers.

    ``here`` are those within 64 bytes with the stores that other CPUs made (the mean of all accesses), ``beside`` those
    in the other half of the 128-byte pair.
    """

    part: Part
    contended: int
    cycles: float
    here: Mapping[str, float]
    beside: tuple[str, ...]


@dataclass(slots=True)
class _Sum:
    """What is added up over the victims of a line."""

    contended: dict[tuple[str, str, int], Bounds] = field(default_factory=dict)
    cycles: dict[tuple[str, str, int], Bounds] = field(default_factory=dict)
    removable: Bounds = NONE
    removable_cycles: Bounds = NONE
    adjacent: Bounds = NONE
    adjacent_cycles: Bounds = NONE
    unknown: int = 0
    notes: dict[str, None] = field(default_factory=dict)


def sampled_cost(line: SharedLine, parts: Sequence[Part], buddies: Sequence[Part], rated: bool) -> LineCost:
    """The cost of a line whose misses do not name their writers.

    ``buddies`` are the parts of the other line of the 128-byte pair, if that is in the profile. ``rated`` tells that
    sampled stores say how often each member is written.
    """
    listed = total(line.accesses)
    found = _Sum()
    for part in parts:
        near = [one for one in parts if one.halves & part.halves]
        far = [one for one in parts if not one.halves & part.halves]
        longer = _lasts_longer(part, near)
        for victims in _alike(part, near, (*far, *buddies)):
            _blame(victims, rated, longer, found)
        if writers(near, part.only_cpu):
            most = 1.0 if longer else removable_share(part.name, writers(near, part.only_cpu), rated).most
            # Loads that were no HITM and yet slow may have waited for the line: they count in the upper limit.
            found.removable_cycles += Bounds(0.0, most * total(part.accesses).slow_cycles)
    _leave_out(line, parts, listed, found)
    by_name = {part.name: part for part in (*parts, *buddies)}
    rest = unlisted(line)
    return LineCost(
        contended=listed.contended + rest,
        cycles=listed.cycles + rest * _mean(listed),
        slow_cycles=listed.slow_cycles,
        sharings=_sharings(found, by_name),
        removable=found.removable,
        removable_cycles=found.removable_cycles,
        adjacent=found.adjacent,
        adjacent_cycles=found.adjacent_cycles,
        timed=bool(listed.contended) and listed.timed == listed.contended,
        notes=_notes(found),
    )


def _alike(part: Part, near: Sequence[Part], far: Sequence[Part]) -> list[_Victims]:
    """The accesses of a part that waited, those of CPUs with the same possible writers together."""
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[int, float, Mapping[str, int]]]] = {}
    for cpu, (contended, cycles) in _waited(part).items():
        here, beside = writers(near, cpu), writers(far, cpu)
        found.setdefault((tuple(here), tuple(beside)), []).append((contended, cycles, here))
    return [
        _Victims(part, sum(one for one, _, _ in group), sum(one for _, one, _ in group), _mean_stores(group), beside)
        for (_, beside), group in found.items()
    ]


def _mean_stores(group: Sequence[tuple[int, float, Mapping[str, int]]]) -> dict[str, float]:
    """The stores that others made to each part, on average over the contended accesses of the CPUs."""
    contended = sum(count for count, _, _ in group)
    return {name: sum(count * here[name] for count, _, here in group) / contended for name in group[0][2]}


def _waited(part: Part) -> dict[int | None, tuple[int, float]]:
    """Contended accesses and their cycles by CPU; ``None`` stands for CPUs that are not told apart."""
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


def writers(parts: Sequence[Part], cpu: int | None) -> dict[str, int]:
    """Parts that a CPU other than ``cpu`` writes, with the stores sampled there; 0 where they are inferred only."""
    found = {}
    for part in parts:
        stores = part.stores_elsewhere(cpu)
        if stores or (part.inferred and (cpu is None or part.only_cpu != cpu)):
            found[part.name] = stores
    return found


def removable_share(part: str, found: Mapping[str, float], rated: bool) -> Bounds:
    """Share of a part's misses that go when every other part leaves its line; ``found`` are the writers."""
    if part not in found:
        return ALL if found else ANY
    if len(found) == 1:
        return NONE
    if not rated or not any(found.values()):
        return ANY
    others = sum(found.values()) - found[part]
    return Bounds(0.0, share_of(others, sum(found.values())).most)


def blamed_share(writer: str, found: Mapping[str, float], rated: bool) -> Bounds:
    """Share of the misses in which the writer is the one who took the line."""
    if len(found) == 1:
        return ALL
    if not rated or not any(found.values()):
        return ANY
    return share_of(found[writer], sum(found.values()))


def _blame(victims: _Victims, rated: bool, longer: bool, found: _Sum) -> None:
    share = removable_share(victims.part.name, victims.here, rated)
    if longer and share.most < 1:
        share = Bounds(share.least, 1.0)
        found.notes[HELD_LONGER] = None
    found.removable += share.times(victims.contended)
    found.removable_cycles += share.times(victims.cycles)
    _note(victims, share, rated, found)
    for name in victims.here:
        _add(found, victims, name, CACHE_LINE_BYTES, blamed_share(name, victims.here, rated))
    if victims.beside and not victims.here:
        for name in victims.beside:
            _add(found, victims, name, ADJACENT_LINE_BYTES, ANY)
        found.adjacent += ANY.times(victims.contended)
        found.adjacent_cycles += ANY.times(victims.cycles)


def _lasts_longer(lock: Part, near: Sequence[Part]) -> bool:
    """Whether a lock may be held longer for its neighbours: who holds it waits for them, and everybody else for it."""
    contended = {part.name: total(part.accesses).contended for part in near}
    others = sum(contended.values()) - contended[lock.name]
    return lock.waited_for and others >= NEIGHBOURS_SHARE * sum(contended.values()) > 0


def _note(victims: _Victims, share: Bounds, rated: bool, found: _Sum) -> None:
    if not victims.here:
        found.unknown += victims.contended
    elif share.least < share.most and not (victims.part.waited_for and len(victims.here) == 1):
        found.notes[OWN_STORES if rated and any(victims.here.values()) else NO_RATES] = None


def _add(found: _Sum, victims: _Victims, writer: str, span: int, share: Bounds) -> None:
    key = victims.part.name, writer, span
    found.contended[key] = found.contended.get(key, NONE) + share.times(victims.contended)
    found.cycles[key] = found.cycles.get(key, NONE) + share.times(victims.cycles)


def _leave_out(line: SharedLine, parts: Sequence[Part], listed: Waiting, found: _Sum) -> None:
    """Accesses of no part, for they have no offset or stand in no row, may be of any member."""
    rest = unlisted(line) + listed.contended - sum(total(part.accesses).contended for part in parts)
    if rest > 0:
        found.removable += ANY.times(rest)
        found.removable_cycles += ANY.times(rest * _mean(listed))
        accesses, they = ("access stands", "it") if rest == 1 else ("accesses stand", "they")
        found.notes[UNLISTED.format(count=rest, accesses=accesses, they=they)] = None


def _mean(listed: Waiting) -> float:
    return listed.cycles / listed.contended if listed.contended else DEFAULTS.hitm_local


def _notes(found: _Sum) -> tuple[str, ...]:
    unknown = (UNKNOWN_WRITER.format(count=found.unknown),) if found.unknown else ()
    return (*unknown, *found.notes)


def _sharings(found: _Sum, by_name: Mapping[str, Part]) -> tuple[SharingCost, ...]:
    sharings = (
        SharingCost(by_name[victim].side(), by_name[writer].side(), amount, found.cycles[victim, writer, span], span)
        for (victim, writer, span), amount in found.contended.items()
    )
    return tuple(sorted(sharings, key=lambda one: (-one.cycles.most, one.victim.member, one.writer.member)))


# What each sharing on a line costs, from a recording: every miss names the store that had taken the line.

BEHIND = "up to {count:,} of these misses also brought bytes written elsewhere: parted, those would miss instead"


def recorded_cost(line: SharedLine, parts: Sequence[Part], names: Mapping[int, str]) -> LineCost:
    """The cost of a line with conflicts; ``names`` give the part at an offset."""

    def name(offset: int) -> str:
        return names.get(offset, f"{offset:#x}")

    between = [one for one in line.conflicts if name(one.offset) != name(one.writer_offset)]
    false = [one for one in between if not one.true_sharing]
    misses, cycles = sum(one.misses for one in false), sum(map(conflict_cycles, false))
    behind = min(misses, sum(one.shadowed for one in line.conflicts if one.true_sharing))
    kept = 1 - behind / misses if misses else 0.0
    return LineCost(
        contended=sum(one.misses for one in line.conflicts),
        cycles=sum(map(conflict_cycles, line.conflicts)),
        sharings=_recorded_sharings(line.conflicts, parts, name),
        removable=Bounds(misses * kept, misses),
        removable_cycles=Bounds(cycles * kept, cycles),
        exact=True,
        notes=(BEHIND.format(count=behind),) if behind else (),
    )


def _recorded_sharings(
    conflicts: Sequence[Conflict], parts: Sequence[Part], name: Callable[[int], str]
) -> tuple[SharingCost, ...]:
    """Misses by victim and writer, heaviest first."""
    sides = {part.name: part.side() for part in parts}
    grouped: dict[tuple[str, str], list[Conflict]] = {}
    for one in conflicts:
        grouped.setdefault((name(one.offset), name(one.writer_offset)), []).append(one)
    found = [
        SharingCost(_side(sides, victim), _side(sides, writer), _misses(group), _cycles(group))
        for (victim, writer), group in grouped.items()
        if sum(one.misses for one in group)
    ]
    return tuple(sorted(found, key=lambda one: (-one.cycles.most, one.victim.member, one.writer.member)))


def _side(sides: Mapping[str, Side], name: str) -> Side:
    return sides.get(name) or Side(name, 0, 0)


def _misses(group: Sequence[Conflict]) -> Bounds:
    count = sum(one.misses for one in group)
    return Bounds(count, count)


def _cycles(group: Sequence[Conflict]) -> Bounds:
    count = sum(map(conflict_cycles, group))
    return Bounds(count, count)


def removable_limit(line: SharedLine) -> float:
    """Cycles of misses for nothing between different offsets: whatever lies there, no layout removes more."""
    return sum(
        conflict_cycles(one) for one in line.conflicts if not one.true_sharing and one.offset != one.writer_offset
    )


# What a line costs, by the way its profile was taken, and what share of the profile a layout can remove.


def line_cost(
    line: SharedLine,
    objects: Sequence[LineObject],
    members: Sequence[LineMember],
    profile: Profile,
    buddies: Sequence[Part],
    waited: float,
    unseen: Sequence[LineMember] = (),
) -> LineCost:
    """The cost of one line; ``members`` as ``line_members`` and ``infer_writers`` gave them.

    ``buddies`` are the parts of the other line of its 128-byte pair, ``waited`` is ``profile_waited`` of the profile;
    ``unseen`` are members that only conflicts name.
    """
    here = parts(line.accesses, members, objects, line.bytes)
    if line.conflicts:
        cost = recorded_cost(line, here, {**part_names(unseen, objects), **part_names(members, objects)})
    else:
        cost = sampled_cost(line, here, buddies, _rated(here, profile))
    return replace(cost, share=_share(cost, line, waited))


def by_removable(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by the share of the profile that a layout can remove at most, then at least, then by their rank."""
    return tuple(sorted(found, key=lambda one: (-one.cost.share.most, -one.cost.share.least, one.rank)))


def _rated(here: Sequence[Part], profile: Profile) -> bool:
    """Whether sampled stores tell how often each part is written; IBS counts atomic updates among the loads."""
    ibs = any(event.startswith("ibs_") for event in profile.events)
    hidden = ibs and any(part.inferred and not part.stores for part in here)
    return any(part.stores for part in here) and not hidden


def _share(cost: LineCost, line: SharedLine, waited: float) -> Bounds:
    """Of all cycles of the profile; where its lines cannot be compared, of the line's own share."""
    most = Bounds(
        max(cost.removable_cycles.least, cost.adjacent_cycles.least),
        max(cost.removable_cycles.most, cost.adjacent_cycles.most),
    )
    if line.nominal and line.share is not None:
        return most.times(line.share / cost.waited) if cost.waited else Bounds()
    return most.times(1 / waited) if waited else Bounds()
