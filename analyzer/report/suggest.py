# SPDX-License-Identifier: GPL-2.0-or-later
"""Suggestions, as text and as JSON: what to do about each record, the first change, and on request all there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.model import CoherenceStep, Judgement, Layout, StepTable
from linesmith.analyzer.report.answer import (
    answer_rows,
    of_contended,
    sharded_rows,
    step_rows,
)
from linesmith.analyzer.report.candidate import (
    Numbered,
    Proposed,
    Suggested,
    alternative_rows,
    change,
    concerned_names,
    moved_names,
)
from linesmith.analyzer.report.change_block import LABEL, change_block, command, layout_rows, nothing_to_change
from linesmith.analyzer.report.json_text import Json, fields_of, json_text
from linesmith.analyzer.report.layout import MOST_HOT, excerpt, member_heat
from linesmith.analyzer.report.prose import WIDTH, prose
from linesmith.analyzer.report.record_changes import (
    RecordAnswer,
    RecordChange,
    answers_text,
    explained,
    record_answers,
    shown_answers,
)
from linesmith.analyzer.report.structure import advice_object, advice_rows
from linesmith.analyzer.sharing.records import WORTH_CHANGING

_MEMBER_INDENT = 10
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
        blocks.append("\n".join(answers_text(suggested, answers, shown, columns)))
    rows = change_block(suggested, first, columns) if first else _nothing(suggested, answers, columns)
    blocks += ["\n".join(rows), *_possible(suggested, first, columns)]
    return "\n\n".join(filter(None, [*blocks, _sharded(suggested, columns)])) + "\n"


def render_full(suggested: Suggested, columns: int = WIDTH) -> str:
    """All records, then each line that has candidates or advice in full."""
    numbered, answers = suggested.by_line(), record_answers(suggested)
    table = answers_text(suggested, answers, answers, columns)
    blocks = [_head(suggested, columns), "\n".join(table)]
    for line in suggested.lines:
        blocks += _line_blocks(line, numbered.get(line.finding.rank, ()), suggested, columns)
    return "\n\n".join(filter(None, [*blocks, _sharded(suggested, columns)])) + "\n"


def render_candidate(suggested: Suggested, number: int, columns: int = WIDTH) -> str:
    """The candidate with this number, which there is, in full, whether it is recommended or not."""
    groups = suggested.by_line().values()
    ones, shown = next((ones, one) for ones in groups for one in ones if one.number == number)
    return "\n\n".join([_head(suggested, columns), *_full_blocks(ones, shown, suggested, columns)]) + "\n"


def _head(suggested: Suggested, columns: int) -> str:
    """The profile, the build, and on what changes were replayed."""
    elf, slabs = suggested.elf, f", slabs of {suggested.slabs}" if suggested.slabs else ""
    build = f"build-id {elf.build_id[:MOST_BUILD_ID]}" if elf.build_id else "no build-id"
    judged = f"the trace {Path(suggested.trace).name}" if suggested.trace else "runs reconstructed from the samples"
    files = f"{Path(suggested.source).name} on {Path(elf.path).name} ({build}{slabs})"
    return prose(f"{files}; changes are replayed on {judged}", columns=columns)


def _sharded(suggested: Suggested, columns: int) -> str:
    rows = sharded_rows(suggested.sharded) if suggested.sharded else ()
    return "\n".join(prose(one, then="  ", columns=columns) for one in rows)


def _nothing(suggested: Suggested, answers: Sequence[RecordAnswer], columns: int) -> list[str]:
    """Why nothing changes, and the command that looks at the next record."""
    rows = nothing_to_change(answers, columns)
    spread = next((one.record for one in answers if one.record and not one.lines and one.share >= WORTH_CHANGING), None)
    words = ("linesmith", "suggest", *suggested.given, "--type", spread or "")
    return [*rows, *(command("next", words, columns) if spread and suggested.given else [])]


def _possible(suggested: Suggested, first: RecordAnswer | None, columns: int) -> Iterator[str]:
    """Of a type that was named, what would be possible where no change of the layout is recommended, and why not."""
    ones = [*suggested.numbered()][:MOST_POSSIBLE] if suggested.narrowed_to else []
    if not ones or any(one.candidate.recommended for one in ones):
        return
    if first is not None:
        yield prose(ones[0].line.declined, columns=columns)
    yield _table(ones, "possible, in full with --candidate NAME", columns)


def _line_blocks(line: Proposed, ones: Sequence[Numbered], suggested: Suggested, columns: int) -> Iterator[str]:
    """The recommended candidate in full; without one why, and what is possible; then the advice."""
    recommended = next((one for one in ones if one.candidate.recommended), None)
    if recommended:
        yield from _full_blocks(ones, recommended, suggested, columns)
        return
    if ones or line.advice:
        title = line.finding.objects[0].type
        yield prose(f"line {line.finding.rank}, {title}: {line.finding.triage.sentence}", columns=columns)
        yield prose(line.declined or line.refusal, columns=columns)
        yield _table(ones, "possible, in full with --candidate NAME", columns) if ones else ""
        yield from _advice(line, suggested, columns)


def _full_blocks(ones: Sequence[Numbered], shown: Numbered, suggested: Suggested, columns: int) -> Iterator[str]:
    """The blocks of a line: the answer, why, the layouts, the other candidates."""
    finding, candidate = shown.line.finding, shown.candidate
    title = candidate.before.title if candidate.before.name else candidate.type
    yield prose(f"line {finding.rank}, {title}: {finding.triage.sentence}", columns=columns)
    yield _answer(shown, suggested, columns)
    if steps := step_rows(shown.steps, of_contended(finding), columns):
        yield "\n".join(steps)
    yield _layouts(shown, suggested, columns)
    if len(ones) > 1:
        yield _table(ones, "candidates", columns)
    yield from _advice(shown.line, suggested, columns)


def _answer(one: Numbered, suggested: Suggested, columns: int) -> str:
    rows = [("because", one.candidate.recommended)] if one.candidate.recommended else []
    rows += [*layout_rows(one, suggested), *answer_rows(one.candidate)]
    labelled = (prose(text, f"  {label:<{LABEL}}", " " * (LABEL + 2), columns) for label, text in rows)
    notes = (prose(note, "  - ", "    ", columns) for note in notes_of(one))
    title = f"{'recommended: ' if one.candidate.recommended else ''}candidate {one.name}: {change(one.candidate)}"
    return "\n".join([prose(title, then="  ", columns=columns), *labelled, *notes])


def notes_of(one: Numbered) -> tuple[str, ...]:
    """What else to know of the candidate, without what has a row of its own: what it rests on, then what binds it."""
    candidate = one.candidate
    notes = (note for note in candidate.notes[:-1] if note != candidate.doubt)
    return (*notes, *(f"{constraint}." for constraint in candidate.constraints))


def _layouts(one: Numbered, suggested: Suggested, columns: int) -> str:
    """The layout before and after with the members concerned, and how hot each was seen."""
    candidate, layouts = one.candidate, suggested.layouts
    heat = member_heat(one.line.finding, suggested.findings)
    shown = concerned_names(candidate) | frozenset(list(heat)[:MOST_HOT])
    blocks = []
    for when, layout in (("before", candidate.before), ("after", candidate.after)):
        rows = [f"{when}:"]
        for line in excerpt(layout, layouts, shown, moved_names(candidate), heat):
            whole = f"  {line}".rstrip()
            declared, comment, warmth = whole.rpartition(" /* ")
            if len(whole) > columns and declared.endswith("*/"):
                whole = f"{declared}\n{' ' * _MEMBER_INDENT}{comment.lstrip()}{warmth}"
            rows.append(whole)
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def _table(ones: Sequence[Numbered], title: str, columns: int) -> str:
    return "\n".join([f"{title}:", *(f"  {row}" for row in alternative_rows(ones, columns - 2))])


def _advice(line: Proposed, suggested: Suggested, columns: int) -> Iterator[str]:
    """What to change other than the order of the members."""
    if line.advice:
        yield "\n\n".join("\n".join(advice_rows(one, suggested.layouts, columns)) for one in line.advice)


# The same as JSON (docs/json.md): offsets, sizes and alignments in bytes; shares run from 0 to 1; counts are
# samples.

SCHEMA_VERSION = 3


def render_json(suggested: Suggested) -> str:
    """The answer as one JSON document, indented, with a newline at the end: the records in the order of the table.

    ``candidates`` are in the order of their numbers, ``structure`` in that of the lines.
    """
    sharded = suggested.sharded
    document: Json = {
        "schema": SCHEMA_VERSION,
        **fields_of(suggested, "elf", "source", "machine", "trace"),
        "records": [_record_json(one) for one in record_answers(suggested)],
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


def _record_json(one: RecordAnswer) -> Json:
    """What to do about a record: ``changes``, the recommended one first, or the ``reason`` why there is none."""
    lines = [finding.rank for finding in one.findings]
    return {
        **fields_of(one, "rank", "record", "share"),
        "lines": lines,
        "changes": [_change_json(each) for each in one.changes],
        "reason": one.reason,
    }


def _change_json(one: RecordChange) -> Json:
    """A change in words; ``candidate`` names that of the layout, ``saves`` is null where nothing was replayed."""
    candidate = one.numbered.name if one.numbered else None
    return {"what": one.what, "candidate": candidate, "saves": one.saves}


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
        "steps": [_steps_json(table) for table in one.steps],
    }


def _steps_json(one: StepTable) -> Json:
    """The accesses that stand for one sharing, in the layout as it is and under the candidate."""
    return {
        **fields_of(one, "victim", "writer", "contended", "phase", "phase_after"),
        "before": [_step_json(step) for step in one.before],
        "after": [_step_json(step) for step in one.after],
        "notes": one.notes,
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
