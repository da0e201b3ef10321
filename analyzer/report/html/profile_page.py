# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a profile: what is hot and why, and for each line what lies on it, who touches it, and what to change.

The templates print values of the model; what they cannot work out themselves is here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.line_map.fields import heat_of
from linesmith.analyzer.line_map.record_map import line_map
from linesmith.analyzer.model import Finding, MemberFunction, Profile
from linesmith.analyzer.report.candidate import (
    MOST_HOT,
    Numbered,
    Suggested,
    alternative_cells,
    change,
    concerned_names,
    judged_rows,
    meetings,
    member_heat,
    notes_of,
)
from linesmith.analyzer.report.change_block import layout_rows
from linesmith.analyzer.report.findings import (
    ProfileSection,
    examples,
    heavy_sharings,
    left_out_rows,
    line_facts,
    reasons,
    recording_rows,
    remark_rows,
    share_of_line,
    share_of_member,
)
from linesmith.analyzer.report.hot import record_rows, unit
from linesmith.analyzer.report.html import page
from linesmith.analyzer.report.prose import counted, first_of, labelled
from linesmith.analyzer.report.record_changes import (
    record_answers,
    rows_of,
    shown_answers,
    suggested_changes,
    table_head,
)
from linesmith.analyzer.report.structure import tables
from linesmith.analyzer.sharing.findings import accounts, type_of

MOST_REMARKS = 40
MOST_HEADING = 3
MOST_FUNCTIONS = 12
# Candidates with higher numbers are in tables only where they are not recommended.
MOST_DRAWN = 24
# What the page shows in tables of their own.
_SHOWN_ELSEWHERE = ("memory", "together")

Section = Mapping[str, object]


def render_profile(suggested: Suggested, part: ProfileSection, unchecked: Sequence[str]) -> str:
    """The page of a profile; ``unchecked`` are sentences on what the caller did not give."""
    profile, findings = part.profile, suggested.findings
    shown, untold = examples(findings)
    ranks = {finding.rank for finding, _ in shown}
    # A line with a recommendation always has a section.
    more = [(line.finding, ()) for line in suggested.lines if line.recommended and line.finding.rank not in ranks]
    ranks |= {finding.rank for finding, _ in more}
    numbered = suggested.by_line()
    names = listed(dict.fromkeys(filter(None, map(type_of, findings))), MOST_HEADING)
    report = f", report {part.section} of {part.sections}" if part.sections > 1 else ""
    # What to do about each record, as `suggest` tabulates it, with its hottest line that has a section.
    every = record_answers(suggested)
    answers, known = shown_answers(every), {} if suggested.narrowed_to else suggested_changes(every)
    places = [next((found.rank for found in one.findings if found.rank in ranks), None) for one in answers]
    content = {
        # The profile's file, which report in it, and the records that are hot in it; no path of this machine.
        "heading": f"{Path(profile.source).name}{report}{f': {names}' if names else ''}",
        "facts": tuple(_facts(suggested, part)),
        "head": [one.replace("\n", " ") for one in table_head(suggested)[1:]],
        "records": [{"place": place, "cells": [*rows_of(one)]} for place, one in zip(places, answers, strict=True)],
        "saved": "suggest saves" if known else "false sharing",
        "shares": tuple(record_rows([replace(one, suggested=known.get(one.name)) for one in suggested.records], part)),
        "sections": tuple(
            _finding(finding, numbered.get(finding.rank, ()), suggested, profile) | {"alike": alike}
            for finding, alike in (*shown, *more)
        ),
        "untold": max(0, untold - len(more)),
        "refused": [one.refusal for one in suggested.lines if one.refusal and one.finding.rank not in ranks],
        "ended": accounts(profile, findings, part.left_out),
        "unit": unit(part),
        "counted": "accesses" if profile.recording else "samples",
        "remarks": remark_rows(profile, MOST_REMARKS),
        "unchecked": (*unchecked, *left_out_rows(part.left_out, profile)),
    }
    return page.render_page("profile.html", content)


def _facts(suggested: Suggested, part: ProfileSection) -> Iterator[tuple[str, str]]:
    elf, profile = suggested.elf, part.profile
    yield "profile", Path(profile.source).name
    if profile.title:
        yield "headed", profile.title
    yield "layouts", f"{Path(elf.path).name}{f', build-id {elf.build_id}' if elf.build_id else ''}"
    if suggested.slabs:
        yield "slabs", f"as in {suggested.slabs}"
    for row in recording_rows(profile.recording) if profile.recording else ():
        label, _, text = row.partition(": ")
        yield label, text


def _finding(finding: Finding, ones: Sequence[Numbered], suggested: Suggested, profile: Profile) -> dict[str, object]:
    """The section of a line; ``ones`` are its candidates, of which the recommended one is shown in full."""
    line = next((one for one in suggested.lines if one.finding.rank == finding.rank), None)
    # Where the record is known; a guess stands among the facts, and is not drawn.
    known = finding.objects[0].layout if type_of(finding) else None
    record = None if known is None else suggested.layouts.by_id(known)
    drawn = None
    if record is not None:
        # The first object as it lies on this line, with the heat of all lines of its record.
        heat = heat_of(record, suggested.layouts, suggested.findings, profile)
        drawn = line_map(record, suggested.layouts, heat, finding.objects[0].phase, finding.bytes)
    recommended = next((one for one in ones if one.candidate.recommended), None)
    shown = recommended or (ones[0] if ones and not (line and line.declined) else None)
    others = [one for one in ones if one is not shown and one.number <= MOST_DRAWN]
    address = [("address", f"{finding.address:#x}")] if finding.address is not None else []
    simulated = [("simulated", finding.simulated)] if finding.simulated else []
    return {
        "finding": finding,
        "title": record.title if record else type_of(finding) or "object not known",
        "doubt": finding.objects[0].doubt if type_of(finding) else "",
        "facts": (("share", share_of_line(finding)), *address, *line_facts(finding), *simulated),
        "drawing": page.figure(drawn) if drawn else Markup(""),
        "cells": page.touched_cells(drawn) if drawn else (),
        # A member with its share of what is contended on the line, and its functions in words.
        "members": [
            (one, share_of_member(one, finding), first_of([*map(_function, one.functions)], MOST_FUNCTIONS))
            for one in finding.members
        ],
        "waits": heavy_sharings(finding.cost),
        "reasons": tuple(reasons(finding)),
        "shown": _candidate(shown, suggested, profile) if shown else None,
        "others": [_candidate(one, suggested, profile) for one in others],
        "candidates": alternative_cells(ones) if ones else (),
        "refusal": (line.declined or line.refusal) if line else "",
        "advice": [(one, [fact for fact in tables(one) if fact[1]]) for one in line.advice] if line else (),
    }


def _function(one: MemberFunction) -> str:
    """``down_write: 300 contended, 12 stores, on 8 CPUs``."""
    parts = [f"{one.contended:,} contended"] if one.contended else []
    parts += [counted(one.stores, "store")] if one.stores else []
    parts += [f"on {counted(one.cpus, 'CPU')}"] if one.cpus else []
    parts += [one.writes_inferred] if one.writes_inferred else []
    parts += [one.source] if one.source else []
    return f"{one.name}: {', '.join(parts)}" if parts else one.name


def _candidate(one: Numbered, suggested: Suggested, profile: Profile) -> Section:
    """Everything on one candidate, with the heat of all lines on which its record was found."""
    candidate, layouts = one.candidate, suggested.layouts
    heat = member_heat(one.line.finding, suggested.findings)
    pair = page.layout_pair(
        f"candidate-{one.number}",
        (candidate.before, layouts),
        (candidate.after, layouts),
        page.Emphasis(candidate.moved, concerned_names(candidate) | frozenset(list(heat)[:MOST_HOT]), heat),
        heat_of(candidate.before, layouts, suggested.findings, profile),
        page.memory_rows(*candidate.memory),
    )
    return {
        "name": one.name,
        "change": change(candidate),
        "because": candidate.recommended,
        "facts": _grouped((*layout_rows(one, suggested), *labelled("replayed", judged_rows(candidate.judgement)))),
        "pair": pair,
        "meetings": meetings(candidate),
        "why": page.why(one.steps, one.line.finding, f"with candidate {one.name}"),
        "notes": notes_of(one),
    }


def _grouped(rows: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Labels with their rows; a row without a label goes on with the one before."""
    grouped: list[tuple[str, list[str]]] = []
    for label, text in rows:
        if label or not grouped:
            grouped.append((label, []))
        grouped[-1][1].append(text)
    return [one for one in grouped if one[0] not in _SHOWN_ELSEWHERE]
