# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run: what is recommended, how the layouts differ, what was measured, and what was not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Build, Result, Trial
from linesmith.analyzer.report.bench import COSTLY, EXPLORED, confirmed_title, counted, outcome, told, verdict_rows
from linesmith.analyzer.report.facts import merged
from linesmith.analyzer.report.figures import duration
from linesmith.analyzer.report.html.forest import Forest, forests
from linesmith.analyzer.report.html.page import render_page
from linesmith.analyzer.report.html.record_change import RecordChange
from linesmith.analyzer.report.html.strip import Scale, Strip, Tick, scale_for
from linesmith.analyzer.report.line_map_svg import LINE_MAP_STYLE
from linesmith.analyzer.report.unchecked import unchecked

# Explored variants beyond these are in the JSON report; a long search has hundreds.
MOST_TRIALS = 200


@dataclass(frozen=True, slots=True)
class RunFiles:
    """What lies beside the journal of a run: ``patch`` is the text of the recommended one, ``""`` without one.

    ``changes`` are the records that ``variant`` lays out otherwise; ``no_layouts`` says why there are none to show.
    ``folder`` is the run directory: files in it are named without it, since pages go to other people.
    """

    variant: str = ""
    patch: str = ""
    changes: tuple[RecordChange, ...] = ()
    no_layouts: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial as the page has it; ``strip`` is its cost as a gain, ``None`` without a number."""

    number: int
    trial: Trial
    outcome: str
    strip: Strip | None


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials that were built, on one scale; ``more`` of them are not shown; ``moves`` are known of some."""

    rows: tuple[TrialRow, ...]
    zero: float
    ticks: tuple[Tick, ...]
    more: int
    moves: bool


def render_run(result: Result, files: RunFiles) -> str:
    """The page of a run, at its end or in its midst."""
    verdict, *rest = verdict_rows(result)
    content = {
        "result": result,
        "files": files,
        "state": f"{counted(result)}, {duration(result.seconds)}, {'finished' if result.finished else 'not finished'}",
        # A verdict begins with the name of a variant, or as a sentence does.
        "verdict": verdict if result.best else f"{verdict[:1].upper()}{verdict[1:]}",
        "reasons": [row for row in rest if not row.startswith("next: ")],
        "sections": tuple(_forests(result)),
        "trials": _trials(result, files.folder),
        "builds": tuple(_builds(result.builds)),
        "configured": any(one.configuration for one in result.builds),
        "facts": merged(result.facts),
        "unchecked": unchecked(result, told(result)),
    }
    return render_page("run.html", content, LINE_MAP_STYLE)


def _forests(result: Result) -> Iterator[tuple[str, str, tuple[Forest, ...]]]:
    """An anchor, a title and the plots: what counts first; equal layouts stand beside what they are the measure of."""
    if result.confirmed:
        yield "confirmed", confirmed_title(result).capitalize(), forests(result.confirmed, result.noise)
    if result.explored:
        yield "explored", EXPLORED.capitalize(), forests(result.explored, () if result.confirmed else result.noise)
    if result.noise and not told(result):
        yield "noise", "Equal layouts compared", forests((), result.noise)


def _trials(result: Result, folder: str) -> Trials:
    listed = [trial for trial in result.trials if trial.fidelity in COSTLY]
    shown = listed[:MOST_TRIALS]
    known = [(1 - one.cost, one.spread) for one in shown if one.cost is not None]
    bounds = [end for gain, spread in known for end in (gain - spread, gain + spread)]
    drawn = scale_for([gain for gain, _ in known], bounds)
    rows = tuple(TrialRow(place, one, _outcome(one, folder), _strip(one, drawn)) for place, one in enumerate(shown, 1))
    return Trials(rows, drawn.at(0.0), drawn.ticks(), len(listed) - len(shown), any(one.moves for one in shown))


def _outcome(trial: Trial, folder: str) -> str:
    return outcome(trial).replace(f"{folder}/", "") if folder else outcome(trial)


def _strip(trial: Trial, drawn: Scale) -> Strip | None:
    if trial.cost is None or trial.failure is not None:
        return None
    gain = 1 - trial.cost
    return drawn.strip(gain, gain - trial.spread, gain + trial.spread)


def _builds(builds: Sequence[Build]) -> Iterator[tuple[str, str, str, str, str]]:
    """Variant, key, wall time, compiler and configuration of each build."""
    for one in builds:
        seconds = duration(one.seconds) if one.seconds else "reused"
        yield one.variant, one.key[:12], seconds, one.compiler, one.configuration[:12]
