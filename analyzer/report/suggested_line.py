# SPDX-License-Identifier: GPL-2.0-or-later
"""One line of a profile with what can be done about it: the answer, why, the layouts, the other candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Considered, Finding
from linesmith.analyzer.report.alternatives import alternative_rows
from linesmith.analyzer.report.answer import answer_rows, contended
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.analyzer.report.meeting import share_of_phases
from linesmith.analyzer.report.member_heat import MOST_HOT, member_heat
from linesmith.analyzer.report.moves import change, concerned_names, moved_names
from linesmith.analyzer.report.prose import WIDTH, prose
from linesmith.analyzer.report.savings import saved
from linesmith.analyzer.report.simulation import difference_row, simulated_rows
from linesmith.analyzer.report.steps import step_rows
from linesmith.analyzer.report.structure import advice_rows
from linesmith.analyzer.report.suggested import Numbered, Proposed, Suggested

LABEL = 12
_MEMBER_INDENT = 10
REFUTED = "What was replayed is beyond the limits of the estimate: believe the replay ({change:+.1%} misses)."
MAY_LOSE = "By its limits it may also lose: replay it (--trace) or benchmark it before you believe it."
# Other lines of the same record that are named.
MOST_LINES = 4
# Other places of a moved member are told where so many pairs are concerned; of more they say nothing at a glance.
MOST_PAIRS_BESIDE = 2


def told_in_full(
    ones: Sequence[Numbered], shown: Numbered, suggested: Suggested, columns: int = WIDTH
) -> Iterator[str]:
    """The blocks of a line: the answer, why, the layouts, the other candidates."""
    yield _headline(shown, suggested, columns)
    yield _answer(shown, columns)
    if steps := step_rows(shown.steps, _contended(shown.line.finding), "candidate", columns):
        yield "\n".join(steps)
    yield _layouts(shown, suggested, columns)
    if shown.candidate.considered and len(shown.candidate.residuals) <= MOST_PAIRS_BESIDE * 2:
        yield "\n".join(_others(shown, columns))
    if len(ones) > 1:
        yield _table(ones, "candidates", columns)
    yield from _advice(shown.line, suggested, columns)


def told_in_a_table(ones: Sequence[Numbered], suggested: Suggested, columns: int) -> Iterator[str]:
    """A line that has candidates, of which none is recommended: why, and what they are."""
    line = ones[0].line
    yield _headline(ones[0], suggested, columns)
    yield prose(line.declined, columns=columns)
    yield _table(ones, f"candidates, in full with --candidate {ones[0].name} and so on", columns)
    yield from _advice(line, suggested, columns)


def _headline(one: Numbered, suggested: Suggested, columns: int) -> str:
    """The line, others on which the same record was found, and what is the matter."""
    finding, candidate = one.line.finding, one.candidate
    title = candidate.before.title if candidate.before.name else candidate.type
    said = f"line {finding.rank}, {title}{_also(finding, suggested)}: {finding.triage.sentence}"
    return prose(said, columns=columns)


def _also(finding: Finding, suggested: Suggested) -> str:
    """Lines on which the same record was found and that are not told by themselves."""
    told = {line.finding.rank for line in suggested.lines}
    record = finding.objects[0].layout
    ranks = [
        one.rank
        for one in suggested.findings
        if one.rank not in told and one.objects and one.objects[0].layout == record
    ]
    more = f" and {len(ranks) - MOST_LINES} more" if len(ranks) > MOST_LINES else ""
    return f" (also line {', '.join(map(str, ranks[:MOST_LINES]))}{more})" if ranks else ""


def _table(ones: Sequence[Numbered], title: str, columns: int) -> str:
    counted = "accesses" if ones[0].line.finding.simulated else "loads"
    of = f"saves contended {counted}, of {saved(ones[0].candidate).of:,.0f}"
    rows = alternative_rows(ones, columns - 2)
    return "\n".join([prose(f"{title} ({of}):", then="  ", columns=columns), *(f"  {row}" for row in rows)])


def _contended(finding: Finding) -> str:
    return f"of {contended(finding):,} contended {'accesses' if finding.simulated else 'loads'}"


def _answer(one: Numbered, columns: int) -> str:
    rows = [("because", one.candidate.recommended)] if one.candidate.recommended else []
    rows += [*answer_rows(one.candidate, one.line.finding, one.replayed)]
    rows += [("" if place else "simulated", text) for place, text in enumerate(replayed_rows(one))]
    labelled = (prose(text, f"  {label:<{LABEL}}", " " * (LABEL + 2), columns) for label, text in rows)
    notes = (prose(note, "  - ", "    ", columns) for note in notes_of(one))
    return "\n".join([prose(_title(one), then="  ", columns=columns), *labelled, *notes])


def replayed_rows(one: Numbered) -> list[str]:
    """What replaying a trace says of the candidate; nothing where none was replayed."""
    rows = [*simulated_rows(one.simulation)] if one.simulation else []
    return [*rows, difference_row(one.replayed)] if one.replayed else rows


def notes_of(one: Numbered) -> tuple[str, ...]:
    """What to think of the candidate: doubts first, then what it rests on, then what binds it."""
    candidate = one.candidate
    return (*_reserve(one), *candidate.notes, *(f"{constraint}." for constraint in candidate.constraints))


def _reserve(one: Numbered) -> list[str]:
    """What to think of a saving whose limits hold a loss, or do not hold what was counted."""
    if one.replayed is not None and not one.replayed.holds:
        return [REFUTED.format(change=-one.replayed.replayed)]
    return [MAY_LOSE] if one.candidate.saving.may_lose and (one.simulation is None or one.simulation.useless) else []


def _title(one: Numbered) -> str:
    said = f"candidate {one.name}: {change(one.candidate)}"
    return f"recommended: {said}" if one.candidate.recommended else said


def _layouts(one: Numbered, suggested: Suggested, columns: int) -> str:
    """The layout before and after with the members concerned, and how hot each was seen."""
    candidate, layouts = one.candidate, suggested.layouts
    heat = member_heat(one.line.finding, suggested.findings)
    shown = concerned_names(candidate) | frozenset(list(heat)[:MOST_HOT])
    rows: list[str] = []
    for when, layout in (("before", candidate.before), ("after", candidate.after)):
        lines = excerpt(layout, layouts, shown, moved_names(candidate), heat)
        rows += [f"{when}:", *(_with_heat_below(f"  {line}".rstrip(), columns) for line in lines)]
        rows += [""] if when == "before" else []
    return "\n".join(rows)


def _with_heat_below(line: str, columns: int) -> str:
    """The line of a layout, with how hot its member was on a line of its own where there is no room beside it."""
    declared, heated, heat = line.rpartition(" /* ")
    if len(line) <= columns or not declared.endswith("*/"):
        return line
    return f"{declared}\n{' ' * _MEMBER_INDENT}{heated.lstrip()}{heat}"


def _others(one: Numbered, columns: int) -> Iterator[str]:
    """The other places of the moved member, in the order of the declaration, with what they leave."""
    candidate = one.candidate
    pairs = " and of ".join(f"{one.first} with {one.second}" for one in candidate.residuals[::2])
    places = f"other places for {candidate.moves[0].member}"
    yield prose(f"{places}, and in how many phases they leave the meeting of {pairs}:", then="  ", columns=columns)
    yield from (f"  {_other(other, candidate)}" for other in candidate.considered)


def _other(one: Considered, candidate: Candidate) -> str:
    place = f"behind {one.after}" if one.after else "first"
    near = [residual for residual in one.residuals if residual.line_bytes == CACHE_LINE_BYTES]
    left = [share_of_phases(residual.after, residual.line_bytes, candidate.steps[0]) for residual in near]
    size = f", {one.size} bytes" if one.size != candidate.before.size else ""
    return f"{place:<28} {', '.join(left)}{size}"


def told_as_advice(line: Proposed, suggested: Suggested, columns: int) -> Iterator[str]:
    """A line that has no candidate, but advice."""
    finding = line.finding
    yield prose(f"line {finding.rank}, {finding.objects[0].type}: {finding.triage.sentence}", columns=columns)
    yield from [prose(line.refusal, columns=columns)] if line.refusal else []
    yield from _advice(line, suggested, columns)


def _advice(line: Proposed, suggested: Suggested, columns: int) -> Iterator[str]:
    """What to change beside the order of the members."""
    if line.advice:
        yield "\n\n".join("\n".join(advice_rows(one, suggested.layouts, columns)) for one in line.advice)
