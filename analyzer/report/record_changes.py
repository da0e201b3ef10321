# SPDX-License-Identifier: GPL-2.0-or-later
"""What to do about each record of a profile: one answer for a record, as ``suggest`` tabulates and encodes them.

An answer has the recommended change of the layout, changes of the structure, or the reason why there is neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.base.text import listed, per_cent
from linesmith.analyzer.model import (
    Candidate,
    Finding,
    HolderChange,
    Interval,
    MemoryUse,
    Outcome,
    SlabBasis,
    StructuralAdvice,
    StructureKind,
    TriageKind,
)
from linesmith.analyzer.report.candidate import (
    Numbered,
    Proposed,
    Saving,
    Suggested,
    most_pages,
    saved,
    saving,
    short_change,
)
from linesmith.analyzer.report.hot import UNATTRIBUTED, memory_of
from linesmith.analyzer.report.prose import counted, flexible_table, shell_rows, short_title
from linesmith.analyzer.report.structure import short_advice
from linesmith.analyzer.sharing.parts import INDEX
from linesmith.analyzer.sharing.records import WORTH_CHANGING, RecordPair, SuggestedChange, record_name

# Rows of the table, and characters of a name in it.
MOST_ROWS = 14
MOST_NAME = 28
LEAST_REST = 0.0005
REST = "the rest"
LEFT_OUT = "on lines that the report does not show, by its totals"
# Caches, and records around the changed one, that are named.
MOST_CACHES = MOST_HOLDERS = 2
HEAD = ("", "record", "share of\n{0}", "what to do", "name", "saves of {1}\n(80% interval)", "size", "memory")
# A variable is refused with these words, and has an answer that begins with those.
NO_MEMBERS = "is a variable without members"
ALONE = "a lone variable"
# What is wrong where a change of the structure is advised, if not true sharing.
_WRONG = {
    StructureKind.SHARD: TriageKind.LOCK_CONTENTION,
    StructureKind.SHRINK: TriageKind.LOCK_CONTENTION,
    StructureKind.PUSH_OUT: TriageKind.FALSE_SHARING,
    StructureKind.PULL_IN: TriageKind.SEVERAL_OBJECTS,
}
# Where the details begin that a brief row leaves out.
_DETAIL = re.compile(r" \(|; |, (?:so|whatever) |(?<!nothing)(?<!lines)(?<!variable): ")


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One change: of the layout, with its ``numbered`` candidate, or of the structure, with its ``advice``."""

    what: str
    saves: Saving | None
    numbered: Numbered | None = None
    advice: StructuralAdvice | None = None

    @property
    def candidate(self) -> Candidate | None:
        """The candidate of a change of the layout."""
        return self.numbered.candidate if self.numbered else None


@dataclass(frozen=True, slots=True)
class RecordAnswer:
    """What to do about the ``record`` (a variable, or ``""``: not known) on all lines of ``findings``, hottest first.

    ``share`` is of the contended accesses of the profile. ``lines`` are those with candidates, advice or a refusal;
    ``reason`` says why there is no change.
    """

    rank: int
    record: str
    share: float
    findings: tuple[Finding, ...]
    lines: tuple[Proposed, ...]
    changes: tuple[RecordChange, ...]
    reason: str

    @property
    def title(self) -> str:
        """The record's name, or that it is not known."""
        return self.record or UNATTRIBUTED

    @property
    def what(self) -> str:
        """The first change, or that there is none and why."""
        if self.changes:
            return self.changes[0].what
        answered = self.record and self.lines and not self.reason.startswith(ALONE)
        return f"nothing: {self.reason}" if answered else self.reason


def record_answers(suggested: Suggested) -> tuple[RecordAnswer, ...]:
    """An answer for each record of the profile, the most contended first, also for those of which no line is hot."""
    whole = [one for one in suggested.records if not one.apart]
    shares = {name: sum(one.share for one in whole if one.name == name) for name in {one.name for one in whole}}
    names = {finding.rank: one.name for one in whole for finding in one.findings}
    grouped: dict[str, list[Finding]] = {}
    for finding in suggested.findings:
        grouped.setdefault(names.get(finding.rank, record_name(finding)), []).append(finding)
    for name, share in shares.items():
        if name and share >= WORTH_CHANGING and not suggested.narrowed_to:
            grouped.setdefault(name, [])
    proposed, numbered = {one.finding.rank: one for one in suggested.lines}, suggested.by_line()
    if suggested.narrowed_to:  # others on the same lines were not looked at
        asked = {name: found for name, found in grouped.items() if any(one.rank in proposed for one in found)}
        grouped = asked or grouped
    shares = {name: shares.get(name, sum(one.share for one in found)) for name, found in grouped.items()}
    answers = []
    for rank, record in enumerate(sorted(grouped, key=lambda one: -shares[one]), 1):
        found = grouped[record]
        lines = tuple(proposed[one.rank] for one in found if one.rank in proposed)
        ones = [one for line in lines for one in numbered.get(line.finding.rank, ()) if one.candidate.recommended]
        ones.sort(key=lambda one: -one.candidate.judgement.saved)
        pairs = [pair for one in whole if one.name == record for pair in one.pairs]
        advice = [_of_structure(one, suggested) for line in lines for one in line.advice]
        changes = (
            *(RecordChange(short_change(one.candidate), saved(one.candidate.judgement), numbered=one) for one in ones),
            *sorted(advice, key=lambda one: _weight(one, pairs), reverse=True),
        )
        reason = "" if changes else _reason(record, lines, shares[record])
        if not record and not suggested.narrowed_to:
            reason = ": ".join(filter(None, memory_of([one for one in whole if not one.name])))
        answers.append(RecordAnswer(rank, record, shares[record], tuple(found), lines, changes, reason))
    return tuple(answers)


def _weight(one: RecordChange, pairs: Sequence[RecordPair]) -> tuple[float, float]:
    """What a change of the structure saves, and what waits in the whole record for stores to its members."""
    members = one.advice.members if one.advice else ()
    waiting = sum(pair.contended.most for pair in pairs if INDEX.sub("", pair.writer).partition(".")[0] in members)
    return one.saves.share if one.saves else 0.0, waiting


def suggested_changes(answers: Sequence[RecordAnswer]) -> dict[str, SuggestedChange]:
    """What `hot` shows of the answers, by record."""
    best, of = explained(answers), TriageKind.TRUE_SHARING
    found = {}
    for one in answers:
        saves = [f"{it.saves}".partition(" (")[0] if it.saves else "" for it in one.changes]
        layout = next((it.what for it in one.changes if it.numbered), one.reason).replace("; ", ", ")
        advised = [(it.what.replace("; ", ", "), _WRONG.get(it.advice.kind, of)) for it in one.changes if it.advice]
        found[one.record] = SuggestedChange(layout, next(iter(saves), None), one is best, *next(iter(advised), ()))
    return found


def _of_structure(one: StructuralAdvice, suggested: Suggested) -> RecordChange:
    # The last replay is of the most copies, of those that readers walk through where there are such readers.
    gain = one.gains[-1] if one.gains else None
    saves = gain and saving(gain.before, gain.after, gain.whole, Interval(gain.low, gain.high))
    saves = replace(saves, limit=gain.is_limit) if gain and saves else None
    return RecordChange(short_advice(one, program=suggested.machine is None), saves, advice=one)


def unchanged(lines: Sequence[Proposed]) -> Proposed | None:
    """The line that says best why nothing changes: on some lines a record that is known may not be recognised."""

    def rank(one: Proposed) -> tuple[bool, bool, bool]:
        known = any(thing.outcome is Outcome.RESOLVED for thing in one.finding.objects[:1])
        return not one.declined, not one.refusal, not known

    return min(lines, key=rank, default=None)


def _reason(record: str, lines: Sequence[Proposed], share: float) -> str:
    """Why nothing changes, in a clause."""
    line = unchanged(lines)
    if line is not None and line.declined:
        return _declined(line)
    if line is not None and line.refusal:
        _, _, instead = line.refusal.partition(f"{NO_MEMBERS}. Instead: ")
        if instead:
            return f"{ALONE}: {instead.rstrip('.')}"
        return reason_of(line).partition(", so there is ")[0]
    if not record:
        return "what lies there is not known"
    if share >= WORTH_CHANGING:
        return f"spread over lines of which none is hot: --type {record} looks at them"
    return f"below {WORTH_CHANGING:.0%} no change is worth its review"


def _declined(line: Proposed) -> str:
    judged = [one.judgement for one in line.candidates if one.judgement.before]
    if not judged:
        return reason_of(line)
    best = min(judged, key=lambda one: one.change)
    if best.change >= 0:
        return "replayed, no order of its members has fewer misses"
    few = "too little" if best.better else "which may be noise"
    return f"the best candidate saves {per_cent(-best.change)}% of its misses, {few}"


def reason_of(line: Proposed) -> str:
    """The clause of a refusal that says why, without what can be done instead."""
    text = (line.declined or line.refusal).removeprefix(f"Line {line.finding.rank}: ")
    text = text.removeprefix("Nothing is recommended: ")
    _, because, rest = text.partition("because ")
    reason = rest if because else text
    return reason.partition(". Instead:")[0].partition(". To find out:")[0].rstrip(".")


# The table.


def explained(answers: Sequence[RecordAnswer]) -> RecordAnswer | None:
    """The one whose change saves most: of layouts that save what is worth a change, else of all that were replayed."""

    def rank(one: RecordAnswer) -> tuple[bool, float]:
        first = one.changes[0]
        saved = first.saves.share if first.saves else -1.0
        return first.numbered is None or saved < WORTH_CHANGING, -saved

    return min((one for one in answers if one.changes), key=rank, default=None)


def shown_answers(answers: Sequence[RecordAnswer]) -> list[RecordAnswer]:
    """Those with rows of their own, numbered by row: the first, as in the table of `hot`, if there is one to see there.

    That whose change saves most has one, however small a part it is.
    """
    best = explained(answers)
    worth = [one for one in answers if one.changes or one.share >= WORTH_CHANGING]
    shown = [one for one in worth if one is best or one in worth[: MOST_ROWS - (best not in worth[:MOST_ROWS])]]
    return [replace(one, rank=number) for number, one in enumerate(shown, 1)]


def table_head(suggested: Suggested) -> tuple[str, ...]:
    """The heads of the columns, some in two lines, with what is counted."""
    simulated = suggested.trace or any(one.simulated for one in suggested.findings)
    counted_as = ("misses", "all misses") if simulated else ("contended", "contended loads")
    return tuple(one.format(*counted_as) for one in HEAD)


def answers_text(
    suggested: Suggested,
    answers: Sequence[RecordAnswer],
    shown: Sequence[RecordAnswer],
    columns: int,
    *,
    brief: bool = False,
) -> list[str]:
    """A row for each record that is ``shown``, the others of the profile together in the last one.

    ``brief``: the first change alone, or the reason in a few words. Where no record has a cell of a column, its head is
    left out as well.
    """
    table = [cells for one in shown for cells in rows_of(one, brief=brief)]
    share = 1 - sum(one.share for one in shown)
    if share >= LEAST_REST and not suggested.narrowed_to:
        several = [*_rest(suggested, answers, {one.record for one in shown}, share)]
        parts = "; ".join(several) if len(several) > 1 else "".join(several).rpartition(": ")[0]
        table.append(("", REST, f"{share:.1%}", parts, *("" for _ in HEAD[4:])))
    head = table_head(suggested)
    if not any("%" in row[5] for row in table):
        head = *head[:5], "saves", *head[6:]
    used = [number < 4 or any(row[number] for row in table) for number in range(len(HEAD))]
    heads = [(one if there else "").partition("\n") for one, there in zip(head, used, strict=True)]
    rows = [[first for first, _, _ in heads], [second for _, _, second in heads], *table]
    text = flexible_table(rows, HEAD.index("what to do"), "><><<<>>", columns)
    unshown = suggested.hot and any(row[1] in (REST, UNATTRIBUTED) and not row[3].startswith(LEFT_OUT) for row in table)
    return [*text, *(shell_rows("all records:", suggested.hot, columns) if unshown else ())]


def _rest(suggested: Suggested, answers: Sequence[RecordAnswer], shown: set[str], share: float) -> Iterator[str]:
    """What has no row: records, lines of no known record, what was excluded, and what the profile does not show."""
    whole = [one for one in suggested.records if not one.apart]
    small = {one.record: one.share for one in answers if one.record and one.record not in shown}
    for one in whole:
        if one.name and one.name not in shown:
            small[one.name] = sum(each.share for each in whole if each.name == one.name)
    larger = [small.pop(name) for name in [one for one, part in small.items() if part >= WORTH_CHANGING]]
    each = f" of less than {WORTH_CHANGING:.0%}{' each' * (len(small) > 1)}"
    unknown = 0.0 if "" in shown else sum(one.share for one in whole if not one.name)
    excluded = sum(one.share for one in suggested.records if one.apart)
    parts = {
        f"{len(larger)} more by --full": sum(larger),
        f"{counted(len(small), 'record')}{each}": sum(small.values()),
    }
    parts[UNATTRIBUTED] = unknown
    parts["excluded"] = excluded
    parts[LEFT_OUT] = share - sum(parts.values())
    yield from (f"{what}: {part:.1%}" for what, part in parts.items() if part >= LEAST_REST)


def rows_of(answer: RecordAnswer, *, brief: bool = False) -> Iterator[tuple[str, ...]]:
    """The first change, and where that is one of the layout the first of the structure; or why there is none."""
    head = f"{answer.rank}", short_title(answer.title, MOST_NAME), f"{answer.share:.1%}"
    what = _DETAIL.split(answer.what)[0] if brief else answer.what
    if not answer.changes:
        yield *head, what, *("" for _ in HEAD[4:])
        return
    first, *others = answer.changes
    yield *head, what, *_cells(first)[1:]
    other = next((one for one in others if one.advice), None) if first.numbered and not brief else None
    if other is not None:
        what, *cells = _cells(other)
        yield "", "", "", f"or: {what}", *cells


def _cells(change: RecordChange) -> tuple[str, ...]:
    candidate = change.candidate
    saves = str(change.saves) if change.saves else "not estimated"
    if candidate is None:
        return change.what, "", saves, "", ""
    name = change.numbered.name if change.numbered else ""
    old, new = candidate.before.size, candidate.after.size
    size = f"{new:,}" if old == new else f"{old:,} -> {new:,}"
    pages = most_pages(candidate)
    if pages is None:
        return change.what, name, saves, size, ""
    more = pages[1] / pages[0] - 1 if pages[0] else 0.0
    return change.what, name, saves, size, f"{more:+.0%}" if pages[0] != pages[1] else "same"


def holder_rows(holders: Sequence[HolderChange]) -> Iterator[str]:
    """What becomes of the records around the changed one, and of their slabs: the costliest by name."""
    for one in holders[:MOST_HOLDERS]:
        uses = one.memory or ()
        slabs = " -> ".join(f"{use.objects_per_slab} in {counted(1 << use.order, 'page')}" for use in uses)
        held = f", {slabs} of {uses[-1].cache}" if uses else ""
        yield f"{one.record} {one.before:,} -> {one.after:,} bytes{held}"
    if len(holders) > MOST_HOLDERS:
        yield f"and {counted(len(holders) - MOST_HOLDERS, 'more record')}"


def memory_rows(before: Sequence[MemoryUse], after: Sequence[MemoryUse]) -> Iterator[str]:
    """What the objects cost in each slab cache, the costliest first; unchanged ones together."""
    pairs = list(zip(before, after, strict=False))
    changed = [pair for pair in pairs if slabs_differ(*pair)]
    changed.sort(key=lambda pair: pair[1].pages_per_1000 / pair[0].pages_per_1000, reverse=True)
    for old, new in changed[:MOST_CACHES]:
        mib = [f"{use.bytes_per_100000 / (1 << 20):,.1f}" for use in (old, new)]
        pages = f"{old.pages_per_1000:,} -> {counted(new.pages_per_1000, 'page')} for 1,000 objects"
        yield f"{old.cache}: {pages}, {mib[0]} -> {mib[1]} MiB for 100,000 ({old.basis.value})"
    if len(changed) > MOST_CACHES:
        yield f"and {counted(len(changed) - MOST_CACHES, 'more cache')}"
    same = [old for old, new in pairs if not slabs_differ(old, new)]
    if same:
        names = (f"{use.cache}{' (assumed)' * (use.basis is SlabBasis.ASSUMED)}" for use in same)
        yield f"unchanged in slabs of {listed(names, MOST_CACHES)}"


def slabs_differ(old: MemoryUse, new: MemoryUse) -> bool:
    """Whether the objects need other slabs than before."""
    return (old.stride, old.order, old.pages_per_1000) != (new.stride, new.order, new.pages_per_1000)
