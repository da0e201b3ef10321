# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a profile: what is hot and why, what to change, what that gains and costs, and what was not checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from linesmith.analyzer.model import Build, Finding, Result, Trial
from linesmith.analyzer.report.candidate import Numbered, Suggested, saved, short_change
from linesmith.analyzer.report.figures import duration, merged, unchecked
from linesmith.analyzer.report.findings import left_out_rows, recording_rows, share_range
from linesmith.analyzer.report.hot import MOST_TYPES, ProfileSection, examples
from linesmith.analyzer.report.html.drawings import Forest, Scale, Strip, Tick, forests, scale_for
from linesmith.analyzer.report.html.finding import MOST_DRAWN, RecordChange, finding_section
from linesmith.analyzer.report.html.page import render_page
from linesmith.analyzer.report.map_svg import LINE_MAP_STYLE
from linesmith.analyzer.report.run import COSTLY, EXPLORED, confirmed_title, counted, outcome, told, verdict_rows
from linesmith.analyzer.sharing.accounts import TypeTotal, accounts, type_totals

MOST_REMARKS = 40
MOST_HEADING = 3
MOST_RECOMMENDED = 40


@dataclass(frozen=True, slots=True)
class Recommended:
    """A row of the overview: the line, its record, what to do and what that saves; ``told``: it has a section."""

    rank: int
    told: bool
    type: str
    candidate: str
    change: str
    saves: str
    size: str


@dataclass(frozen=True, slots=True)
class TypeRow:
    """What the lines of one type cost together."""

    total: TypeTotal
    removable: str
    pairs: tuple[str, ...]


def render_profile(suggested: Suggested, chosen: ProfileSection, unchecked: Sequence[str]) -> str:
    """The page of a profile; ``unchecked`` are sentences on what the caller did not give."""
    told, untold = _told(suggested)
    numbered = _by_line(suggested)
    profile = chosen.profile
    ranks = {finding.rank for finding, _ in told}
    left_out = left_out_rows(chosen.left_out, profile)
    content = {
        "heading": _heading(suggested, chosen),
        "facts": tuple(_facts(suggested, chosen)),
        "recommended": tuple(_recommended(suggested, ranks)),
        "types": tuple(map(_type_row, type_totals(suggested.findings)[:MOST_TYPES])),
        "sections": tuple(
            finding_section(finding, alike, numbered.get(finding.rank, ()), suggested, profile)
            for finding, alike in told
        ),
        "untold": untold,
        "drawn": MOST_DRAWN,
        "refused": tuple(_refused(suggested, ranks)),
        "ended": accounts(profile, suggested.findings, chosen.left_out),
        "counted": "accesses" if profile.recording else "samples",
        "remarks": tuple(_remarks(chosen)),
        "unchecked": (*unchecked, *left_out),
    }
    return render_page("profile.html", content, LINE_MAP_STYLE)


def _heading(suggested: Suggested, chosen: ProfileSection) -> str:
    """The profile's file, which report in it, and the records that are hot in it; no path of this machine."""
    totals = [one.type for one in type_totals(suggested.findings) if one.type]
    more = f" and {len(totals) - MOST_HEADING} more" if len(totals) > MOST_HEADING else ""
    records = f": {', '.join(totals[:MOST_HEADING])}{more}" if totals else ""
    report = f", report {chosen.section} of {chosen.sections}" if chosen.sections > 1 else ""
    return f"{Path(chosen.profile.source).name}{report}{records}"


def _told(suggested: Suggested) -> tuple[list[tuple[Finding, tuple[int, ...]]], int]:
    """The lines that get a section, with those alike; one with a recommendation always does."""
    told, untold = examples(suggested.findings)
    known = {finding.rank for finding, _ in told}
    more = [(line.finding, ()) for line in suggested.lines if line.recommended and line.finding.rank not in known]
    return [*told, *more], max(0, untold - len(more))


def _by_line(suggested: Suggested) -> dict[int, tuple[Numbered, ...]]:
    """Candidates by the rank of their line, in the order in which a replay has them."""
    places = {number: place for place, number in enumerate(suggested.simulations)}
    return {
        rank: tuple(sorted(group, key=lambda one: places.get(one.number, one.number)))
        for rank, group in groupby(suggested.numbered(), lambda one: one.line.finding.rank)
    }


def _facts(suggested: Suggested, chosen: ProfileSection) -> Iterator[tuple[str, str]]:
    elf, machine, profile = suggested.elf, suggested.machine, chosen.profile
    yield "profile", Path(profile.source).name
    if chosen.sections > 1:
        yield "report", f"{chosen.section} of {chosen.sections} in this text"
    if profile.title:
        yield "headed", profile.title
    yield "layouts", f"{Path(elf.path).name}{f', build-id {elf.build_id}' if elf.build_id else ''}"
    if machine:
        release = ".".join(map(str, machine.release))
        yield "slabs", f"as in Linux {release}, {machine.cpus} CPUs, pages of {machine.page_bytes} bytes"
    for row in recording_rows(profile.recording) if profile.recording else ():
        label, _, text = row.partition(": ")
        yield label, text


def _recommended(suggested: Suggested, told: set[int]) -> Iterator[Recommended]:
    ones = [one for one in suggested.numbered() if one.candidate.recommended][:MOST_RECOMMENDED]
    for one in ones:
        candidate, rank = one.candidate, one.line.finding.rank
        before, after = candidate.before.size, candidate.after.size
        size = f"{after:,} bytes, unchanged" if before == after else f"{before:,} → {after:,} bytes"
        yield Recommended(
            rank,
            rank in told,
            candidate.type,
            one.name,
            short_change(candidate),
            saved(candidate, one.replayed).in_brief,
            size,
        )


def _type_row(one: TypeTotal) -> TypeRow:
    return TypeRow(one, share_range(one.share), tuple(f"{first} with {second}" for first, second in one.pairs))


def _refused(suggested: Suggested, told: set[int]) -> Iterator[str]:
    """Why nothing is proposed for lines that have no section."""
    for line in suggested.lines:
        if line.refusal and line.finding.rank not in told:
            yield line.refusal


def _remarks(chosen: ProfileSection) -> Iterator[str]:
    remarks = chosen.profile.remarks
    for one in remarks[:MOST_REMARKS]:
        yield f"line {one.text_line} of the text: {one.text}" if one.text_line else one.text
    if len(remarks) > MOST_REMARKS:
        yield f"and {len(remarks) - MOST_REMARKS} more"


# The page of a run: what is recommended, how the layouts differ, what was measured, and what was not.

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
