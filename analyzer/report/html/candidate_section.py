# SPDX-License-Identifier: GPL-2.0-or-later
"""A candidate on a page: why, what it gains and costs, both layouts, phases, and the coherence steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.line_map import heat_of
from linesmith.analyzer.model import Profile
from linesmith.analyzer.report.answer import answer_rows
from linesmith.analyzer.report.html.coherence_steps import Why, why
from linesmith.analyzer.report.html.layout_pair import Emphasis, LayoutPair, layout_pair
from linesmith.analyzer.report.html.meetings import Meetings, meetings
from linesmith.analyzer.report.html.memory_table import memory_rows
from linesmith.analyzer.report.member_heat import MOST_HOT, member_heat
from linesmith.analyzer.report.moves import change, concerned_names, moved_names
from linesmith.analyzer.report.suggested import Numbered, Suggested
from linesmith.analyzer.report.suggested_line import notes_of, replayed_rows

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
