# SPDX-License-Identifier: GPL-2.0-or-later
"""Sorts the pieces of a text into reports: a mail often holds one from before a change and one from after it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from linesmith.plugins.profiles.columns import STORES, TableForm
from linesmith.plugins.profiles.rows import Row
from linesmith.plugins.profiles.tokens import Cursor, Kind

# Turns printed shares back into the counts they were made of.

# perf prints two decimals, so each share is off by up to half of a hundredth of a percent.
_ROUNDING = 0.005


def is_complete(shares: Sequence[float]) -> bool:
    """Whether shares in percent add up to the whole, within what rounding to two decimals explains."""
    return abs(sum(shares) - 100) <= _ROUNDING * len(shares) + 0.001


def exceeds_whole(shares: Sequence[float]) -> bool:
    """Whether shares in percent add up to more than rounding can explain: they are not of one column."""
    return sum(shares) > 100 + _ROUNDING * len(shares) + 0.001


def counts_of(total: int, shares: Sequence[float]) -> tuple[int, ...]:
    """Counts whose shares of ``total`` were printed as ``shares`` (percent).

    Complete columns add up to ``total`` exactly (largest remainder); others are rounded one by one.
    """
    if not is_complete(shares):
        return tuple(round(share * total / 100) for share in shares)
    exact = [share / sum(shares) * total for share in shares]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(shares)), key=lambda at: counts[at] - exact[at])
    for at in by_remainder[: total - sum(counts)]:
        counts[at] += 1
    return tuple(counts)


# The pieces of a report in the order of the text; the assembly of reports knows nothing of tokens.


class Section(StrEnum):
    """The parts of a report by the titles that perf prints above them."""

    SUMMARY = "Trace Event Information"
    SHARED = "Global Shared Cache Line Event Information"
    DETAILS = "c2c details"
    TABLE = "Shared Data Cache Line Table"
    DISTRIBUTION = "Shared Cache Line Distribution Pareto"


@dataclass(frozen=True, slots=True)
class Banner:
    """The title of a section."""

    section: Section
    line: int


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
    line: int


@dataclass(frozen=True, slots=True)
class Event:
    """A perf event that was recorded, as the details name it (``ibs_op/ldlat=0/``)."""

    name: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the shared-lines table; ``counts`` by value name, ``share`` as a fraction."""

    rank: int
    address: int
    share: float
    counts: tuple[tuple[str, int], ...]
    form: TableForm | None
    line: int


@dataclass(frozen=True, slots=True)
class LineHead:
    """The raw counts of a cache line in the distribution; ``rank`` or ``address`` may have been cut off.

    ``shares`` is how many the row below it has, 0 where that cannot be seen.
    """

    rank: int | None
    address: int | None
    counts: tuple[int, ...]
    line: int
    shares: int = 0


@dataclass(frozen=True, slots=True)
class Callers:
    """Functions of a call graph below a row, innermost first."""

    names: tuple[str, ...]


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


Piece = Banner | Headed | Total | Event | TableRow | LineHead | Row | Callers | Prose | Unread


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


# The counts above the tables, by the names that perf prints (``print_c2c__display_stats`` and its neighbours).

KEYS = (
    "Total records", "Locked Load/Store Operations", "Load Operations", "Loads - uncacheable", "Loads - IO",
    "Loads - Miss", "Loads - no mapping", "Load Fill Buffer Hit", "Load L1D hit", "Load L2D hit", "Load LLC hit",
    "Load Local HITM", "Load Remote HITM", "Load Remote HIT", "Load Local DRAM", "Load Remote DRAM",
    "Load MESI State Exclusive", "Load MESI State Shared", "Load LLC Misses", "Load access blocked by data",
    "Load access blocked by address", "Load HIT Local Peer", "Load HIT Remote Peer", "Store Operations",
    "Store - uncacheable", "Store - no mapping", "Store L1D Hit", "Store L1D Miss", "Store No available memory level",
    "No Page Map Rejects", "Unable to parse data source", "Total Shared Cache Lines", "Load HITs on shared lines",
    "Fill Buffer Hits on shared lines", "L1D hits on shared lines", "L2D hits on shared lines",
    "LLC hits on shared lines", "Load hits on peer cache or nodes", "Locked Access on shared lines",
    "Blocked Access on shared lines", "Store HITs on shared lines", "Store L1D hits on shared lines",
    "Total Merged records",
)  # fmt: skip

# PMU, terms between slashes, modifiers: cpu/mem-loads,ldlat=30/P
_EVENT = re.compile(r"\w{1,40}/[^/]{0,300}/\w{0,10}", re.ASCII)

_BY_FIRST_WORD: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
for _key in (*KEYS, *(section.value for section in Section)):
    _BY_FIRST_WORD.setdefault(_key.split()[0], []).append((_key, tuple(_key.split())))


def known_words(cursor: Cursor) -> tuple[str, int] | None:
    """The longest key or section title that begins at the cursor, and its number of words."""
    best: tuple[str, int] | None = None
    for key, words in _BY_FIRST_WORD.get(cursor.peek().text, ()):
        same = all(cursor.peek(at).text == word for at, word in enumerate(words))
        if same and (best is None or len(words) > best[1]):
            best = key, len(words)
    return best


def read_total(cursor: Cursor) -> tuple[Total, int] | None:
    """The ``key : count`` at the cursor and the words it took; a share of misses is no count."""
    known = known_words(cursor)
    if known is None:
        return None
    key, words = known
    if cursor.peek(words).text != ":" or cursor.peek(words + 1).kind is not Kind.INTEGER:
        return None
    return Total(key, int(cursor.peek(words + 1).text), cursor.peek().line), words + 2


def read_event(cursor: Cursor) -> tuple[Event, int] | None:
    """The event behind ``Events :`` or behind the colon of a line below it, and the words it took."""
    words = 1 if cursor.peek().text == "Events" else 0
    name = cursor.peek(words + 1).text
    if cursor.peek(words).text != ":" or not _EVENT.fullmatch(name):
        return None
    return Event(name), words + 2
