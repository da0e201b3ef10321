# SPDX-License-Identifier: GPL-2.0-or-later
"""Sorts the pieces of a text into reports: a mail often holds one from before a change and one from after it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from linesmith.plugins.profiles.columns import STORES
from linesmith.plugins.profiles.pieces import (
    Banner,
    Callers,
    Event,
    Headed,
    LineHead,
    Piece,
    Prose,
    Section,
    TableRow,
    Total,
    Unread,
)
from linesmith.plugins.profiles.rows import Row

_SENTENCE = re.compile(r"(?<=[.!?]) +")
_RULED = re.compile(r"(?:^|\s)#?[-=]{2,}(?:\s|$)")
_LONGEST_TITLE = 120
# What authors write above the lines of two kernels, where the numbers of the lines go on.
_BEFORE = re.compile(r"\b(?:before|baseline|base|without|original|unpatched|vanilla|stock|old)\b", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:after|patched|new kernel|with (?:(?:this|the|that|my|our) )?(?:change|patch|patches|series|fix))\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Block:
    """A line of the distribution as it stands in the text; rows without a head come from a cut report."""

    head: LineHead | None
    rows: list[Row] = field(default_factory=list)
    callers: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def rank(self) -> int | None:
        """The line's number, when the counts are one more than the rows' shares."""
        if self.head is None or not self.head.counts:
            return None
        shares = len(self.rows[0].shares) if self.rows else self.head.shares or len(self.head.counts) - 1
        return self.head.counts[0] if len(self.head.counts) == shares + 1 else None

    @property
    def totals(self) -> tuple[int, ...]:
        """The raw counts that the rows' shares are of, empty when they do not match the shares."""
        if self.head is None:
            return ()
        counts = self.head.counts[1:] if self.rank is not None else self.head.counts
        return counts if not self.rows or len(counts) == len(self.rows[0].shares) else ()

    def uncounted_stores(self, counted: Collection[str]) -> list[str]:
        """Columns of stores that have shares, but no count among the ``counted`` columns of the line."""
        held = dict.fromkeys(value for row in self.rows for value, share in row.shares if share > 0)
        return [value for value in held if value in STORES and value not in counted]


@dataclass(slots=True)
class Draft:
    """The pieces of one report."""

    title: str = ""
    totals: list[Total] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    table: list[TableRow] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    sections: set[Section] = field(default_factory=set)
    peer: bool | None = None
    double: bool = False

    @property
    def holds_lines(self) -> bool:
        """Whether a cache line was read."""
        return bool(self.table or self.blocks)


def drafts(pieces: Iterable[Piece]) -> list[Draft]:
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
    def __init__(self) -> None:
        self.drafts = [Draft()]
        self._above = ""
        self._above_line = 0
        self._rank = -1

    def take(self, piece: Piece) -> None:
        """Put one piece into the report that it belongs to."""
        match piece:
            case Prose():
                self._hear(piece)
            case Banner():
                self._open_section(piece.section)
            case Headed():
                self.drafts[-1].peer = piece.peer
                self.drafts[-1].double = piece.double or self.drafts[-1].double
            case Callers():
                block = self.drafts[-1].blocks[-1]
                block.callers[len(block.rows) - 1] = piece.names
            case _:
                self._take_data(piece)

    def _take_data(self, piece: TableRow | LineHead | Row | Total | Event | Unread) -> None:
        match piece:
            case TableRow():
                self._table_row(piece)
            case LineHead():
                self._head(piece)
            case Row():
                self._row(piece)
            case Total():
                self._touch().totals.append(piece)
            case Event():
                self._touch().events.append(piece.name)
            case Unread():
                self.drafts[-1].unread.append(piece)

    def _hear(self, prose: Prose) -> None:
        """Remember the words above; lines of one paragraph are one text."""
        if _RULED.search(prose.text) or not re.search(r"[^\W\d_]", prose.text):
            return
        joined = prose.line == self._above_line + 1 and not self._above.endswith(":")
        self._above = f"{self._above} {prose.text}"[-1000:] if joined else prose.text
        self._above_line = prose.line

    def _begin(self) -> Draft:
        before = self.drafts[-1]
        if before.holds_lines:
            # Authors give the heading once; a heading of the new report overrules the one before.
            self.drafts.append(Draft(peer=before.peer, double=before.double))
            self._rank = -1
        return self._touch()

    def _touch(self) -> Draft:
        """The current report; its first piece takes the words above as the title."""
        draft = self.drafts[-1]
        if not (draft.title or draft.holds_lines or draft.totals or draft.sections):
            draft.title = _title(self._above)
        self._above, self._above_line = "", 0
        return draft

    def _open_section(self, section: Section) -> None:
        draft = self.drafts[-1]
        behind = section is not Section.DISTRIBUTION and bool(draft.blocks)
        again = section in draft.sections or (section is Section.DISTRIBUTION and bool(draft.blocks))
        (self._begin() if again or behind else self._touch()).sections.add(section)

    def _table_row(self, row: TableRow) -> None:
        draft = self.drafts[-1]
        starts_over = bool(draft.blocks) or (bool(draft.table) and row.rank <= draft.table[-1].rank)
        (self._begin() if starts_over else self._touch()).table.append(row)

    def _head(self, head: LineHead) -> None:
        block = Block(head)
        rank = block.rank
        again = rank is not None and rank <= self._rank
        starts_over = bool(self.drafts[-1].blocks) and (again or self._is_after())
        (self._begin() if starts_over else self._touch()).blocks.append(block)
        self._rank = rank if rank is not None else self._rank

    def _is_after(self) -> bool:
        """Whether the words above announce what a change did to the lines of the report so far."""
        announced = self._above.rstrip().endswith(":")
        return announced and bool(_BEFORE.search(self.drafts[-1].title) and _AFTER.search(_title(self._above)))

    def _row(self, row: Row) -> None:
        draft = self._touch()
        if not draft.blocks:
            draft.blocks.append(Block(None))
        draft.blocks[-1].rows.append(row)


def _title(above: str) -> str:
    """The last sentence of the words above, without the colon that points at the report."""
    sentence = _SENTENCE.split(above.strip())[-1]
    return sentence.strip(" \t:#*`").strip()[-_LONGEST_TITLE:]
