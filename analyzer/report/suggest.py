# SPDX-License-Identifier: GPL-2.0-or-later
"""Suggestions, as text and as JSON: what to do about each record, the first change, and on request all there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.model import CoherenceStep, Judgement, Layout
from linesmith.analyzer.report.candidate import (
    MOST_HOT,
    Numbered,
    Proposed,
    Suggested,
    alternative_rows,
    change,
    concerned_names,
    judged_rows,
    member_heat,
    notes_of,
)
from linesmith.analyzer.report.change_block import (
    LABEL,
    change_block,
    layout_rows,
    nothing_to_change,
    sharded_rows,
)
from linesmith.analyzer.report.pahole import excerpt
from linesmith.analyzer.report.prose import WIDTH, Json, fields_of, json_text, label_rows, labelled, prose
from linesmith.analyzer.report.record_changes import (
    RecordAnswer,
    answers_text,
    explained,
    record_answers,
    shown_answers,
)
from linesmith.analyzer.report.structure import advice_object, advice_rows

# Lines of the first screen, and those that the explained change has at least.
MOST_LINES, LEAST_BLOCK = 58, 31
# Characters of a build-id, and candidates of a record of which none is recommended.
MOST_BUILD_ID = 12
MOST_POSSIBLE = 5


def render_text(suggested: Suggested, columns: int = WIDTH) -> str:
    """One screen: what to do about each record, then the first change, or why nothing changes."""
    answers = record_answers(suggested)
    shown = shown_answers(answers)
    first = explained(shown) or explained(answers)
    blocks = [_head(suggested, columns)]
    if suggested.quiet and first is None:
        return "\n\n".join([*blocks, prose(suggested.quiet, columns=columns)]) + "\n"
    if len(answers) > 1 or (answers and not suggested.narrowed_to):
        table = answers_text(suggested, answers, shown, columns)
        most = MOST_LINES - LEAST_BLOCK - blocks[0].count("\n")
        while len(table) >= most and len(shown) > 1:
            if len(table := answers_text(suggested, answers, shown, columns, brief=True)) >= most:
                shown.remove(min((one for one in shown if one is not first), key=lambda one: one.share))
        blocks.append("\n".join(table))
    left = max(LEAST_BLOCK, MOST_LINES - "\n\n".join(blocks).count("\n"))
    rows = change_block(suggested, first, columns, left) if first else nothing_to_change(suggested, answers, columns)
    blocks += ["\n".join(rows), *_possible(suggested, first, columns)]
    blocks.append("\n".join(sharded_rows(suggested.sharded, columns)) if suggested.sharded else "")
    return "\n\n".join(filter(None, blocks)) + "\n"


def render_full(suggested: Suggested, columns: int = WIDTH) -> str:
    """All records, then each line that has candidates or advice in full."""
    numbered, answers = suggested.by_line(), record_answers(suggested)
    blocks = [_head(suggested, columns), "\n".join(answers_text(suggested, answers, answers, columns))]
    for line in suggested.lines:
        ones = numbered.get(line.finding.rank, ())
        recommended = next((one for one in ones if one.candidate.recommended), None)
        if ones or line.advice:
            blocks += _in_full(line, ones, recommended, suggested, columns)
    blocks.append("\n".join(sharded_rows(suggested.sharded, columns)) if suggested.sharded else "")
    return "\n\n".join(filter(None, blocks)) + "\n"


def render_candidate(suggested: Suggested, number: int, columns: int = WIDTH) -> str:
    """The candidate with this number, which there is, in full, whether it is recommended or not."""
    groups = suggested.by_line().values()
    ones, shown = next((ones, one) for ones in groups for one in ones if one.number == number)
    return "\n\n".join([_head(suggested, columns), *_in_full(shown.line, ones, shown, suggested, columns)]) + "\n"


def _head(suggested: Suggested, columns: int) -> str:
    """The profile, the machine and the workload, the build, and on what changes were replayed."""
    elf, slabs = suggested.elf, f", slabs of {suggested.slabs}" if suggested.slabs else ""
    if suggested.machine and (cpus := f"{suggested.machine.cpus} CPUs") in suggested.workload:
        slabs = slabs.replace(f", {cpus}", "")
    build = f"build-id {elf.build_id[:MOST_BUILD_ID]}" if elf.build_id else "no build-id"
    judged = f"the trace {Path(suggested.trace).name}" if suggested.trace else "runs reconstructed from the samples"
    workload = f", {suggested.workload}," if suggested.workload else ""
    which = f" ({suggested.which})" if suggested.which else ""
    files = f"{Path(suggested.source).name}{which}{workload} on {Path(elf.path).name} ({build}{slabs})"
    doubt = f". {suggested.build}" if suggested.build else ""
    return prose(f"{files}; changes are replayed on {judged}{doubt}", columns=columns)


def _possible(suggested: Suggested, first: RecordAnswer | None, columns: int) -> Iterator[str]:
    """Of a type that was named, what would be possible where no change of the layout is recommended, and why not."""
    ones = [*suggested.numbered()][:MOST_POSSIBLE] if suggested.narrowed_to else []
    if not ones or any(one.candidate.recommended for one in ones):
        return
    if first is not None:
        yield prose(ones[0].line.declined, columns=columns)
    yield _table(ones, "possible, in full with --candidate NAME", columns)


def _in_full(
    line: Proposed, ones: Sequence[Numbered], shown: Numbered | None, suggested: Suggested, columns: int
) -> Iterator[str]:
    """The diagnosis of a line, the candidate that is shown or why there is none, the other candidates, the advice."""
    before = shown.candidate.before if shown else None
    title = before.title if before and before.name else line.finding.objects[0].type
    yield prose(f"line {line.finding.rank}, {title}: {line.finding.triage.sentence}", columns=columns)
    if shown:
        yield _answer(shown, suggested, columns)
        yield _layouts(shown, suggested)
    else:
        yield prose(line.declined or line.refusal, columns=columns)
    if len(ones) > (1 if shown else 0):
        yield _table(ones, "candidates" if shown else "possible, in full with --candidate NAME", columns)
    for one in line.advice:
        yield "\n".join(advice_rows(one, suggested.layouts, columns))


def _answer(one: Numbered, suggested: Suggested, columns: int) -> str:
    rows = [("because", one.candidate.recommended)] if one.candidate.recommended else []
    rows += [*layout_rows(one, suggested, columns), *labelled("replayed", judged_rows(one.candidate.judgement))]
    notes = (prose(note, "  - ", "    ", columns) for note in notes_of(one))
    title = f"{'recommended: ' if one.candidate.recommended else ''}candidate {one.name}: {change(one.candidate)}"
    return "\n".join([prose(title, then="  ", columns=columns), *label_rows(rows, LABEL, columns), *notes])


def _layouts(one: Numbered, suggested: Suggested) -> str:
    """The layout before and after with the members concerned, and how hot each was seen."""
    candidate, layouts = one.candidate, suggested.layouts
    heat = member_heat(one.line.finding, suggested.findings)
    shown = concerned_names(candidate) | frozenset(list(heat)[:MOST_HOT])
    blocks = []
    for when, layout in (("before", candidate.before), ("after", candidate.after)):
        rows = (f"  {line}".rstrip() for line in excerpt(layout, layouts, shown, candidate.moved, heat))
        blocks.append("\n".join([f"{when}:", *rows]))
    return "\n\n".join(blocks)


def _table(ones: Sequence[Numbered], title: str, columns: int) -> str:
    return "\n".join([f"{title}:", *(f"  {row}" for row in alternative_rows(ones, columns - 2))])


# The same as JSON (docs/json.md): offsets, sizes and alignments in bytes; shares from 0 to 1; counts are samples.

SCHEMA_VERSION = 4


def render_json(suggested: Suggested) -> str:
    """The answer as one JSON document, indented, with a newline at the end: the records in the order of the table.

    ``candidates`` are in the order of their numbers, ``structure`` in that of the lines.
    """
    sharded = suggested.sharded
    document: Json = {
        "schema": SCHEMA_VERSION,
        **fields_of(suggested, "elf", "source", "workload", "machine", "trace"),
        "records": [
            {
                **fields_of(one, "rank", "record", "share"),
                "lines": [finding.rank for finding in one.findings],
                # `candidate` names that of the layout; nothing was replayed where `saves` is null.
                "changes": [
                    {"what": it.what, "candidate": it.numbered.name if it.numbered else None, "saves": it.saves}
                    for it in one.changes
                ],
                "reason": one.reason,
            }
            for one in record_answers(suggested)
        ],
        "quiet": suggested.quiet,
        "candidates": [_candidate_json(one) for one in suggested.numbered()],
        "structure": [
            {"line": one.finding.rank, "advice": [advice_object(each) for each in one.advice]}
            for one in suggested.lines
            if one.advice
        ],
    }
    if sharded:
        judgement = _judgement_json(sharded.judgement)
        document["sharded"] = fields_of(sharded, "type", "members", "ways", "by") | {"judgement": judgement}
    return json_text(document)


def _candidate_json(one: Numbered) -> Json:
    """A candidate; ``linesmith patch --candidate`` takes ``number`` or ``name``; ``line`` is the hot line's rank."""
    candidate = one.candidate
    return {
        "number": one.number,
        "name": one.name,
        "line": one.line.finding.rank,
        "type": candidate.type,
        "moves": candidate.moves,
        "size": candidate.after.size,
        "lines": candidate.lines,
        "residual_phases": candidate.residuals,
        "pairs": one.line.finding.triage.pairs,
        "before": _layout_json(candidate.before),
        "after": _layout_json(candidate.after),
        **fields_of(candidate, "constraints", "notes", "strategy", "recommended"),
        "judgement": _judgement_json(candidate.judgement),
        "memory_before": candidate.memory[0],
        "memory_after": candidate.memory[1],
        **fields_of(candidate, "churn", "proofs", "holders"),
        "granules": candidate.steps,
        **fields_of(candidate, "firsts", "loose"),
        "steps": [
            {
                **fields_of(table, "victim", "writer", "contended", "phase", "phase_after"),
                "before": list(map(_step_json, table.before)),
                "after": list(map(_step_json, table.after)),
                "notes": table.notes,
            }
            for table in one.steps
        ],
    }


def _step_json(one: CoherenceStep) -> Json:
    """One access of a CPU; ``states`` (``M``, ``E``, ``S``, ``I``) are those behind it by CPU."""
    who = fields_of(one, "cpu", "function", "member", "writes", "line")
    return who | {"states": dict(one.states)} | fields_of(one, "what", "cycles", "needless")


def _judgement_json(found: Judgement) -> Json:
    """What a change does to the misses; ``refusal`` is why nothing is known, and is empty otherwise."""
    counts = fields_of(found, "before", "after", "change", "interval", "whole", "lines", "pairs")
    return counts | fields_of(found, "runs", "phases", "line_bytes", "objects", "accesses", "remarks", "refusal")


def _layout_json(layout: Layout) -> Json:
    names = ("name", "type", "offset", "size", "bit_offset", "bit_size", "alignment")
    members = [fields_of(member, *names) for member in layout.members]
    whole = {"title": layout.title, "place": layout.place, "size": layout.size, "lines": lines(layout)}
    return whole | {"members": members}
