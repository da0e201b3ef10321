# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON form of candidates; docs/schema-suggest.md documents it and a test keeps the two equal.

Offsets, sizes and alignments are in bytes; shares run from 0 to 1; counts are samples.
"""

from __future__ import annotations

import msgspec

from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.model import (
    Bounds,
    Churn,
    CoherenceStep,
    ConflictPair,
    Considered,
    ElfIdentity,
    HolderChange,
    Interval,
    Layout,
    LayoutCost,
    Misses,
    Move,
    Optimality,
    PhaseProof,
    Prediction,
    ReplayedSaving,
    Residual,
    Saving,
    Sharded,
    SimulatedLines,
    SimulatedPair,
    Simulation,
    SlabMachine,
    StepTable,
)
from linesmith.analyzer.report.candidate import Numbered, Suggested
from linesmith.analyzer.report.structure import StructureDocument, advice_document

SCHEMA_VERSION = 1


class PlacedDocument(msgspec.Struct, frozen=True):
    """A member in its place; ``bit_offset`` counts from the record's first bit, ``name`` is ``""`` if anonymous."""

    name: str
    type: str
    offset: int
    size: int
    bit_offset: int | None
    bit_size: int | None
    alignment: int | None


class LayoutDocument(msgspec.Struct, frozen=True):
    """A record's layout; ``place`` is ``file:line`` of its declaration."""

    title: str
    place: str
    size: int
    lines: int
    members: tuple[PlacedDocument, ...]


class SimulatedLinesDocument(msgspec.Struct, frozen=True):
    """Misses before and after with lines of one size; ``cycles`` by the model's default latencies."""

    line_bytes: int
    before: Misses
    after: Misses
    traced: int
    change: float
    interval: Interval
    cycles_before: int
    cycles_after: int
    pairs: tuple[SimulatedPair, ...]
    phases: int


class SimulationDocument(msgspec.Struct, frozen=True):
    """What replaying the trace says; ``refusal`` tells why it says nothing, and is empty otherwise."""

    lines: tuple[SimulatedLinesDocument, ...]
    objects: int
    accesses: int
    milliseconds: float
    remarks: tuple[str, ...]
    refusal: str


class ShardedDocument(msgspec.Struct, frozen=True):
    """Members of a record in several copies, and what that saves at best."""

    type: str
    members: tuple[str, ...]
    ways: int
    by: str
    simulated: SimulationDocument


class StepDocument(msgspec.Struct, frozen=True):
    """One access of a CPU: what it finds on the line, and the states (``M``, ``E``, ``S``, ``I``) behind it by CPU."""

    cpu: str
    function: str
    member: str
    writes: bool
    line: int
    states: dict[str, str]
    what: str
    cycles: int
    needless: bool


class StepsDocument(msgspec.Struct, frozen=True):
    """The accesses that stand for one sharing, in the layout as it is and under the candidate."""

    victim: str
    writer: str
    contended: Bounds
    phase: int
    phase_after: int
    before: tuple[StepDocument, ...]
    after: tuple[StepDocument, ...]
    notes: tuple[str, ...]


class CandidateDocument(msgspec.Struct, frozen=True):
    """One candidate; ``linesmith patch --candidate`` takes ``number`` or ``name``; ``line`` is the hot line's rank.

    ``holders`` are the records around it that get another size, ``granules`` the bytes between the places at which
    objects start before and after, ``firsts`` the first of these in a pair of lines where objects are variables,
    ``loose`` the caches that do not keep to the new alignment.
    """

    number: int
    name: str
    line: int
    type: str
    moves: tuple[Move, ...]
    size: int
    lines: int
    residual_phases: tuple[Residual, ...]
    predicted: Prediction
    pairs: tuple[ConflictPair, ...]
    before: LayoutDocument
    after: LayoutDocument
    constraints: tuple[str, ...]
    notes: tuple[str, ...]
    considered: tuple[Considered, ...]
    strategy: str
    recommended: str
    cost_before: LayoutCost
    cost_after: LayoutCost
    saving: Saving
    churn: Churn
    proofs: tuple[PhaseProof, ...]
    optimality: Optimality | None
    holders: tuple[HolderChange, ...]
    granules: tuple[int, int]
    firsts: tuple[int, int] | None
    loose: tuple[str, ...]
    steps: tuple[StepsDocument, ...]
    simulated: SimulationDocument | msgspec.UnsetType = msgspec.UNSET
    replayed: ReplayedSaving | msgspec.UnsetType = msgspec.UNSET


class RefusedDocument(msgspec.Struct, frozen=True):
    """A hot line without candidates, and why."""

    line: int
    reason: str


class AdviceDocument(msgspec.Struct, frozen=True):
    """What to change beside the order of members, for a hot line."""

    line: int
    advice: tuple[StructureDocument, ...]


class SuggestDocument(msgspec.Struct, frozen=True):
    """What ``linesmith suggest --format json`` prints; ``declined`` are lines with candidates, none recommended."""

    schema: int
    elf: ElfIdentity
    source: str
    machine: SlabMachine | None
    candidates: tuple[CandidateDocument, ...]
    declined: tuple[RefusedDocument, ...]
    refused: tuple[RefusedDocument, ...]
    structure: tuple[AdviceDocument, ...]
    sharded: ShardedDocument | msgspec.UnsetType = msgspec.UNSET


def render_json(suggested: Suggested) -> str:
    """The candidates of every line as one JSON document, indented, with a newline at the end.

    They stay in the order of their numbers, simulations or not.
    """
    document = SuggestDocument(
        SCHEMA_VERSION,
        suggested.elf,
        suggested.source,
        suggested.machine,
        tuple(map(_candidate, suggested.numbered())),
        tuple(RefusedDocument(one.finding.rank, one.declined) for one in suggested.lines if one.declined),
        tuple(RefusedDocument(one.finding.rank, one.refusal) for one in suggested.lines if one.refusal),
        tuple(
            AdviceDocument(one.finding.rank, tuple(map(advice_document, one.advice)))
            for one in suggested.lines
            if one.advice
        ),
        _sharded(suggested.sharded) if suggested.sharded else msgspec.UNSET,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(SuggestDocument)


def _candidate(one: Numbered) -> CandidateDocument:
    candidate = one.candidate
    return CandidateDocument(
        number=one.number,
        name=one.name,
        line=one.line.finding.rank,
        type=candidate.type,
        moves=candidate.moves,
        size=candidate.after.size,
        lines=candidate.lines,
        residual_phases=candidate.residuals,
        predicted=candidate.predicted,
        pairs=one.line.finding.triage.pairs,
        before=_layout(candidate.before),
        after=_layout(candidate.after),
        constraints=candidate.constraints,
        notes=candidate.notes,
        considered=candidate.considered,
        strategy=candidate.strategy.value,
        recommended=candidate.recommended,
        cost_before=candidate.costs[0],
        cost_after=candidate.costs[1],
        saving=candidate.saving,
        churn=candidate.churn,
        proofs=candidate.proofs,
        optimality=candidate.optimality,
        holders=candidate.holders,
        granules=candidate.steps,
        firsts=candidate.firsts,
        loose=candidate.loose,
        steps=tuple(map(_steps, one.steps)),
        simulated=_simulation(one.simulation) if one.simulation else msgspec.UNSET,
        replayed=one.replayed or msgspec.UNSET,
    )


def _steps(one: StepTable) -> StepsDocument:
    before, after = tuple(map(_step, one.before)), tuple(map(_step, one.after))
    return StepsDocument(one.victim, one.writer, one.contended, one.phase, one.phase_after, before, after, one.notes)


def _step(one: CoherenceStep) -> StepDocument:
    return StepDocument(
        one.cpu,
        one.function,
        one.member,
        one.writes,
        one.line,
        {cpu: state.value for cpu, state in one.states},
        one.what,
        one.cycles,
        one.needless,
    )


def _sharded(one: Sharded) -> ShardedDocument:
    return ShardedDocument(one.type, one.members, one.ways, one.by, _simulation(one.simulation))


def _simulation(simulation: Simulation) -> SimulationDocument:
    return SimulationDocument(
        tuple(_simulated(one) for one in simulation.lines),
        simulation.objects,
        simulation.accesses,
        simulation.milliseconds,
        simulation.remarks,
        simulation.refusal,
    )


def _simulated(one: SimulatedLines) -> SimulatedLinesDocument:
    cycles = one.before.cycles(), one.after.cycles()
    return SimulatedLinesDocument(
        one.line_bytes, one.before, one.after, one.traced, one.change, one.interval, *cycles, one.pairs, one.phases
    )


def _layout(layout: Layout) -> LayoutDocument:
    members = tuple(
        PlacedDocument(
            member.name,
            member.type,
            member.offset,
            member.size,
            member.bit_offset,
            member.bit_size,
            member.alignment,
        )
        for member in layout.members
    )
    return LayoutDocument(layout.title, layout.place, layout.size, lines(layout), members)
