# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report of suggestions is about, and candidates in words: what each changes, saves and costs, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from linesmith.analyzer.base.text import listed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import (
    Candidate,
    ElfIdentity,
    Finding,
    Judgement,
    Move,
    MoveKind,
    Sharded,
    SlabMachine,
    StepTable,
    StructuralAdvice,
)
from linesmith.analyzer.model.candidate import candidate_name
from linesmith.analyzer.report.prose import WIDTH, cut, in_columns, prose, widest


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
    one whose slabs hold the objects, ``None`` for a program.
    """

    elf: ElfIdentity
    source: str
    layouts: Layouts
    lines: tuple[Proposed, ...]
    findings: tuple[Finding, ...] = ()
    machine: SlabMachine | None = None
    sharded: Sharded | None = None

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


def things(candidate: Candidate, finding: Finding) -> str:
    """What a judgement counts: misses that were replayed, or what the profile has."""
    if candidate.judgement.runs == 1:
        return "misses"
    return "contended accesses" if finding.simulated else "contended loads"


def saved(judgement: Judgement) -> str:
    """What a change saves, with its interval: ``408 of 944 (-43.2%, -47.7% to -37.9%)``; less than nothing costs."""
    if not judgement.before:
        return "nothing is known" if judgement.refusal else "nothing"
    return f"{judgement.saved:,.0f} of {judgement.before:,.0f} ({judgement.change:+.1%}, {interval(judgement)})"


def interval(judgement: Judgement) -> str:
    """The bounds of the change: ``-47.7% to -37.9%``."""
    return f"{judgement.interval.low:+.1%} to {judgement.interval.high:+.1%}"


# With more steps than this, a candidate is described by how it was found.
MOST_STEPS = 2
MOST_NAMES = 4
# Pairs of members that are shown; a candidate for a record with many hot members separates many.
MOST_PAIRS = 6


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


def moved_names(candidate: Candidate) -> frozenset[str]:
    """Members that move or change places."""
    alone = [name for move in candidate.moves for name in (move.member, move.partner) if name]
    return frozenset(alone + [name for move in candidate.moves for name in move.members if name])


def concerned_names(candidate: Candidate) -> frozenset[str]:
    """Members that move, and those of the heaviest pairs that meet."""
    pairs = list(dict.fromkeys((residual.first, residual.second) for residual in candidate.residuals))
    return frozenset(name for pair in pairs[:MOST_PAIRS] for name in pair) | moved_names(candidate)


# What a table says of the change in its own column, at least; with less room it stands below the row.
LEAST_CHANGE = 24
# Those of a candidate's name, of what it saves, and of its size.
LEAST_COLUMNS = 5
HEAD = ("", "change", "saves", "misses", "80% interval", "size", "pages/1,000", "moved", "diff")


def alternative_rows(ones: Sequence[Numbered], columns: int = WIDTH) -> list[str]:
    """A table of the candidates, the recommended one marked with ``*``; columns that say nothing are left out."""
    table = alternative_cells(ones)
    widths = widest(table)
    sides = "><" + ">" * len(widths)
    room = columns - sum(widths) + widths[1] - 2 * (len(widths) - 1)
    if room >= min(widths[1], LEAST_CHANGE):
        widths[1] = min(widths[1], room)
        return [in_columns([one, cut(what, room), *rest], widths, sides).rstrip() for one, what, *rest in table]
    del widths[1]
    while sum(widths) + 2 * (len(widths) - 1) > columns and len(widths) > LEAST_COLUMNS:
        del widths[-1]  # the last says least; --candidate has it
    rows: list[str] = []
    for one, what, *rest in (row[: len(widths) + 1] for row in table):
        rows.append(in_columns([one, *rest], widths, ">" * len(widths)).rstrip())
        rows += prose(what, " " * 4, " " * 6, columns).splitlines()
    return rows


def alternative_cells(ones: Sequence[Numbered]) -> list[list[str]]:
    """The same in cells, first the head."""
    table = [list(HEAD), *map(_cells, ones)]
    filled = [column for column in range(len(table[0])) if column < 2 or any(row[column] for row in table[1:])]
    return [[row[column] for column in filled] for row in table]


def _cells(one: Numbered) -> list[str]:
    candidate, churn, found = one.candidate, one.candidate.churn, one.candidate.judgement
    cells = [f"{'* ' if candidate.recommended else ''}{one.name}", short_change(candidate)]
    cells += [f"{found.saved:,.0f}", f"{found.change:+.1%}", interval(found)] if found.before else ["", "", ""]
    cells += [f"{candidate.after.size:,}", _pages(candidate)]
    return [*cells, *([f"{churn.members}", f"{churn.lines}"] if churn.members else ["", ""])]


def _pages(candidate: Candidate) -> str:
    """Pages of the cache that the change costs most in."""
    pairs = list(zip(*candidate.memory, strict=False))
    if not pairs:
        return ""
    old, new = max(pairs, key=lambda pair: pair[1].pages_per_1000 - pair[0].pages_per_1000)
    same = old.pages_per_1000 == new.pages_per_1000
    return f"{new.pages_per_1000}" if same else f"{old.pages_per_1000} -> {new.pages_per_1000}"
