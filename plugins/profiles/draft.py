# SPDX-License-Identifier: GPL-2.0-or-later
"""The pieces of a text, sorted into reports: a mail often holds one from before a change and one from after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from operator import itemgetter
from typing import TypeVar

from linesmith.plugins.profiles.rows import ReportRows


class ReportSection(StrEnum):
    """The parts of a report by the titles that perf prints above them."""

    SUMMARY = "Trace Event Information"
    SHARED = "Global Shared Cache Line Event Information"
    DETAILS = "c2c details"
    TABLE = "Shared Data Cache Line Table"
    DISTRIBUTION = "Shared Cache Line Distribution Pareto"


@dataclass(frozen=True, slots=True)
class Headed:
    """A heading that says whether remote and local count HITM or peer snoops; ``double`` lines are 128 bytes."""

    peer: bool
    double: bool = False


@dataclass(frozen=True, slots=True)
class Total:
    """A count of the summary."""

    key: str
    count: int


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """A perf event that was recorded, as the details name it (``ibs_op/ldlat=0/``)."""

    name: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the shared-lines table; ``counts`` by value name, ``share`` as a fraction."""

    rank: int
    address: int
    share: float
    counts: tuple[tuple[str, int], ...]
    line: int


@dataclass(frozen=True, slots=True)
class LineHead:
    """The raw counts of a cache line in the distribution; ``rank`` and ``address`` may have been cut off.

    ``shares`` is how many the row below it has, 0 where that cannot be seen.
    """

    address: int | None
    counts: tuple[int, ...]
    line: int
    shares: int = 0


@dataclass(frozen=True, slots=True)
class Prose:
    """A line of words that belong to nothing above."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Unread:
    """Words that look like a row but follow no known columns."""

    text: str
    line: int


Piece = ReportSection | Headed | Total | RecordedEvent | TableRow | LineHead | ReportRows | Prose | Unread

T = TypeVar("T")
_SENTENCE = re.compile(r"(?<=[.!?]) +")
_RULED = re.compile(r"(?:^|\s)#?[-=]{2,}(?:\s|$)")
_LONGEST_TITLE = 120
# What authors write above the lines of two kernels, where the numbers of the lines go on.
_BEFORE = re.compile(r"\b(?:before|baseline|base|without|original|unpatched|vanilla|stock|old)\b", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:after|patched|new kernel|with (?:(?:this|the|that|my|our) )?(?:change|patch|patches|series|fix))\b",
    re.IGNORECASE,
)


def number_of(every: Iterable[ReportRows]) -> int:
    """How many rows they are together."""
    return sum(len(rows.text_line) for rows in every)


def stacked(columns: Sequence[Mapping[str, Sequence[T]]], sizes: Iterable[int], missing: T) -> dict[str, Iterable[T]]:
    """Columns of so many rows each put below each other by name; ``missing`` stands where one is not among them."""
    names = dict.fromkeys(chain.from_iterable(columns))
    every = [
        some if len(some) == len(names) else dict.fromkeys(names, (missing,) * size) | dict(some)
        for some, size in zip(columns, sizes, strict=True)
    ]
    return {name: chain.from_iterable(map(itemgetter(name), every)) for name in names}


@dataclass(slots=True)
class LineBlock:
    """A line of the distribution as it stands in the text; rows without a head come from a cut report."""

    head: LineHead | None
    rows: list[ReportRows] = field(default_factory=list)

    @property
    def rank(self) -> int | None:
        """The line's number, when the counts are one more than the rows' shares."""
        if self.head is None or not self.head.counts:
            return None
        shares = len(self.rows[0].values) if self.rows else self.head.shares or len(self.head.counts) - 1
        return self.head.counts[0] if len(self.head.counts) == shares + 1 else None

    @property
    def totals(self) -> tuple[int, ...]:
        """The raw counts that the rows' shares are of, empty when they do not match the shares."""
        if self.head is None:
            return ()
        counts = self.head.counts[1:] if self.rank is not None else self.head.counts
        return counts if not self.rows or len(counts) == len(self.rows[0].values) else ()

    @property
    def shares_by_value(self) -> dict[str, Sequence[float]]:
        """Every row's share of each value, 0 where a row has none."""
        shares = [dict(zip(rows.values, rows.shares, strict=True)) for rows in self.rows]
        if len(shares) == 1:
            return shares[0]
        columns = stacked(shares, [len(rows.text_line) for rows in self.rows], 0.0)
        return {value: list(column) for value, column in columns.items()}


@dataclass(slots=True)
class ReportDraft:
    """The pieces of one report."""

    title: str = ""
    totals: list[Total] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    table: list[TableRow] = field(default_factory=list)
    blocks: list[LineBlock] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    sections: set[ReportSection] = field(default_factory=set)
    peer: bool | None = None
    double: bool = False

    @property
    def holds_lines(self) -> bool:
        """Whether a cache line was read."""
        return bool(self.table or self.blocks)

    @property
    def rows(self) -> list[ReportRows]:
        """The rows of all lines, in the order of the text."""
        return [rows for block in self.blocks for rows in block.rows]


def drafts(pieces: Iterable[Piece]) -> list[ReportDraft]:
    """The reports among the pieces, in order; the last one may hold no lines.

    A new report begins where a section comes again, where the numbers of the lines start over, or where the words
    above a line say that it is of a changed program, and the title that the others are not.
    """
    sorter = _Sorter()
    for piece in pieces:
        sorter.take(piece)
    for draft in sorter.drafts:
        draft.blocks = [block for block in draft.blocks if block.rows or (block.head and block.head.counts)]
    return sorter.drafts


class _Sorter:
    """The reports so far, and the words above the next piece."""

    def __init__(self) -> None:
        self.drafts = [ReportDraft()]
        self._above = ""
        self._above_line = 0
        self._rank = -1

    def take(self, piece: Piece) -> None:
        """Put one piece into the report that it belongs to."""
        draft = self.drafts[-1]
        match piece:
            case ReportRows() if draft.blocks:
                draft.blocks[-1].rows.append(piece)
                self._above, self._above_line = "", 0
            case Prose():
                self._remember(piece)
            case Headed():
                draft.peer, draft.double = piece.peer, piece.double or draft.double
            case Unread():
                draft.unread.append(piece)
            case ReportSection():
                behind = bool(draft.blocks)
                again = piece in draft.sections
                self._report(again or behind).sections.add(piece)
            case TableRow():
                again = bool(draft.table) and piece.rank <= draft.table[-1].rank
                self._report(again or bool(draft.blocks)).table.append(piece)
            case LineHead():
                self._head(piece)
            case _:
                self._add(piece)

    def _add(self, piece: ReportRows | Total | RecordedEvent) -> None:
        """Put a piece that begins nothing into the current report."""
        draft = self._report(begins=False)
        match piece:
            case ReportRows():
                draft.blocks.append(LineBlock(None, [piece]))
            case Total():
                draft.totals.append(piece)
            case RecordedEvent():
                draft.events.append(piece.name)

    def _remember(self, prose: Prose) -> None:
        """Remember the words above; lines of one paragraph are one text."""
        if _RULED.search(prose.text) or not re.search(r"[^\W\d_]", prose.text):
            return
        joined = prose.line == self._above_line + 1 and not self._above.endswith(":")
        self._above = f"{self._above} {prose.text}"[-1000:] if joined else prose.text
        self._above_line = prose.line

    def _head(self, head: LineHead) -> None:
        block = LineBlock(head)
        rank = block.rank
        again = rank is not None and rank <= self._rank
        # The words above announce what a change did to the lines of the report so far.
        announced = self._above.rstrip().endswith(":") and _AFTER.search(_title(self._above))
        changed = bool(announced and _BEFORE.search(self.drafts[-1].title))
        self._report(bool(self.drafts[-1].blocks) and (again or changed)).blocks.append(block)
        self._rank = rank if rank is not None else self._rank

    def _report(self, begins: bool) -> ReportDraft:
        """The current report, or a new one that ``begins`` here; its first piece takes the words above as the title."""
        draft = self.drafts[-1]
        if begins and draft.holds_lines:
            # Authors give the heading once; a heading of the new report overrules the one before.
            draft = ReportDraft(peer=draft.peer, double=draft.double)
            self.drafts.append(draft)
            self._rank = -1
        if not (draft.title or draft.holds_lines or draft.totals or draft.sections):
            draft.title = _title(self._above)
        self._above, self._above_line = "", 0
        return draft


def _title(above: str) -> str:
    """The last sentence of the words above, without the colon that points at the report."""
    return _SENTENCE.split(above.strip())[-1].strip(" \t:#*`").strip()[-_LONGEST_TITLE:]
