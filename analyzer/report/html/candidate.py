# SPDX-License-Identifier: GPL-2.0-or-later
"""A change of a layout on a page: both layouts, memory, phases and coherence steps, and all there is on a candidate.

The templates print values of the model; what they cannot work out themselves is here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from markupsafe import Markup

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.line_map.fields import NO_HEAT, MapHeat, heat_of
from linesmith.analyzer.line_map.record_map import compared_maps
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    Finding,
    Layout,
    LineMap,
    MemoryUse,
    Profile,
    StepTable,
)
from linesmith.analyzer.report.answer import answer_rows, of_contended, sharing_title, slabs_differ
from linesmith.analyzer.report.candidate import Numbered, Suggested, change, concerned_names, moved_names
from linesmith.analyzer.report.change_block import layout_rows
from linesmith.analyzer.report.html.drawings import PairPhases, pair_phases
from linesmith.analyzer.report.layout import MOST_HOT, excerpt, member_heat
from linesmith.analyzer.report.map_svg import line_map_figure
from linesmith.analyzer.report.prose import counted
from linesmith.analyzer.report.suggest import notes_of

# A slab cache before and after, and whether objects need other slabs.
MemoryRow = tuple[MemoryUse, MemoryUse, bool]


def memory_rows(before: Sequence[MemoryUse], after: Sequence[MemoryUse]) -> tuple[MemoryRow, ...]:
    """A row for each cache that both know, those where something changes first."""
    rows = ((old, new, slabs_differ(old, new)) for old, new in zip(before, after, strict=False))
    return tuple(sorted(rows, key=lambda row: not row[2]))


# A layout with those it is read with.
Side = tuple[Layout, Layouts]


@dataclass(frozen=True, slots=True)
class LayoutSide:
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
    before: LayoutSide
    after: LayoutSide
    memory: tuple[MemoryRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Emphasis:
    """Members that a reader should see: ``moved`` are marked, ``shown`` are in the text, with their ``heat``."""

    moved: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    heat: Mapping[str, str] = field(default_factory=dict)


def layout_pair(
    anchor: str,
    before: Side,
    after: Side,
    emphasis: Emphasis,
    heat: MapHeat = NO_HEAT,
    memory: tuple[MemoryRow, ...] = (),
) -> LayoutPair:
    """The record of both sides; without ``emphasis`` the maps find out which members have moved."""
    maps = compared_maps(before, after, heat, emphasis.moved)
    cells = (cell for drawn in maps for line in drawn.lines for cell in line.cells if cell.moved)
    moved = emphasis.moved or frozenset(cell.path.partition(".")[0] for cell in cells)
    sides = []
    for caption, drawn, (layout, layouts) in zip(("Before", "After"), maps, (before, after), strict=True):
        # The fewest lines it can lie on; the map tells on how many it lies where it begins.
        size = f"{layout.size:,} bytes, at least {counted(lines(layout), 'line')}"
        rows = excerpt(layout, layouts, emphasis.shown | moved, moved, emphasis.heat)
        sides.append(LayoutSide(caption, size, figure(drawn), "\n".join(row.rstrip() for row in rows)))
    return LayoutPair(anchor, before[0].title, before[0].place, sides[0], sides[1], memory)


def figure(drawn: LineMap) -> Markup:
    """The drawing of a map: an element whose texts are escaped where it is made, with no style or script in it."""
    return Markup(line_map_figure(drawn))  # noqa: S704


@dataclass(frozen=True, slots=True)
class Why:
    """The sharings of a line with their titles, heaviest first; ``then`` heads the column of the compared layout."""

    then: str
    tables: tuple[tuple[str, StepTable], ...]
    notes: tuple[str, ...]


def why(tables: Sequence[StepTable], finding: Finding, then: str) -> Why:
    """The steps of a line, each with its part of what is contended there."""
    notes = dict.fromkeys(note for table in tables for note in table.notes)
    return Why(then, tuple((sharing_title(table, of_contended(finding)), table) for table in tables), tuple(notes))


# Pairs whose phases are drawn in the open; those of the others are folded away.
MOST_OPEN = 2


@dataclass(frozen=True, slots=True)
class MeetingRow:
    """A pair: in how many ``phases`` it shares a line before and after, for each size of lines.

    ``places`` are the caches in whose objects it still does so on a usual line.
    """

    first: str
    second: str
    phases: tuple[tuple[str, str], ...]
    places: str


@dataclass(frozen=True, slots=True)
class Meetings:
    """Who meets whom before and after a change: all pairs in a table, the phases of the first few as drawings.

    ``sizes`` of lines are in bytes; pairs are ``drawn`` in the open or ``folded`` away, both empty without drawings.
    """

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
    rows = []
    for (first, second), ones in groupby(pairs, lambda one: (one.first, one.second)):
        group = list(ones)
        usual = next((one.places for one in group if one.line_bytes == CACHE_LINE_BYTES), "")
        rows.append(MeetingRow(first, second, tuple((one.before.share, one.after.share) for one in group), usual))
    sizes = dict.fromkeys(one.line_bytes for one in pairs)
    return Meetings(tuple(sizes), tuple(rows), tuple(drawn), folded)


Fact = tuple[str, tuple[str, ...]]
# What the page tells in tables and drawings of their own.
_TOLD_ELSEWHERE = ("memory", "together")


@dataclass(frozen=True, slots=True)
class CandidateSection:
    """Everything on one candidate; ``because`` is empty where it is not the recommended one."""

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
        tuple(_facts(one, suggested)),
        _layouts(one, suggested, profile),
        meetings(one.candidate, suggested.layouts),
        why(one.steps, one.line.finding, f"with candidate {one.name}"),
        notes_of(one),
    )


def _facts(one: Numbered, suggested: Suggested) -> Iterator[Fact]:
    """Labels with their rows; a row without a label goes on with the one before."""
    grouped: list[tuple[str, list[str]]] = []
    for label, text in (*layout_rows(one, suggested), *answer_rows(one.candidate)):
        if label or not grouped:
            grouped.append((label, []))
        grouped[-1][1].append(text)
    yield from ((label, tuple(rows)) for label, rows in grouped if label not in _TOLD_ELSEWHERE)


def _layouts(one: Numbered, suggested: Suggested, profile: Profile) -> LayoutPair:
    candidate, layouts = one.candidate, suggested.layouts
    heat = member_heat(one.line.finding, suggested.findings)
    emphasis = Emphasis(moved_names(candidate), concerned_names(candidate) | frozenset(list(heat)[:MOST_HOT]), heat)
    return layout_pair(
        f"candidate-{one.number}",
        (candidate.before, layouts),
        (candidate.after, layouts),
        emphasis,
        heat_of(candidate.before, layouts, suggested.findings, profile),
        memory_rows(*candidate.memory),
    )
