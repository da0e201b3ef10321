# SPDX-License-Identifier: GPL-2.0-or-later
"""A hot line on a page: what lies on it, who touches it, why it costs, and what can be done about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from linesmith.analyzer.attribution.variables import apart_sentence
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.line_map.fields import heat_of
from linesmith.analyzer.line_map.record_map import line_map
from linesmith.analyzer.model import (
    Cell,
    CellKind,
    Finding,
    LineMap,
    LineMember,
    LineObject,
    MemberFunction,
    Outcome,
    Profile,
    SharingCost,
    StructuralAdvice,
    Toucher,
)
from linesmith.analyzer.report import findings
from linesmith.analyzer.report.candidate import Numbered, Suggested, alternative_cells
from linesmith.analyzer.report.findings import (
    contended_accesses,
    cost_rows,
    heavy_sharings,
    joined_objects,
    lock_rows,
    stores_of,
)
from linesmith.analyzer.report.html.candidate import (
    CandidateSection,
    LayoutPair,
    Meetings,
    Why,
    candidate_section,
    figure,
)
from linesmith.analyzer.report.map_words import level, where
from linesmith.analyzer.report.prose import counted, short
from linesmith.analyzer.report.structure import tables
from linesmith.analyzer.sharing.accounts import type_of

# A function less on a member that many call says nothing that the others do not.
MOST_TOUCHERS = 12


MOST_FUNCTIONS = 12
MOST_CONTAINERS = 8
# Candidates with higher numbers are in tables only, or with fewer drawings where they are recommended.
MOST_DRAWN = 24


@dataclass(frozen=True, slots=True)
class TouchedCell:
    """A member on a ``line`` of its object; ``readers`` and ``writers`` are functions with samples, CPUs and nodes."""

    line: int
    cell: Cell
    readers: tuple[str, ...]
    writers: tuple[str, ...]


def touched_cells(drawn: LineMap) -> tuple[TouchedCell, ...]:
    """The cells that somebody was seen to touch, in the order of their bytes."""
    return tuple(
        TouchedCell(line.number, cell, _callers(cell.touchers, "read"), _callers(cell.touchers, "write"))
        for line in drawn.lines
        for cell in line.cells
        if cell.kind is CellKind.MEMBER and level(cell)
    )


def _callers(touchers: Sequence[Toucher], verb: str) -> tuple[str, ...]:
    """``down_write on 12 CPUs of nodes 0-1: 300 writes``, who does it most first; the CPUs are those of all it did."""
    counts = sorted(((one.reads if verb == "read" else one.writes, one) for one in touchers), key=lambda pair: -pair[0])
    rows = [f"{short(one.function)}{where(one)}: {counted(count, verb)}" for count, one in counts if count]
    more = len(rows) - MOST_TOUCHERS
    return (*rows[:MOST_TOUCHERS], *([f"and {more} more"] if more > 0 else []))


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member met on the line, its share of what is contended there, and its functions in words."""

    member: LineMember
    share: str
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindingSection:
    """Everything on one line; ``alike`` are the ranks of lines that it stands for.

    ``doubt`` is what speaks against the record on the line, empty where nothing does.
    """

    finding: Finding
    title: str
    doubt: str
    facts: tuple[tuple[str, str], ...]
    drawing: Markup
    cells: tuple[TouchedCell, ...]
    members: tuple[MemberRow, ...]
    waits: tuple[SharingCost, ...]
    reasons: tuple[str, ...]
    alike: tuple[int, ...]
    shown: CandidateSection | None
    others: tuple[CandidateSection, ...]
    candidates: tuple[tuple[str, ...], ...]
    refusal: str
    advice: tuple[tuple[StructuralAdvice, tuple[tuple[str, Sequence[str]], ...]], ...]


def finding_section(
    finding: Finding, alike: tuple[int, ...], ones: Sequence[Numbered], suggested: Suggested, profile: Profile
) -> FindingSection:
    """The section of a line; ``ones`` are its candidates, of which the recommended one is shown in full."""
    accesses = "accesses" if profile.recording else "loads"
    line = next((one for one in suggested.lines if one.finding.rank == finding.rank), None)
    # Where the record is known; a guess stands among the facts, and is not drawn.
    known = finding.objects[0].layout if type_of(finding) else None
    record = None if known is None else suggested.layouts.by_id(known)
    drawing, cells = Markup(""), tuple[TouchedCell, ...]()
    if record is not None:
        # The first object as it lies on this line, with the heat of all lines of its record.
        heat = heat_of(record, suggested.layouts, suggested.findings, profile)
        drawn = line_map(record, suggested.layouts, heat, finding.objects[0].phase, finding.bytes)
        drawing, cells = figure(drawn), touched_cells(drawn)
    recommended = next((one for one in ones if one.candidate.recommended), None)
    shown = recommended or (ones[0] if ones and not (line and line.declined) else None)
    return FindingSection(
        finding,
        record.title if record else type_of(finding) or "object not known",
        finding.objects[0].doubt if type_of(finding) else "",
        (
            *_facts(finding, accesses),
            *(pair for one in joined_objects(finding.objects) for pair in _object(one, finding)),
        ),
        drawing,
        cells,
        tuple(_member(one, finding) for one in finding.members),
        tuple(heavy_sharings(finding.cost)),
        (*lock_rows(finding.lock), *finding.triage.reasons, *finding.cost.notes),
        alike,
        candidate_section(shown, suggested, profile) if shown else None,
        tuple(
            candidate_section(one, suggested, profile) for one in ones if one is not shown and one.number <= MOST_DRAWN
        ),
        tuple(map(tuple, alternative_cells(ones))) if ones else (),
        (line.declined or line.refusal) if line else "",
        tuple((one, tuple(fact for fact in tables(one) if fact[1])) for one in line.advice) if line else (),
    )


def _facts(finding: Finding, accesses: str) -> Iterator[tuple[str, str]]:
    yield "share", f"{finding.share:.1%} of all contended {accesses} of the {finding.whole}"
    yield "samples", f"{contended_accesses(finding.contended, accesses)}, {stores_of(finding)}"
    if finding.address is not None:
        yield "address", f"{finding.address:#x}"
    for row in cost_rows(finding.cost, accesses, finding.whole):
        label, _, text = row.strip().partition(" ")
        yield {"removable": "a layout can remove"}.get(label, label), text.strip()
    if finding.simulated:
        yield "simulated", finding.simulated
    if finding.apart:
        yield "emulated", apart_sentence(finding.apart)


def _object(one: LineObject, finding: Finding) -> Iterator[tuple[str, str]]:
    if not one.type:
        yield "object", ", ".join(words for words in (one.outcome.value, one.origin, one.reason) if words)
        return
    origin = f", {one.origin}" if one.origin else ""
    yield "object", f"{findings.place(one, finding)}{origin}"
    yield "known by" if one.outcome is not Outcome.CANNOT_TELL else "so far", findings.certainty(one, finding)
    if one.reason:
        yield "but", one.reason
    if one.containers:
        yield "held by", listed(one.containers, MOST_CONTAINERS)


def _member(one: LineMember, finding: Finding) -> MemberRow:
    contended = sum(function.contended for function in one.functions)
    share = f"{contended / finding.contended:.1%}" if finding.contended else "-"
    more = len(one.functions) - MOST_FUNCTIONS
    functions = [*map(_function, one.functions[:MOST_FUNCTIONS]), *([f"and {more} more"] if more > 0 else [])]
    return MemberRow(one, share, tuple(functions))


def _function(one: MemberFunction) -> str:
    """``down_write: 300 contended, 12 stores, on 8 CPUs``."""
    parts = [f"{one.contended:,} contended"] if one.contended else []
    parts += [counted(one.stores, "store")] if one.stores else []
    parts += [f"on {one.cpus} CPU{'s' * (one.cpus != 1)}"] if one.cpus else []
    parts += [one.writes_inferred] if one.writes_inferred else []
    parts += [one.source] if one.source else []
    return f"{one.name}: {', '.join(parts)}" if parts else one.name


@dataclass(frozen=True, slots=True)
class ChangedRecord:
    """A record that two builds lay out otherwise.

    ``own`` tells that its own declaration was changed; others differ because they hold such a record. ``cells`` are of
    the layout before; ``meetings`` and ``why`` are there where a profile shows who meets whom.
    """

    pair: LayoutPair
    own: bool = True
    cells: tuple[TouchedCell, ...] = ()
    meetings: Meetings = field(default_factory=Meetings)
    why: Why | None = None
