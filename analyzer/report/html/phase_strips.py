# SPDX-License-Identifier: GPL-2.0-or-later
"""Two members in every phase of their object, as small drawings of one kind: in which phases they share a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from linesmith.analyzer.geometry import flatten
from linesmith.analyzer.geometry.lines import line_of, lines_touched
from linesmith.analyzer.geometry.phase import ObjectStarts, Span, meet, phases
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Candidate, Layout, Residual
from linesmith.analyzer.report.meeting import by_place, share_of_phases
from linesmith.analyzer.report.moves import MOST_PAIRS

WIDTH = 92
# More phases than these say no more when they are drawn; they are counted.
MOST_PHASES = 16


@dataclass(frozen=True, slots=True)
class Bar:
    """From ``left`` on, ``width`` wide, in units of the drawing."""

    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """One phase: both members over the lines they lie on; ``shared`` are the lines that hold bytes of both."""

    phase: int
    meet: bool
    lines: tuple[Bar, ...]
    shared: tuple[Bar, ...]
    first: Bar
    second: Bar


@dataclass(frozen=True, slots=True)
class Meeting:
    """A pair on lines of one size, under one layout: ``told`` is ``7 of 8 phases``; drawn where that can be seen."""

    told: str
    drawings: tuple[Drawing, ...]


@dataclass(frozen=True, slots=True)
class PairPhases:
    """A pair of members on lines of one size, before and after a change; ``places`` says where they still meet."""

    first: str
    second: str
    line_bytes: int
    before: Meeting
    after: Meeting
    places: str


def pair_phases(candidate: Candidate, layouts: Layouts) -> tuple[PairPhases, ...]:
    """For each pair that meets and each size of lines, the heaviest pair first."""
    pairs = [list(group) for _, group in groupby(candidate.residuals, lambda one: (one.first, one.second))]
    return tuple(_pair(one, candidate, layouts) for group in pairs[:MOST_PAIRS] for one in group)


def _pair(one: Residual, candidate: Candidate, layouts: Layouts) -> PairPhases:
    firsts = candidate.firsts or (0, 0)
    sides = zip((candidate.before, candidate.after), (one.before, one.after), candidate.steps, firsts, strict=True)
    before, after = (
        Meeting(
            share_of_phases(share, one.line_bytes, step),
            tuple(_drawings(one, layout, ObjectStarts(step, first), layouts)),
        )
        for layout, share, step, first in sides
    )
    return PairPhases(one.first, one.second, one.line_bytes, before, after, by_place(one, candidate.proofs))


def _drawings(one: Residual, layout: Layout, objects: ObjectStarts, layouts: Layouts) -> Iterator[Drawing]:
    """A drawing for each phase of the ``objects``; none where they are too many, or a name is unknown."""
    first, second = span_of(one.first, layout, layouts), span_of(one.second, layout, layouts)
    starts = phases(objects.step, one.line_bytes, objects.first)
    if first is not None and second is not None and len(starts) <= MOST_PHASES:
        yield from (_drawing(first, second, one.line_bytes, phase) for phase in starts)


def span_of(name: str, layout: Layout, layouts: Layouts) -> Span | None:
    """The bytes of the member called so, also of one inside an anonymous record; ``None`` where there is none."""
    member = next((one for one in layout.members if one.name == name), None)
    if member is not None:
        return Span(member.offset, member.size)
    inside = [one for one in flatten(layout, layouts) if one.path.partition(".")[0].partition("[")[0] == name]
    if not inside:
        return None
    begin = min(one.offset for one in inside)
    return Span(begin, max(one.offset + one.size for one in inside) - begin)


def _drawing(first: Span, second: Span, line_bytes: int, phase: int) -> Drawing:
    spans = [Span(one.offset + phase, max(one.size, 1)) for one in (first, second)]
    begin = line_of(min(one.offset for one in spans), line_bytes)
    end = line_of(max(one.offset + one.size - 1 for one in spans), line_bytes) + 1
    scale = WIDTH / ((end - begin) * line_bytes)
    mine, other = (lines_touched(one.offset, one.size, line_bytes) for one in spans)

    def bar(offset: int, size: int) -> Bar:
        return Bar(round((offset - begin * line_bytes) * scale, 1), round(max(size * scale, 1.5), 1))

    return Drawing(
        phase,
        meet(first, second, line_bytes, phase),
        tuple(bar(number * line_bytes, line_bytes) for number in range(begin, end)),
        tuple(bar(number * line_bytes, line_bytes) for number in sorted(set(mine) & set(other))),
        bar(spans[0].offset, spans[0].size),
        bar(spans[1].offset, spans[1].size),
    )
