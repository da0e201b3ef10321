# SPDX-License-Identifier: GPL-2.0-or-later
"""The pieces of a report in the order of the text; the assembly of reports knows nothing of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.plugins.profiles.columns import TableForm
from linesmith.plugins.profiles.rows import Row


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
