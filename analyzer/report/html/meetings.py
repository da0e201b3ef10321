# SPDX-License-Identifier: GPL-2.0-or-later
"""Who meets whom before and after a change: all pairs in one table, and the phases of the first few as drawings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate
from linesmith.analyzer.report.html.phase_strips import PairPhases, pair_phases

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
    return tuple(map(_row, grouped))


def _row(group: Sequence[PairPhases]) -> MeetingRow:
    told = tuple((one.before.told, one.after.told) for one in group)
    usual = next((one.places for one in group if one.line_bytes == CACHE_LINE_BYTES), "")
    return MeetingRow(group[0].first, group[0].second, told, usual)
