# SPDX-License-Identifier: GPL-2.0-or-later
"""Coherence steps as a table: what each access finds on the line, in the layout as it is and then."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import CoherenceStep, StepTable
from linesmith.analyzer.report.cost import count_range

# Columns for who does what, and at least for the function's name.
MOST_ACCESS = 44
LEAST_FUNCTION = 12
LEGEND = (
    "line: from the one in which the object starts; AB: how the caches of CPU A and B hold it then (M modified,",
    "E exclusive, S shared, I invalid); cycles that the access waits, * only for where the members lie.",
)


def step_rows(tables: Sequence[StepTable], accesses: str, then: str) -> list[str]:
    """A table of two accesses for each sharing, heaviest first; ``then`` names the candidate. None without tables.

    ``accesses`` are those that each sharing is a part of.
    """
    if not tables:
        return []
    width = min(MOST_ACCESS, max(len(_access(step)) for one in tables for step in one.before))
    found = max(len(step.what) for one in tables for step in (*one.before, *one.after))
    head = f"{'line AB now':<{found + 8}} cycles   {'line AB ' + then:<{found + 8}} cycles"
    rows = [f"why: {where(tables[0])}", f"     {'access':<{width}}  {head}"]
    for one in tables:
        rows.append(f"  {sharing_title(one, accesses)}")
        for now, after in zip(one.before, one.after, strict=True):
            row = f"  {now.cpu}  {_access(now):<{width}}  {_result(now, found)}  {_result(after, found)}"
            rows.append(row.rstrip())
    notes = dict.fromkeys(note for one in tables for note in one.notes)
    return [*rows, *(f"  {text}" for text in (*LEGEND, *notes))]


def where(one: StepTable) -> str:
    """In which phase it is shown."""
    then = f", then {one.phase_after}" if one.phase_after != one.phase else ""
    return f"an object that starts {one.phase} bytes into its line{then}"


def sharing_title(one: StepTable, accesses: str) -> str:
    """Who waits for whom, how often of all ``accesses``, and whether a layout changes it."""
    other = "itself" if one.writer == one.victim else one.writer
    stays = "" if any(step.needless for step in one.before) else ", which no layout changes"
    return f"{one.victim} waits for stores to {other}: {count_range(one.contended)} {accesses}{stays}"


def _access(step: CoherenceStep) -> str:
    """Who does what; of a long function the beginning."""
    does = f" {'writes' if step.writes else 'reads'} {step.member}"
    function, room = step.function or "somebody", max(MOST_ACCESS - len(does), LEAST_FUNCTION)
    return (function if len(function) <= room else f"{function[: room - 1]}…") + does


def _result(step: CoherenceStep, width: int) -> str:
    states = "".join(state.value for _, state in step.states)
    return f"{step.line:>4} {states} {step.what:<{width}} {step.cycles or '-':>6}{'*' if step.needless else ' '}"
