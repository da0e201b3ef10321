# SPDX-License-Identifier: GPL-2.0-or-later
"""Suggestions, as text and as JSON: an overview, each line with its answer, then what nothing can be done about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.model import CACHE_LINE_BYTES, CoherenceStep, Finding, Judgement, Layout, StepTable
from linesmith.analyzer.report.answer import (
    answer_rows,
    of_contended,
    sharded_rows,
    share_of_phases,
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
    saved,
    short_change,
    things,
)
from linesmith.analyzer.report.json_text import Json, fields_of, json_text
from linesmith.analyzer.report.layout import MOST_HOT, excerpt, member_heat
from linesmith.analyzer.report.prose import WIDTH, cut, in_columns, prose, row, widest
from linesmith.analyzer.report.structure import advice_object, advice_rows

LABEL = 12
_MEMBER_INDENT = 10
# Other lines of the same record that are named.
MOST_LINES = 4
# Other places of a moved member are listed where so many pairs are concerned; of more they say nothing at a glance.
MOST_PAIRS_WITH_PLACES = 2
# Rows of the overview, and characters of a change in it.
MOST_ROWS = 12
MOST_CHANGE = 40
MOST_REFUSALS = 8


def render_text(suggested: Suggested, columns: int = WIDTH) -> str:
    """Every line's answer; numbers and names of candidates are those of ``linesmith patch --candidate``."""
    candidates = suggested.by_line()
    refused = _refusals([one for one in suggested.lines if not one.candidates and not one.advice])
    split = sharded_rows(suggested.sharded) if suggested.sharded else ()
    blocks = [
        _head(suggested),
        "\n".join(_overview(suggested, columns)),
        *(
            block
            for line in suggested.lines
            for block in _line_blocks(line, candidates.get(line.finding.rank, ()), suggested, columns)
        ),
        "\n".join(prose(one, then="  ", columns=columns) for one in refused),
        "\n".join(prose(one, then="    ", columns=columns) for one in split),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def render_candidate(suggested: Suggested, number: int, columns: int = WIDTH) -> str:
    """The candidate with this number, which there is, in full, whether it is recommended or not."""
    groups = suggested.by_line().values()
    ones, shown = next((ones, one) for ones in groups for one in ones if one.number == number)
    return "\n\n".join([_head(suggested), *_full_blocks(ones, shown, suggested, columns)]) + "\n"


def _head(suggested: Suggested) -> str:
    """The files, and the machine whose slabs hold the objects."""
    elf = suggested.elf
    rows = [suggested.source, f"{elf.path}{f' build-id {elf.build_id}' if elf.build_id else ''}"]
    return "\n".join([*rows, *([f"slabs of {suggested.slabs}"] if suggested.slabs else [])])


def _overview(suggested: Suggested, columns: int = WIDTH) -> list[str]:
    """What is recommended where, hottest line first; none for a profile with one line to speak of."""
    ones = [one for one in suggested.numbered() if one.candidate.recommended]
    if sum(bool(line.candidates or line.advice) for line in suggested.lines) < 2:
        return []
    rows = ["recommended:", *_changes_table(ones[:MOST_ROWS], columns)] if ones else ["recommended: nothing"]
    rows += [f"  … and {len(ones) - MOST_ROWS} more"] if len(ones) > MOST_ROWS else []
    return [*rows, *(prose(one, then="  ", columns=columns) for one in _advised(suggested))]


def _changes_table(ones: Sequence[Numbered], columns: int) -> Iterator[str]:
    table = []
    for one in ones:
        before, after = one.candidate.before.size, one.candidate.after.size
        what = f"candidate {one.name}: {cut(short_change(one.candidate), MOST_CHANGE)}"
        size = f", {before} -> {after} bytes" if after != before else ""
        gain = f"saves {saved(one.candidate.judgement)}{size}"
        table.append((f"line {one.line.finding.rank}", one.candidate.type, what, gain))
    widths = widest(table)
    for cells in table:
        yield row(f"  {in_columns(cells[:-1], widths)}  ", cells[-1], columns)


def _advised(suggested: Suggested) -> Iterator[str]:
    """Where there is advice other than to move members, and of what kind."""
    kinds: dict[str, list[str]] = {}
    for line in suggested.lines:
        for one in line.advice:
            kinds.setdefault(one.type, []).append(one.kind.value)
    if kinds:
        words = (f"{type_} ({', '.join(dict.fromkeys(found))})" for type_, found in kinds.items())
        yield f"structure: {'; '.join(words)}"


def _line_blocks(line: Proposed, ones: Sequence[Numbered], suggested: Suggested, columns: int) -> Iterator[str]:
    """The recommended candidate in full, or the first where nobody says which is; else what there is to say."""
    recommended = [one for one in ones if one.candidate.recommended]
    if recommended or (ones and not line.declined):
        yield from _full_blocks(ones, (recommended or ones)[0], suggested, columns)
    elif ones:
        yield from _table_blocks(ones, suggested, columns)
    elif line.advice:
        yield from _advice_blocks(line, suggested, columns)


def _full_blocks(
    ones: Sequence[Numbered], shown: Numbered, suggested: Suggested, columns: int = WIDTH
) -> Iterator[str]:
    """The blocks of a line: the answer, why, the layouts, the other candidates."""
    yield _headline(shown, suggested, columns)
    yield _answer(shown, columns)
    if steps := step_rows(shown.steps, of_contended(shown.line.finding), columns):
        yield "\n".join(steps)
    yield _layouts(shown, suggested, columns)
    if shown.candidate.considered and len(shown.candidate.residuals) <= MOST_PAIRS_WITH_PLACES * 2:
        yield "\n".join(_others(shown, columns))
    if len(ones) > 1:
        yield _table(ones, "candidates", columns)
    yield from _advice(shown.line, suggested, columns)


def _table_blocks(ones: Sequence[Numbered], suggested: Suggested, columns: int) -> Iterator[str]:
    """A line that has candidates, of which none is recommended: why, and what they are."""
    line = ones[0].line
    yield _headline(ones[0], suggested, columns)
    yield prose(line.declined, columns=columns)
    yield _table(ones, f"candidates, in full with --candidate {ones[0].name} and so on", columns)
    yield from _advice(line, suggested, columns)


def _advice_blocks(line: Proposed, suggested: Suggested, columns: int) -> Iterator[str]:
    """A line that has no candidate, but advice."""
    finding = line.finding
    yield prose(f"line {finding.rank}, {finding.objects[0].type}: {finding.triage.sentence}", columns=columns)
    yield from [prose(line.refusal, columns=columns)] if line.refusal else []
    yield from _advice(line, suggested, columns)


def _headline(one: Numbered, suggested: Suggested, columns: int) -> str:
    """The line, others on which the same record was found, and what is the matter."""
    finding, candidate = one.line.finding, one.candidate
    title = candidate.before.title if candidate.before.name else candidate.type
    headline = f"line {finding.rank}, {title}{_also(finding, suggested)}: {finding.triage.sentence}"
    return prose(headline, columns=columns)


def _also(finding: Finding, suggested: Suggested) -> str:
    """Lines on which the same record was found and that have no block of their own."""
    own = {line.finding.rank for line in suggested.lines}
    record = finding.objects[0].layout
    ranks = [
        one.rank
        for one in suggested.findings
        if one.rank not in own and one.objects and one.objects[0].layout == record
    ]
    return f" (also line {listed(map(str, ranks), MOST_LINES)})" if ranks else ""


def _answer(one: Numbered, columns: int) -> str:
    rows = [("because", one.candidate.recommended)] if one.candidate.recommended else []
    rows += [*answer_rows(one.candidate, one.line.finding)]
    labelled = (prose(text, f"  {label:<{LABEL}}", " " * (LABEL + 2), columns) for label, text in rows)
    notes = (prose(note, "  - ", "    ", columns) for note in notes_of(one))
    title = f"{'recommended: ' if one.candidate.recommended else ''}candidate {one.name}: {change(one.candidate)}"
    return "\n".join([prose(title, then="  ", columns=columns), *labelled, *notes])


def notes_of(one: Numbered) -> tuple[str, ...]:
    """What to think of the candidate: what it rests on, then what binds it."""
    return (*one.candidate.notes, *(f"{constraint}." for constraint in one.candidate.constraints))


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


def _others(one: Numbered, columns: int) -> Iterator[str]:
    """The other places of the moved member, in the order of the declaration, with what they leave."""
    candidate = one.candidate
    pairs = " and of ".join(f"{one.first} with {one.second}" for one in candidate.residuals[::2])
    places = f"other places for {candidate.moves[0].member}"
    yield prose(f"{places}, and in how many phases they leave the meeting of {pairs}:", then="  ", columns=columns)
    for other in candidate.considered:
        place = f"behind {other.after}" if other.after else "first"
        near = [residual for residual in other.residuals if residual.line_bytes == CACHE_LINE_BYTES]
        left = [share_of_phases(residual.after, residual.line_bytes, candidate.steps[0]) for residual in near]
        size = f", {other.size} bytes" if other.size != candidate.before.size else ""
        yield f"  {place:<28} {', '.join(left)}{size}"


def _table(ones: Sequence[Numbered], title: str, columns: int) -> str:
    first = ones[0]
    of = f"saves {things(first.candidate, first.line.finding)}, of {first.candidate.judgement.before:,.0f}"
    rows = alternative_rows(ones, columns - 2)
    return "\n".join([prose(f"{title} ({of}):", then="  ", columns=columns), *(f"  {row}" for row in rows)])


def _advice(line: Proposed, suggested: Suggested, columns: int) -> Iterator[str]:
    """What to change other than the order of the members."""
    if line.advice:
        yield "\n\n".join("\n".join(advice_rows(one, suggested.layouts, columns)) for one in line.advice)


def _refusals(refused: Sequence[Proposed]) -> list[str]:
    """Why nothing can be done about the lines, those with one reason together; a recording has many of them."""
    grouped: dict[str, list[int]] = {}
    for line in refused:
        grouped.setdefault(line.refusal.removeprefix(f"Line {line.finding.rank}: "), []).append(line.finding.rank)
    rows = []
    for reason, ranks in grouped.items():
        which = f"Line {ranks[0]}" if len(ranks) == 1 else f"Lines {listed(map(str, ranks), MOST_LINES)}"
        rows.append(f"{which}: {reason}")
    more = len(rows) - MOST_REFUSALS
    if more > 1:
        rows[MOST_REFUSALS:] = [f"{more} more reasons are in --format json."]
    return rows


# The same as JSON (docs/json.md): offsets, sizes and alignments in bytes; shares run from 0 to 1; counts are
# samples.

SCHEMA_VERSION = 2


def render_json(suggested: Suggested) -> str:
    """The candidates of every line as one JSON document, indented, with a newline at the end.

    They are in the order of their numbers. ``declined`` are lines with candidates of which none is
    recommended, ``refused`` those without candidates.
    """
    hot, sharded = suggested.lines, suggested.sharded
    document: Json = {
        "schema": SCHEMA_VERSION,
        **fields_of(suggested, "elf", "source", "machine"),
        "candidates": [_candidate_json(one) for one in suggested.numbered()],
        "declined": [{"line": one.finding.rank, "reason": one.declined} for one in hot if one.declined],
        "refused": [{"line": one.finding.rank, "reason": one.refusal} for one in hot if one.refusal],
        "structure": [
            {"line": one.finding.rank, "advice": [advice_object(each) for each in one.advice]}
            for one in hot
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
        **fields_of(candidate, "constraints", "notes", "considered", "strategy", "recommended"),
        "judgement": _judgement_json(candidate.judgement),
        "memory_before": candidate.memory[0],
        "memory_after": candidate.memory[1],
        **fields_of(candidate, "churn", "proofs", "optimality", "holders"),
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
