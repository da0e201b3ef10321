# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of a profile (what is hot and why, what to change) and of a run (what was tried, measured, recommended)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import Result
from linesmith.analyzer.report.candidate import Suggested
from linesmith.analyzer.report.findings import ProfileSection, left_out_rows, recording_rows
from linesmith.analyzer.report.hot import record_rows
from linesmith.analyzer.report.hot_lines import examples, remark_rows
from linesmith.analyzer.report.html.drawings import Forest, forests, scale_for
from linesmith.analyzer.report.html.finding import MOST_DRAWN, ChangedRecord, finding_section
from linesmith.analyzer.report.html.page import render_page
from linesmith.analyzer.report.map_svg import LINE_MAP_STYLE
from linesmith.analyzer.report.record_changes import record_answers, rows_of, shown_answers, table_head
from linesmith.analyzer.report.run import (
    COSTLY,
    EXPLORED,
    confirmed_title,
    decisive,
    effort,
    merged,
    outcome,
    unchecked,
    verdict_rows,
)
from linesmith.analyzer.sharing.accounts import accounts, type_of

MOST_REMARKS = 40
MOST_HEADING = 3


def render_profile(suggested: Suggested, part: ProfileSection, unchecked: Sequence[str]) -> str:
    """The page of a profile; ``unchecked`` are sentences on what the caller did not give."""
    profile, findings = part.profile, suggested.findings
    shown, untold = examples(findings)
    ranks = {finding.rank for finding, _ in shown}
    # A line with a recommendation always has a section.
    more = [(line.finding, ()) for line in suggested.lines if line.recommended and line.finding.rank not in ranks]
    ranks |= {finding.rank for finding, _ in more}
    numbered, remarks = suggested.by_line(), remark_rows(profile.remarks)
    more_remarks = len(remarks) - MOST_REMARKS
    content = {
        "heading": _heading(list(dict.fromkeys(filter(None, map(type_of, findings)))), part),
        "facts": tuple(_facts(suggested, part)),
        "head": [one.replace("\n", " ") for one in table_head(suggested)[1:]],
        "records": tuple(_record_rows(suggested, ranks)),
        "shares": tuple(record_rows(suggested.records, part)),
        "sections": tuple(
            finding_section(finding, alike, numbered.get(finding.rank, ()), suggested, profile)
            for finding, alike in (*shown, *more)
        ),
        "untold": max(0, untold - len(more)),
        "drawn": MOST_DRAWN,
        "refused": [one.refusal for one in suggested.lines if one.refusal and one.finding.rank not in ranks],
        "ended": accounts(profile, findings, part.left_out),
        "counted": "accesses" if profile.recording else "samples",
        "remarks": [*remarks[:MOST_REMARKS], *([f"and {more_remarks} more"] if more_remarks > 0 else [])],
        "unchecked": (*unchecked, *left_out_rows(part.left_out, profile)),
    }
    return render_page("profile.html", content, LINE_MAP_STYLE)


def _heading(names: Sequence[str], part: ProfileSection) -> str:
    """The profile's file, which report in it, and the records that are hot in it; no path of this machine."""
    records = f": {listed(names, MOST_HEADING)}" if names else ""
    report = f", report {part.section} of {part.sections}" if part.sections > 1 else ""
    return f"{Path(part.profile.source).name}{report}{records}"


def _facts(suggested: Suggested, part: ProfileSection) -> Iterator[tuple[str, str]]:
    elf, profile = suggested.elf, part.profile
    yield "profile", Path(profile.source).name
    if part.sections > 1:
        yield "report", f"{part.section} of {part.sections} in this text"
    if profile.title:
        yield "headed", profile.title
    yield "layouts", f"{Path(elf.path).name}{f', build-id {elf.build_id}' if elf.build_id else ''}"
    if suggested.slabs:
        yield "slabs", f"as in {suggested.slabs}"
    for row in recording_rows(profile.recording) if profile.recording else ():
        label, _, text = row.partition(": ")
        yield label, text


def _record_rows(suggested: Suggested, sections: set[int]) -> Iterator[Mapping[str, object]]:
    """What to do about each record, as `suggest` tabulates it; records lead to their hottest line of ``sections``."""
    for one in shown_answers(record_answers(suggested)):
        place = next((finding.rank for finding in one.findings if finding.rank in sections), None)
        yield {"place": place, "cells": tuple(rows_of(one))}


# Explored variants beyond these are in the JSON report; a long search has hundreds.
MOST_TRIALS = 200


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files beside the journal of a run: ``patch`` is the text of the recommended one, ``""`` without one.

    ``changes`` are the records that ``variant`` lays out otherwise; ``no_layouts`` says why there are none to show.
    ``folder`` is the run directory: files in it are named without it, since pages go to other people.
    """

    variant: str = ""
    patch: str = ""
    changes: tuple[ChangedRecord, ...] = ()
    no_layouts: str = ""
    folder: str = ""


def render_run(result: Result, files: RunFiles) -> str:
    """The page of a run, at its end or in its midst."""
    verdict, *rest = verdict_rows(result)
    content = {
        "result": result,
        "files": files,
        "state": f"{effort(result)}, {'finished' if result.finished else 'not finished'}",
        # A verdict begins with the name of a variant, or as a sentence does.
        "verdict": verdict if result.best else f"{verdict[:1].upper()}{verdict[1:]}",
        "reasons": [row for row in rest if not row.startswith("next: ")],
        "sections": tuple(_forests(result)),
        "trials": _trials(result, files.folder),
        "builds": result.builds,
        "configured": any(one.configuration for one in result.builds),
        "facts": tuple(merged(result.facts)),
        "unchecked": tuple(unchecked(result, decisive(result))),
    }
    return render_page("run.html", content, LINE_MAP_STYLE)


def _forests(result: Result) -> Iterator[tuple[str, str, tuple[Forest, ...]]]:
    """An anchor, a title and the plots: what counts first; equal layouts stand beside what they are the measure of."""
    if result.confirmed:
        yield "confirmed", confirmed_title(result).capitalize(), forests(result.confirmed, result.noise)
    if result.explored:
        yield "explored", EXPLORED.capitalize(), forests(result.explored, () if result.confirmed else result.noise)
    if result.noise and not decisive(result):
        yield "noise", "Equal layouts compared", forests((), result.noise)


def _trials(result: Result, folder: str) -> Mapping[str, object]:
    """The trials that were built, with their costs as gains on one scale."""
    built = [trial for trial in result.trials if trial.fidelity in COSTLY]
    shown = built[:MOST_TRIALS]
    known = [(1 - one.cost, one.spread) for one in shown if one.cost is not None]
    bounds = [end for gain, spread in known for end in (gain - spread, gain + spread)]
    drawn = scale_for([gain for gain, _ in known], bounds)
    rows = []
    for one in shown:
        words = outcome(one).replace(f"{folder}/", "") if folder else outcome(one)
        strip = None
        if one.cost is not None and one.failure is None:
            gain = 1 - one.cost
            strip = drawn.strip(gain, gain - one.spread, gain + one.spread)
        rows.append({"trial": one, "outcome": words, "strip": strip})
    scale = {"zero": drawn.at(0.0), "ticks": drawn.ticks()}
    return {**scale, "rows": rows, "more": len(built) - len(shown), "moves": any(one.moves for one in shown)}
