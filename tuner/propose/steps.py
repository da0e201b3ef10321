# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a candidate helps: the accesses of two CPUs through their caches, as MESI has it, before and after.

A profile has thousands of accesses of hundreds of CPUs. Its heaviest sharings tell what happens again and again: CPU A
writes a member, CPU B touches a member of the same line. Each of them is one turn of two accesses.

Source: Papamarcos and Patel, "A low-overhead coherence solution for multiprocessors with private cache memories"
(ISCA 1984). Caches are without bound: nothing is evicted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.attribution.lock import waits_for_lock
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import record_alignment
from linesmith.analyzer.layouts.placement import visible_places
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Bounds,
    Candidate,
    CoherenceStep,
    Finding,
    Latencies,
    Layout,
    LineMember,
    LineState,
    MemberFunction,
    SharingCost,
    StepTable,
)
from linesmith.analyzer.sharing.parts import own_members, part_names

WRITER, VICTIM = CPUS = ("A", "B")
# Turns of members that a layout can part, and of a member that waits for itself, which no layout helps.
MOST_PARTED = 2
MOST_KEPT = 1
# A sharing that causes less than this share of what the heaviest one does is not worth a turn.
LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Waits:
    """Cycles of a load that finds its line modified (as sampled, where the profile tells), and of stores."""

    load: int
    store: int
    upgrade: int = Latencies().upgrade


@dataclass(frozen=True, slots=True)
class TurnAccess:
    """One access of ``cpu`` by ``function`` to the leaf ``path`` of ``top``, ``offset`` bytes into the object."""

    cpu: str
    function: str
    path: str
    top: str
    offset: int
    writes: bool


@dataclass(frozen=True, slots=True)
class _Sharing:
    """Accesses to the part ``victim`` that wait for stores to ``writer``, and how long they take."""

    victim: str
    writer: str
    contended: Bounds
    waits: Waits


@dataclass(frozen=True, slots=True)
class Turn:
    """Two accesses that stand for a sharing: CPU A's ``write``, and CPU B's that has to ``wait`` for it."""

    sharing: _Sharing
    write: TurnAccess
    wait: TurnAccess

    @property
    def own(self) -> bool:
        """Whether a member waits for stores to itself, which no layout changes."""
        return self.write.top == self.wait.top


def _story(finding: Finding, separated: Collection[frozenset[str]]) -> tuple[Turn, ...]:
    """A few turns, those of the pairs ``separated`` (by member) first, then the heaviest; those that stay come last.

    Only accesses to the finding's first object are among them.
    """
    members = _own(finding)
    known = [one for one in _sharings(finding) if one.victim in members and one.writer in members]
    heaviest = max((one.contended.most for one in known), default=0.0)
    turns = [_turn(one, members) for one in known if one.contended.most >= LEAST_SHARE * heaviest]
    apart = [turn for turn in turns if not turn.own]
    apart.sort(key=lambda it: (frozenset((it.write.top, it.wait.top)) not in separated, -it.sharing.contended.most))
    return (*apart[:MOST_PARTED], *[turn for turn in turns if turn.own][:MOST_KEPT])


def _own(finding: Finding) -> dict[str, list[LineMember]]:
    """The parts of the first object by name, each with its leaves on the line."""
    names = part_names(finding.members, finding.objects)
    found: dict[str, list[LineMember]] = {}
    for member in own_members(finding):
        found.setdefault(names[member.offset], []).append(member)
    return found


def _sharings(finding: Finding) -> list[_Sharing]:
    """What the cost says of who waits for whom, heaviest first; without a cost, what the triage says."""
    costs = [one for one in finding.cost.sharings if one.span == CACHE_LINE_BYTES and one.contended.most]
    if costs:
        return [_Sharing(one.victim.member, one.writer.member, one.contended, _waits(one)) for one in costs]
    usual = Latencies()
    waits = Waits(usual.hitm_local, usual.taken_local)
    return [
        _Sharing(pair.reader, pair.writer, Bounds(pair.weight, pair.weight), waits) for pair in finding.triage.pairs
    ]


def _waits(sharing: SharingCost) -> Waits:
    """The mean of the sharing's contended accesses, and the usual figure for stores between the same nodes."""
    usual = Latencies()
    victim, writer = frozenset(sharing.victim.nodes), frozenset(sharing.writer.nodes)
    near = victim == writer and len(victim) < 2
    mean = sharing.cycles.most / sharing.contended.most
    return Waits(round(mean), usual.taken_local if near else usual.taken_remote)


def _turn(sharing: _Sharing, members: Mapping[str, Sequence[LineMember]]) -> Turn:
    leaf, function = max(_seen(members[sharing.writer]), key=lambda seen: _written(*seen))
    write = _access(WRITER, leaf, function, writes=True)
    leaf, function = max(_seen(members[sharing.victim]), key=lambda seen: (seen[1].contended, seen[1].records or 0))
    wait = _access(VICTIM, leaf, function, writes=not leaf.reads and leaf.writes > 0)
    return Turn(sharing, write, wait)


def _seen(leaves: Sequence[LineMember]) -> list[tuple[LineMember, MemberFunction]]:
    """Each leaf with each function on it; one that nobody was seen on has a function without a name."""
    return [(leaf, one) for leaf in leaves for one in leaf.functions or (MemberFunction("", 0, 0),)]


def _written(leaf: LineMember, function: MemberFunction) -> tuple[int, bool, bool, int]:
    """How sure it is that ``function`` writes ``leaf``, and how often it was seen there.

    Who waits for a lock reads it again and again; who takes it writes it.
    """
    named = bool(function.writes_inferred) or function.name in leaf.write_inferred.split()
    waits = leaf.lock and waits_for_lock(function.name)
    return function.stores, named, not waits, function.records or function.contended


def _access(cpu: str, leaf: LineMember, function: MemberFunction, *, writes: bool) -> TurnAccess:
    return TurnAccess(cpu, function.name, leaf.path, leaf.top, leaf.object_offset or 0, writes)


def step_tables(finding: Finding, candidate: Candidate, layouts: Layouts) -> tuple[StepTable, ...]:
    """A table for each of the finding's heaviest sharings, in the steady state, those that stay behind the others.

    None where nobody is known to wait for another member. The phase is the profile's, or the first in which the members
    meet where they would not meet in that one.
    """
    separated = {frozenset((one.first, one.second)) for one in candidate.residuals if one.after < one.before}
    old, new = _offsets(candidate.before, layouts), _offsets(candidate.after, layouts)
    shift = {name: new[name] - old[name] for name in old.keys() & new.keys()}
    tables = [_table(finding, turn, candidate, shift) for turn in _story(finding, separated)]
    return tuple(tables) if any(step.needless for one in tables for step in one.before) else ()


def _table(finding: Finding, turn: Turn, candidate: Candidate, shift: Mapping[str, int]) -> StepTable:
    """One turn before and after; ``shift`` is by how many bytes members move, those outside the record do not."""
    sharing, touches = turn.sharing, (turn.write, turn.wait)
    phase = _phase(finding, touches, record_alignment(candidate.before))
    phase_after = phase if phase % record_alignment(candidate.after) == 0 else 0
    moved = [touch.offset + shift.get(touch.top, 0) for touch in touches]
    return StepTable(
        sharing.victim,
        sharing.writer,
        sharing.contended,
        phase,
        tuple(_steps(touches, [(touch.offset + phase) // finding.bytes for touch in touches], sharing.waits)),
        tuple(_steps(touches, [(offset + phase_after) // finding.bytes for offset in moved], sharing.waits)),
        tuple(_notes(finding, touches, phase)),
        phase_after,
    )


def _offsets(layout: Layout, layouts: Layouts) -> dict[str, int]:
    places = visible_places(layout, layouts)
    return {name: layout.members[place.member].offset + place.start for name, place in places.items()}


def _phase(finding: Finding, touches: Sequence[TurnAccess], alignment: int) -> int:
    """The profile's phase if both accesses meet in it, else the first phase in which they do."""
    known = finding.objects[0].phase
    possible = [known, *range(0, finding.bytes, min(alignment, finding.bytes))]
    first, second = (touch.offset for touch in touches)
    meeting = (one for one in possible if (first + one) // finding.bytes == (second + one) // finding.bytes)
    return next(meeting, known)


def _steps(touches: Sequence[TurnAccess], lines: Sequence[int], waits: Waits) -> Iterator[CoherenceStep]:
    """The steps of accesses to ``lines``, counted from the one in which the object begins, in the long run.

    On one line each access takes it from the other CPU; on lines of their own both hold theirs for ever.
    """
    write, wait = touches
    met = lines[0] == lines[1]
    first = second = ("hit", 0)
    after = {VICTIM: LineState.MODIFIED if wait.writes else LineState.EXCLUSIVE}
    if met and wait.writes:
        first, second = (f"taken from {VICTIM}", waits.store), (f"taken from {WRITER}", waits.store)
    elif met:
        first, second = (f"invalidates {VICTIM}", waits.upgrade), (f"modified on {WRITER}", waits.load)
        after = dict.fromkeys(CPUS, LineState.SHARED)
    sides = ((write, lines[0], {WRITER: LineState.MODIFIED}, first), (wait, lines[1], after, second))
    for touch, line, held, (what, cycles) in sides:
        yield CoherenceStep(
            cpu=touch.cpu,
            function=touch.function,
            member=touch.path,
            line=line,
            writes=touch.writes,
            states=tuple((cpu, held.get(cpu, LineState.INVALID)) for cpu in CPUS),
            what=what,
            cycles=cycles,
            needless=met and write.top != wait.top,
        )


def _notes(finding: Finding, touches: Sequence[TurnAccess], phase: int) -> Iterator[str]:
    loads = "those of loads are the profile's mean" if finding.cost.timed else "those of loads are assumed, too"
    yield f"Cycles of stores are assumed, and a store buffer may hide them; {loads}."
    if phase != finding.objects[0].phase:
        yield "In the phase of the profile they would not meet: it is of another build."
    if any(touch.writes and not touch.function for touch in touches):
        yield "Who writes was not sampled."
