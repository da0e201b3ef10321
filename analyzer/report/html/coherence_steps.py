# SPDX-License-Identifier: GPL-2.0-or-later
"""Coherence steps on a page: two accesses that meet, each in the layout now and then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import CoherenceStep, Finding, StepTable
from linesmith.analyzer.report.answer import contended
from linesmith.analyzer.report.steps import sharing_title


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
