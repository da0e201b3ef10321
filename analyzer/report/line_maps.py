# SPDX-License-Identifier: GPL-2.0-or-later
"""The maps that a report shows: of the record that a finding is about, and of what a candidate makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linesmith.analyzer.diff import RecordChange
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.line_map import compared_maps, heat_of, line_map
from linesmith.analyzer.model import Candidate, Finding, LineMap, Profile
from linesmith.analyzer.report.moves import moved_names
from linesmith.analyzer.report.suggested import Suggested


def candidate_maps(
    candidate: Candidate, findings: Sequence[Finding], layouts: Layouts, profile: Profile | None = None
) -> tuple[LineMap, LineMap]:
    """The record before and after, with the heat of all ``findings`` and what moves marked in both."""
    heat = heat_of(candidate.before, layouts, findings, profile)
    both = compared_maps((candidate.before, layouts), (candidate.after, layouts), heat, moved_names(candidate))
    first, second = (one if candidate.before.name else replace(one, title=_inside(candidate)) for one in both)
    return first, second


def suggested_maps(
    answers: Suggested, profile: Profile | None = None, number: int | None = None
) -> tuple[tuple[LineMap, LineMap], ...]:
    """Before and after of candidate ``number``, or of each that is recommended, the hottest line first.

    Raises ``NothingToSuggest`` where no candidate is recommended.
    """
    chosen = [one for one in answers.numbered() if one.number == number or (not number and one.candidate.recommended)]
    if not chosen:
        raise NothingToSuggest("no candidate is recommended, so there is none to draw; name one with --candidate")
    return tuple(candidate_maps(one.candidate, answers.findings, answers.layouts, profile) for one in chosen)


def changed_maps(change: RecordChange, old: Layouts, new: Layouts) -> tuple[LineMap, ...]:
    """The record before and after, with what moved, came or went marked; one map where only one build has it."""
    if change.old is not None and change.new is not None:
        return compared_maps((change.old, old), (change.new, new))
    if change.old is not None:
        return (line_map(change.old, old, caption="removed"),)
    return (line_map(change.new, new, caption="added"),) if change.new is not None else ()


def _inside(candidate: Candidate) -> str:
    return f"{candidate.before.kind.value} inside {candidate.type}"
