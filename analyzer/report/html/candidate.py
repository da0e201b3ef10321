# SPDX-License-Identifier: GPL-2.0-or-later
"""A candidate on a page: why, what it gains and costs, both layouts, phases, and the coherence steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from markupsafe import Markup

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.line_map.heat import NO_HEAT, Heat, heat_of
from linesmith.analyzer.line_map.record_map import compared_maps
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    CoherenceStep,
    Finding,
    Layout,
    LineMap,
    MemoryUse,
    Profile,
    StepTable,
)
from linesmith.analyzer.report.answer import answer_rows, contended, sharing_title
from linesmith.analyzer.report.candidate import Numbered, Suggested, change, concerned_names, moved_names
from linesmith.analyzer.report.html.drawings import PairPhases, pair_phases
from linesmith.analyzer.report.layout import MOST_HOT, excerpt, member_heat
from linesmith.analyzer.report.map_svg import line_map_figure
from linesmith.analyzer.report.suggest import notes_of, replayed_rows

# What objects of two layouts cost in their slab caches, side by side.

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One cache: each figure before and after, and which of them differ."""

    cache: str
    basis: str
    object_bytes: tuple[str, str]
    objects_per_slab: tuple[str, str]
    pages: tuple[str, str]
    mebibytes: tuple[str, str]
    changed: bool


def memory_rows(before: Sequence[MemoryUse], after: Sequence[MemoryUse]) -> tuple[MemoryRow, ...]:
    """A row for each cache that both know, those where something changes first."""
    rows = (_row(old, new) for old, new in zip(before, after, strict=False))
    return tuple(sorted(rows, key=lambda row: not row.changed))


def _row(old: MemoryUse, new: MemoryUse) -> MemoryRow:
    both = (old, new)
    return MemoryRow(
        old.cache,
        old.basis.value,
        _pair([f"{use.object_bytes:,}" for use in both]),
        _pair([f"{use.objects_per_slab:,} in {_pages(use)}" for use in both]),
        _pair([f"{use.pages_per_1000:,}" for use in both]),
        _pair([f"{use.bytes_per_100000 / _MIB:,.1f}" for use in both]),
        (old.stride, old.order, old.pages_per_1000) != (new.stride, new.order, new.pages_per_1000),
    )


def _pair(values: Sequence[str]) -> tuple[str, str]:
    return values[0], values[1]


def _pages(use: MemoryUse) -> str:
    pages = 1 << use.order
    return f"{pages} page{'s' * (pages != 1)}"


# A record before and after a change, as a page shows it: maps side by side, the text of both, what memory it costs.

Side = tuple[Layout, Layouts]


@dataclass(frozen=True, slots=True)
class Shown:
    """One side: ``drawing`` is an inline SVG, ``text`` the layout in pahole's style, its moved members marked."""

    caption: str
    size: str
    drawing: Markup
    text: str


@dataclass(frozen=True, slots=True)
class LayoutPair:
    """A record called ``title``, declared at ``place``; ``anchor`` is unlike that of any other pair of the page."""

    anchor: str
    title: str
    place: str
    before: Shown
    after: Shown
    memory: tuple[MemoryRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Emphasis:
    """Members that a reader should see: ``moved`` are marked, ``shown`` are told in the text, with ``said`` beside."""

    moved: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    said: Mapping[str, str] = field(default_factory=dict)


def layout_pair(
    anchor: str, before: Side, after: Side, emphasis: Emphasis, heat: Heat = NO_HEAT, memory: tuple[MemoryRow, ...] = ()
) -> LayoutPair:
    """The record of both sides; without ``emphasis`` the maps find out which members have moved."""
    maps = compared_maps(before, after, heat, emphasis.moved)
    moved = emphasis.moved or _moved(maps)
    sides = tuple(
        Shown(caption, _size(layout), figure(drawn), _text(layout, layouts, emphasis, moved))
        for caption, drawn, (layout, layouts) in zip(("Before", "After"), maps, (before, after), strict=True)
    )
    return LayoutPair(anchor, before[0].title, before[0].place, sides[0], sides[1], memory)


def figure(drawn: LineMap) -> Markup:
    """The drawing of a map: an element whose texts are escaped where it is made, with no style or script in it."""
    return Markup(line_map_figure(drawn))  # noqa: S704


def _moved(maps: Collection[LineMap]) -> frozenset[str]:
    """Outermost members of the cells that a comparison marks."""
    cells = (cell for drawn in maps for line in drawn.lines for cell in line.cells if cell.moved)
    return frozenset(cell.path.partition(".")[0] for cell in cells)


def _text(layout: Layout, layouts: Layouts, emphasis: Emphasis, moved: frozenset[str]) -> str:
    return "\n".join(row.rstrip() for row in excerpt(layout, layouts, emphasis.shown | moved, moved, emphasis.said))


def _size(layout: Layout) -> str:
    """Its size and the fewest lines it can lie on; the map below says on how many it lies where it begins."""
    count = lines(layout)
    return f"{layout.size:,} bytes, at least {count:,} line{'s' * (count != 1)}"


# Coherence steps on a page: two accesses that meet, each in the layout now and then.


@dataclass(frozen=True, slots=True)
class Steps:
    """One sharing, access by access: each step now and then."""

    title: str
    where: str
    rows: tuple[tuple[CoherenceStep, CoherenceStep], ...]
    cycles: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Why:
    """The sharings of a line, heaviest first; ``then`` heads the column of the layout that is compared."""

    then: str
    tables: tuple[Steps, ...]
    notes: tuple[str, ...]


def why(tables: Sequence[StepTable], finding: Finding, then: str) -> Why:
    """The steps of a line, each with its part of what is contended there."""
    notes = dict.fromkeys(note for table in tables for note in table.notes)
    return Why(then, tuple(_steps(table, finding) for table in tables), tuple(notes))


def _steps(table: StepTable, finding: Finding) -> Steps:
    counted = "accesses" if finding.simulated else "loads"
    title = sharing_title(table, f"of {contended(finding):,} contended {counted}")
    where = f"An object that starts {table.phase} bytes into its line"
    then = f", then {table.phase_after}" if table.phase_after != table.phase else ""
    return Steps(title, f"{where}{then}", tuple(zip(table.before, table.after, strict=True)), table.cycles)


# Who meets whom before and after a change: all pairs in one table, and the phases of the first few as drawings.

# Pairs whose phases are drawn in the open; those of the others are folded away.
MOST_OPEN = 2


@dataclass(frozen=True, slots=True)
class MeetingRow:
    """A pair: ``told`` is in how many phases it shares a line before and after, for each size of lines.

    ``places`` are the caches in whose objects it still does so on a usual line.
    """

    first: str
    second: str
    told: tuple[tuple[str, str], ...]
    places: str


@dataclass(frozen=True, slots=True)
class Meetings:
    """``sizes`` of lines in bytes; ``drawn`` in the open, ``folded`` away; both empty without drawings."""

    sizes: tuple[int, ...] = ()
    rows: tuple[MeetingRow, ...] = ()
    drawn: tuple[PairPhases, ...] = ()
    folded: tuple[PairPhases, ...] = ()


def meetings(candidate: Candidate, layouts: Layouts) -> Meetings:
    """The heaviest pairs of a change, the heaviest first."""
    pairs = pair_phases(candidate, layouts)
    drawings = [one for one in pairs if one.before.drawings]
    drawn = [one for one in drawings if one.line_bytes == CACHE_LINE_BYTES][:MOST_OPEN]
    folded = tuple(one for one in drawings if one not in drawn)
    return Meetings(tuple(dict.fromkeys(one.line_bytes for one in pairs)), _rows(pairs), tuple(drawn), folded)


def _rows(pairs: Sequence[PairPhases]) -> tuple[MeetingRow, ...]:
    grouped = (list(group) for _, group in groupby(pairs, lambda one: (one.first, one.second)))
    return tuple(map(_meeting_row, grouped))


def _meeting_row(group: Sequence[PairPhases]) -> MeetingRow:
    told = tuple((one.before.told, one.after.told) for one in group)
    usual = next((one.places for one in group if one.line_bytes == CACHE_LINE_BYTES), "")
    return MeetingRow(group[0].first, group[0].second, told, usual)


Fact = tuple[str, tuple[str, ...]]
# What the page tells in tables and drawings of their own.
_TOLD_ELSEWHERE = ("memory", "together")


@dataclass(frozen=True, slots=True)
class CandidateSection:
    """Everything that is told of one candidate; ``because`` is empty where it is not the recommended one."""

    number: int
    name: str
    change: str
    because: str
    facts: tuple[Fact, ...]
    pair: LayoutPair
    meetings: Meetings
    why: Why
    notes: tuple[str, ...]


def candidate_section(one: Numbered, suggested: Suggested, profile: Profile) -> CandidateSection:
    """The section of a candidate, with the heat of all lines on which its record was found."""
    return CandidateSection(
        one.number,
        one.name,
        change(one.candidate),
        one.candidate.recommended,
        tuple(_facts(one)),
        _layouts(one, suggested, profile),
        meetings(one.candidate, suggested.layouts),
        why(one.steps, one.line.finding, f"with candidate {one.name}"),
        notes_of(one),
    )


def _facts(one: Numbered) -> Iterator[Fact]:
    """Labels with their rows; a row without a label goes on with the one before."""
    grouped: list[tuple[str, list[str]]] = []
    for label, text in answer_rows(one.candidate, one.line.finding, one.replayed):
        if label or not grouped:
            grouped.append((label, []))
        grouped[-1][1].append(text)
    yield from ((label, tuple(rows)) for label, rows in grouped if label not in _TOLD_ELSEWHERE)
    if replayed := replayed_rows(one):
        yield "simulated", tuple(replayed)


def _layouts(one: Numbered, suggested: Suggested, profile: Profile) -> LayoutPair:
    candidate, layouts = one.candidate, suggested.layouts
    said = member_heat(one.line.finding, suggested.findings)
    emphasis = Emphasis(moved_names(candidate), concerned_names(candidate) | frozenset(list(said)[:MOST_HOT]), said)
    return layout_pair(
        f"candidate-{one.number}",
        (candidate.before, layouts),
        (candidate.after, layouts),
        emphasis,
        heat_of(candidate.before, layouts, suggested.findings, profile),
        memory_rows(candidate.costs[0].memory, candidate.costs[1].memory),
    )
