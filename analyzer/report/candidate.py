# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report of suggestions is about, and candidates in words: what each changes, saves and costs, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import gcd

from linesmith.analyzer.base.text import listed, with_span
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Candidate,
    ElfIdentity,
    Finding,
    Interval,
    Judgement,
    LineMember,
    Move,
    MoveKind,
    Residual,
    Sharded,
    SlabMachine,
    StepTable,
    StructuralAdvice,
)
from linesmith.analyzer.model.candidate import candidate_name
from linesmith.analyzer.report.prose import WIDTH, counted, flexible_table
from linesmith.analyzer.sharing.parts import own_members
from linesmith.analyzer.sharing.records import RecordContention


@dataclass(frozen=True, slots=True)
class Proposed:
    """A hot line with its candidates, or the reason (``refusal``) why there are none.

    ``steps`` are the coherence steps of each candidate; ``declined`` is a sentence on why none of them is recommended.
    ``advice`` is what to change other than the order of members.
    """

    finding: Finding
    candidates: tuple[Candidate, ...] = ()
    steps: tuple[tuple[StepTable, ...], ...] = ()
    refusal: str = ""
    declined: str = ""
    advice: tuple[StructuralAdvice, ...] = ()

    @property
    def recommended(self) -> Candidate | None:
        """The candidate to take, if there is one."""
        return next((one for one in self.candidates if one.recommended), None)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A candidate with its number in the list and what belongs to it.

    ``linesmith patch --candidate`` takes the number, where it is given what the list rests on, or the ``name``.
    """

    number: int
    candidate: Candidate
    line: Proposed
    steps: tuple[StepTable, ...]

    @property
    def name(self) -> str:
        """What it is called in every list that has it."""
        return candidate_name(self.candidate)


@dataclass(frozen=True, slots=True)
class Suggested:
    """Everything that ``suggest`` found, hottest line first.

    ``findings`` are all that the profile gave: other lines may hold members of the same record. ``machine`` is the
    one whose slabs hold the objects, ``None`` for a program. ``trace`` is the file that was replayed, empty for
    reconstructed runs. ``records`` are those of the whole profile, by share. ``given`` are the files and options for a
    command that goes on from here. ``narrowed_to`` a type, there are no other records. ``quiet`` is a sentence where
    hardly anybody waits. ``workload`` is the machine that was profiled and what ran on it, ``build`` a sentence where
    the report may be of another build, ``which`` says which of several it is. ``hot`` is the command for all records.
    """

    elf: ElfIdentity
    source: str
    layouts: Layouts
    lines: tuple[Proposed, ...]
    findings: tuple[Finding, ...] = ()
    machine: SlabMachine | None = None
    sharded: Sharded | None = None
    trace: str = ""
    records: tuple[RecordContention, ...] = ()
    given: tuple[str, ...] = ()
    narrowed_to: str = ""
    quiet: str = ""
    workload: str = ""
    build: str = ""
    which: str = ""
    hot: tuple[str, ...] = ()

    @property
    def slabs(self) -> str:
        """Of which machine the slabs are: ``Linux 6.12, 64 CPUs, pages of 4096 bytes``; empty for a program."""
        if self.machine is None:
            return ""
        release = ".".join(map(str, self.machine.release))
        return f"Linux {release}, {self.machine.cpus} CPUs, pages of {self.machine.page_bytes} bytes"

    def numbered(self) -> Iterator[Numbered]:
        """All candidates, numbered through."""
        number = 0
        for line in self.lines:
            for place, candidate in enumerate(line.candidates):
                number += 1
                steps = line.steps[place] if line.steps else ()
                yield Numbered(number, candidate, line, steps)

    def by_line(self) -> dict[int, tuple[Numbered, ...]]:
        """The candidates of each line by its rank."""
        return {rank: tuple(group) for rank, group in groupby(self.numbered(), lambda one: one.line.finding.rank)}


@dataclass(frozen=True, slots=True)
class Saving:
    """Misses ``before`` and ``after`` a change, on all lines of the record; ``whole`` are those of the profile.

    ``share`` is what goes away of the whole, ``interval`` its bounds; all are negative where misses come. A ``limit``
    is what goes away at most.
    """

    before: float
    after: float
    whole: float
    share: float
    interval: Interval
    limit: bool = False

    def __str__(self) -> str:
        """``0.65% (0.61 to 0.68)``, or ``≤ 22.0%`` of a limit."""
        if self.limit:
            return f"≤ {self.share:.1%}"
        share, interval = with_span(self.share, self.interval.low, self.interval.high, "")
        return f"{share} ({interval})"


def saving(before: float, after: float, whole: float, change: Interval) -> Saving | None:
    """The saving of a change whose bounds are shares of the misses ``before``; ``None`` where nothing was replayed."""
    if not before or not whole:
        return None
    part = before / whole
    return Saving(before, after, whole, (before - after) / whole, Interval(-change.high * part, -change.low * part))


def saved(judgement: Judgement) -> Saving | None:
    """What a candidate saves, as far as it was replayed."""
    return saving(judgement.before, judgement.after, judgement.whole, judgement.interval)


def saved_words(saving: Saving | None, counted_as: str, whole: str) -> str:
    """``0.65% of the misses of the profile (80% interval 0.61% to 0.68%): 1,553 of 240,711``, net of what is added."""
    if saving is None:
        return "nothing is known"
    share, interval = with_span(saving.share, saving.interval.low, saving.interval.high)
    record = f"the record's {saving.before:,.0f} and of " * (round(saving.before) != round(saving.whole))
    counts = f"{saving.before - saving.after:,.0f} of {record}{'all ' * bool(record)}{saving.whole:,.0f}"
    if saving.limit:
        return f"at most {share} of the {counted_as} of the {whole}: {counts}"
    return f"{share} of the {counted_as} of the {whole} (80% interval {interval}): {counts}"


# With more steps than this, a candidate is described by how it was found.
MOST_STEPS = 2
MOST_NAMES = 8
# Pairs of members that are shown; a candidate for a record with many hot members separates many.
MOST_PAIRS = 6
MOST_NEIGHBOURS = 4


def change(candidate: Candidate) -> str:
    """All steps as one clause: ``move a behind b; align c to 64 bytes``."""
    return "; ".join(move_words(move) for move in candidate.moves)


def short_change(candidate: Candidate) -> str:
    """The same, or how it was found and whom it moves where it has many steps: ``packed anew: a, b, c and 4 more``."""
    if len(candidate.moves) <= MOST_STEPS:
        return change(candidate)
    names = list(dict.fromkeys(name for move in candidate.moves for name in (move.member, move.partner) if name))
    return f"{candidate.strategy.value}: {listed(names, MOST_NAMES)}"


def move_words(move: Move) -> str:
    """A move in words."""
    whole = f" (with {', '.join(move.members[1:])})" if len(move.members) > 1 else ""
    place = f"behind {move.after}" if move.after else "to the front"
    if move.kind is MoveKind.SWAP:
        return f"swap {move.member} and {move.partner}"
    if move.kind is MoveKind.ALIGN:
        return f"align {move.member} to {move.align} bytes"
    hole = ", into a hole" if move.kind is MoveKind.FILL_HOLE else ""
    return f"move {move.member}{whole} {place}{hole}"


def concerned_names(candidate: Candidate) -> frozenset[str]:
    """Members that move, and those of the heaviest pairs that meet."""
    pairs = list(dict.fromkeys((residual.first, residual.second) for residual in candidate.residuals))
    return frozenset(name for pair in pairs[:MOST_PAIRS] for name in pair) | candidate.moved


HEAD = ("", "change", "saves (80% interval)", "size", "pages/1,000", "moved")


def alternative_rows(ones: Sequence[Numbered], columns: int = WIDTH) -> list[str]:
    """A table of the candidates, the recommended one marked with ``*``; columns that say nothing are left out."""
    return flexible_table([HEAD, *map(_cells, ones)], 1, "><>>>>", columns)


def alternative_cells(ones: Sequence[Numbered]) -> list[list[str]]:
    """The same in cells, first the head."""
    table = [list(HEAD), *map(_cells, ones)]
    filled = [column for column in range(len(table[0])) if column < 2 or any(row[column] for row in table[1:])]
    return [[row[column] for column in filled] for row in table]


def _cells(one: Numbered) -> list[str]:
    candidate = one.candidate
    cells = [f"{'* ' if candidate.recommended else ''}{one.name}", short_change(candidate)]
    old, new = most_pages(candidate) or ("", "")
    pages = f"{new}" if old == new else f"{old} -> {new}"
    cells += [str(saved(candidate.judgement) or ""), f"{candidate.after.size:,}", pages]
    return [*cells, str(one.candidate.churn.members or "")]


def most_pages(candidate: Candidate) -> tuple[int, int] | None:
    """Pages for 1,000 objects, before and after, in the cache in which the change costs most; ``None`` of a program."""
    pairs = ((old.pages_per_1000, new.pages_per_1000) for old, new in zip(*candidate.memory, strict=False))
    return max(pairs, key=lambda pair: pair[1] - pair[0], default=None)


# In how many phases the members of a pair share a line.


@dataclass(frozen=True, slots=True)
class MeetingRow:
    """A pair: in how many ``phases`` it shares a line before and after, for each size of lines."""

    first: str
    second: str
    phases: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Meetings:
    """Who meets whom before and after a change, the heaviest pair first; ``sizes`` of lines are in bytes."""

    sizes: tuple[int, ...] = ()
    rows: tuple[MeetingRow, ...] = ()
    more: int = 0


def meetings(candidate: Candidate) -> Meetings:
    """The pairs that were sampled, by the phases in which they share a line."""
    pairs = [list(group) for _, group in groupby(candidate.residuals, lambda one: (one.first, one.second))]
    sizes = tuple(dict.fromkeys(one.line_bytes for one in candidate.residuals))
    rows = []
    for group in pairs[:MOST_PAIRS]:
        phases = tuple(_phases(one, candidate.steps) for one in group)
        rows.append(MeetingRow(group[0].first, group[0].second, phases))
    return Meetings(sizes, tuple(rows), max(0, len(pairs) - MOST_PAIRS))


def _phases(one: Residual, steps: tuple[int, int]) -> tuple[str, str]:
    """The shares before and after as counts of the phases that there are: ``7 of 8``, ``always`` or ``never``."""
    words = []
    for share, step in zip((one.before, one.after), steps, strict=True):
        count = one.line_bytes // gcd(one.line_bytes, step)
        whole = "always" if share else "never"
        part = f"{share * count:.0f} of {count}" if share * count == round(share * count) else f"{share:.0%}"
        words.append(whole if share in (0.0, 1.0) else part)
    return words[0], words[1]


# Of so many hot members the excerpt of a layout shows those that were sampled most.
MOST_HOT = 12


def member_heat(finding: Finding, findings: Iterable[Finding]) -> dict[str, str]:
    """By member of the finding's first object what was sampled on all its lines, the most contended first."""
    record = finding.objects[0].layout if finding.objects else None
    others = (one for one in findings if one.rank != finding.rank)
    same = [one for one in others if one.objects and one.objects[0].layout == record]
    grouped: dict[str, list[LineMember]] = {}
    for one in (finding, *same):
        for member in own_members(one):
            grouped.setdefault(member.top, []).append(member)
    ranked = sorted(grouped.items(), key=lambda pair: _weight(pair[1]), reverse=True)
    return {name: _heat(members) for name, members in ranked if any(_weight(members))}


def _weight(members: Sequence[LineMember]) -> tuple[int, int]:
    """Contended samples, and accesses."""
    contended = sum(function.contended for member in members for function in member.functions)
    return contended, sum(member.reads + member.writes for member in members)


def _heat(members: Sequence[LineMember]) -> str:
    """``661 contended, written``; reads where nothing waited."""
    contended, _ = _weight(members)
    reads, stores = sum(member.reads for member in members), sum(member.writes for member in members)
    parts = [f"{contended:,} contended"] if contended else [counted(reads, "read")] if reads else []
    if stores:
        parts.append(counted(stores, "store"))
    elif any(member.written for member in members):
        parts.append("written")
    return ", ".join(parts)


# All there is on a candidate.


def notes_of(one: Numbered) -> tuple[str, ...]:
    """What else to know of the candidate, without what has a row of its own: what it rests on, then what binds it."""
    candidate = one.candidate
    notes = (note for note in candidate.notes[:-1] if note != candidate.doubt)
    return (*notes, *(f"{constraint}." for constraint in candidate.constraints))


def of_contended(finding: Finding) -> str:
    """``of 1,036 contended loads``; a recording counts more accesses than those that found the line modified."""
    count = max(finding.contended, finding.cost.contended)
    return f"of {count:,} {finding.unit}"


def judged_rows(found: Judgement) -> Iterator[str]:
    """What the net consists of: lines, pairs, the whole profile; how much was replayed, then what to doubt."""
    if found.refusal:
        yield found.refusal
        return
    if found.runs:
        yield f"all lines of the record: {found.before:,.0f} -> {found.after:,.0f}"
    for line in found.lines:
        yield f"line of {listed(line.members, MOST_NEIGHBOURS)}: {line.before:,.0f} -> {line.after:,.0f}"
    for pair in found.pairs:
        sharing = "true" if pair.true_sharing else "false"
        yield f"{pair.victim} by stores to {pair.writer} ({sharing} sharing): {pair.before:,.0f} -> {pair.after:,.0f}"
    phases = [f"mean of {found.phases} phases"] * (found.phases > 1)
    phases += [f"lines of {found.line_bytes} bytes"] * (found.line_bytes != CACHE_LINE_BYTES)
    yield from ([", ".join(phases)] if found.runs and phases else [])
    yield from (f"but {remark}" for remark in found.remarks)
