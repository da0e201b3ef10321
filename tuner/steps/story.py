# SPDX-License-Identifier: GPL-2.0-or-later
"""The accesses that stand for a finding: who writes on CPU A, and who waits for that on CPU B.

A profile has thousands of accesses of hundreds of CPUs. Its heaviest sharings tell what happens again and again: one
CPU writes a member, another touches a member of the same line. Each of them is one turn of two accesses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.attribution.lock import waits_for_lock
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Bounds,
    ConflictPair,
    Finding,
    Latencies,
    LineMember,
    MemberFunction,
    SharingCost,
)
from linesmith.analyzer.sharing.parts import part_names

WRITER, VICTIM = "A", "B"
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
    clean: int = Latencies().shared
    upgrade: int = Latencies().upgrade


@dataclass(frozen=True, slots=True)
class Touch:
    """One access of ``cpu`` by ``function`` to the leaf ``path`` of ``top``, ``offset`` bytes into the object."""

    cpu: str
    function: str
    path: str
    top: str
    offset: int
    writes: bool
    waits: Waits


@dataclass(frozen=True, slots=True)
class Turn:
    """Accesses to the member ``victim`` that wait for stores to ``writer``: ``write`` and ``wait`` stand for them."""

    victim: str
    writer: str
    contended: Bounds
    write: Touch
    wait: Touch

    @property
    def own(self) -> bool:
        """Whether a member waits for stores to itself, which no layout changes."""
        return self.write.top == self.wait.top


@dataclass(frozen=True, slots=True)
class _Sharing:
    """Two parts as the cost names them, what it is about, and how long it takes."""

    victim: str
    writer: str
    contended: Bounds
    waits: Waits


def story(finding: Finding, parted: Collection[frozenset[str]]) -> tuple[Turn, ...]:
    """A few turns, those of the pairs ``parted`` (by member) first, then the heaviest; those that stay come last.

    Only accesses to the finding's first object are among them.
    """
    members = _own(finding)
    known = [one for one in _sharings(finding) if one.victim in members and one.writer in members]
    heaviest = max((one.contended.most for one in known), default=0.0)
    turns = [_turn(one, members) for one in known if one.contended.most >= LEAST_SHARE * heaviest]
    apart = [turn for turn in turns if not turn.own]
    apart.sort(key=lambda turn: (frozenset((turn.write.top, turn.wait.top)) not in parted, -turn.contended.most))
    return (*apart[:MOST_PARTED], *[turn for turn in turns if turn.own][:MOST_KEPT])


def _own(finding: Finding) -> dict[str, list[LineMember]]:
    """The parts of the first object by name, each with its leaves on the line."""
    names = part_names(finding.members, finding.objects)
    start = finding.objects[0].start if finding.objects else 0
    found: dict[str, list[LineMember]] = {}
    for member in finding.members:
        if member.object_offset is not None and member.offset - member.object_offset == start:
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
        _Sharing(_victim(pair), pair.writer, Bounds(pair.weight, pair.weight), waits) for pair in finding.triage.pairs
    ]


def _victim(pair: ConflictPair) -> str:
    return pair.second if pair.writer == pair.first else pair.first


def _waits(sharing: SharingCost) -> Waits:
    """The mean of the sharing's contended accesses, and the usual figure for stores between the same nodes."""
    usual = Latencies()
    victim, writer = frozenset(sharing.victim.nodes), frozenset(sharing.writer.nodes)
    near = victim == writer and len(victim) < 2
    mean = sharing.cycles.most / sharing.contended.most
    return Waits(round(mean), usual.taken_local if near else usual.taken_remote)


def _turn(sharing: _Sharing, members: Mapping[str, Sequence[LineMember]]) -> Turn:
    leaf, function = max(_seen(members[sharing.writer]), key=lambda seen: _written(*seen))
    write = _touch(WRITER, leaf, function, sharing, writes=True)
    leaf, function = max(_seen(members[sharing.victim]), key=lambda seen: (seen[1].contended, seen[1].records or 0))
    wait = _touch(VICTIM, leaf, function, sharing, writes=not leaf.reads and leaf.writes > 0)
    return Turn(sharing.victim, sharing.writer, sharing.contended, write, wait)


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


def _touch(cpu: str, leaf: LineMember, function: MemberFunction, sharing: _Sharing, *, writes: bool) -> Touch:
    return Touch(cpu, function.name, leaf.path, leaf.top, leaf.object_offset or 0, writes, sharing.waits)
