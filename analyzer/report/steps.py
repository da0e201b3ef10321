# SPDX-License-Identifier: GPL-2.0-or-later
"""Coherence steps as a table: what each access finds on the line, in the layout as it is and then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import CoherenceStep, StepTable
from linesmith.analyzer.report.cost import count_range
from linesmith.analyzer.report.prose import WIDTH, prose

# Columns for who does what, and at least for the function's name.
MOST_ACCESS = 44
LEAST_FUNCTION = 12
LEGEND = (
    "line: from the one in which the object starts; AB: how the caches of CPU A and B hold it then (M modified, "
    "E exclusive, S shared, I invalid); cycles that the access waits, * only for where the members lie."
)


def step_rows(tables: Sequence[StepTable], accesses: str, then: str, columns: int = WIDTH) -> list[str]:
    """A table of two accesses for each sharing, heaviest first; ``then`` names the candidate. None without tables.

    ``accesses`` are those that each sharing is a part of. What is found stands beside each access, or below for want
    of room.
    """
    if not tables:
        return []
    width = min(MOST_ACCESS, max(len(_access(step)) for one in tables for step in one.before))
    found = max(len(then), *(len(step.what) for one in tables for step in (*one.before, *one.after)))
    fits = len(_beside(tables[0].before[0], tables[0].after[0], width, found)) <= columns
    rows = [f"why: {where(tables[0])}", _head(then, width, found) if fits else _head_below(then, found)]
    for one in tables:
        rows.append(prose(sharing_title(one, accesses), "  ", "    ", columns))
        for now, after in zip(one.before, one.after, strict=True):
            rows += [_beside(now, after, width, found).rstrip()] if fits else _below(now, after, then, found)
    notes = dict.fromkeys((LEGEND, *(note for one in tables for note in one.notes)))
    return [*rows, *(prose(text, "  ", "  ", columns) for text in notes)]


def _head(then: str, width: int, found: int) -> str:
    return f"     {'access':<{width}}  {'line AB now':<{found + 8}} cycles   {'line AB ' + then:<{found + 8}} cycles"


def _beside(now: CoherenceStep, after: CoherenceStep, width: int, found: int) -> str:
    return f"  {now.cpu}  {_access(now):<{width}}  {_result(now, found)}  {_result(after, found)}"


def _head_below(then: str, found: int) -> str:
    return f"     {'access':<{len(then)}}  {'line AB':<{found + 8}} cycles"


def _below(now: CoherenceStep, after: CoherenceStep, then: str, found: int) -> Iterator[str]:
    yield f"  {now.cpu}  {_access(now)}"
    for when, step in (("now", now), (then, after)):
        yield f"     {when:<{len(then)}}  {_result(step, found)}".rstrip()


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
