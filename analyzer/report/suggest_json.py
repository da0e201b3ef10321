# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON form of candidates; docs/schema-suggest.md documents it and a test keeps the two equal.

Offsets, sizes and alignments are in bytes; shares run from 0 to 1; counts are samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from linesmith.analyzer.geometry import lines
from linesmith.analyzer.model import (
    Candidate,
    ConflictPair,
    Considered,
    ElfIdentity,
    Finding,
    Interval,
    Layout,
    Misses,
    Move,
    Prediction,
    Residual,
    Sharded,
    SimulatedLines,
    SimulatedPair,
    Simulation,
)

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


class CandidateDocument(msgspec.Struct, frozen=True):
    """One candidate; ``number`` is what ``linesmith patch --candidate`` takes, ``line`` the rank of the hot line."""

    number: int
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
    simulated: SimulationDocument | msgspec.UnsetType = msgspec.UNSET


class RefusedDocument(msgspec.Struct, frozen=True):
    """A hot line without candidates, and why."""

    line: int
    reason: str


class SuggestDocument(msgspec.Struct, frozen=True):
    """What ``linesmith suggest --format json`` prints."""

    schema: int
    elf: ElfIdentity
    source: str
    candidates: tuple[CandidateDocument, ...]
    refused: tuple[RefusedDocument, ...]
    sharded: ShardedDocument | msgspec.UnsetType = msgspec.UNSET


def render_json(
    proposed: Sequence[tuple[Finding, Sequence[Candidate]]],
    refused: Sequence[tuple[Finding, str]],
    elf: ElfIdentity,
    source: str,
    simulations: Mapping[int, Simulation] = MappingProxyType({}),
    sharded: Sharded | None = None,
) -> str:
    """The candidates of every line as one JSON document, indented, with a newline at the end.

    They stay in the order of their numbers, ``simulations`` or not.
    """
    flat = [(finding, candidate) for finding, candidates in proposed for candidate in candidates]
    document = SuggestDocument(
        SCHEMA_VERSION,
        elf,
        source,
        tuple(_candidate(number, *pair, simulations.get(number)) for number, pair in enumerate(flat, start=1)),
        tuple(RefusedDocument(finding.rank, reason) for finding, reason in refused),
        _sharded(sharded) if sharded else msgspec.UNSET,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(SuggestDocument)


def _candidate(number: int, finding: Finding, candidate: Candidate, simulation: Simulation | None) -> CandidateDocument:
    return CandidateDocument(
        number,
        finding.rank,
        candidate.type,
        candidate.moves,
        candidate.after.size,
        candidate.lines,
        candidate.residuals,
        candidate.predicted,
        finding.triage.pairs,
        _layout(candidate.before),
        _layout(candidate.after),
        candidate.constraints,
        candidate.notes,
        candidate.considered,
        _simulation(simulation) if simulation else msgspec.UNSET,
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
