# SPDX-License-Identifier: GPL-2.0-or-later
"""What forbids some layouts of a record, and its line map: one row a cache line, with who touches the members on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.layout import CACHE_LINE_BYTES


class FactKind(StrEnum):
    """What only the source, or somebody who knows it, tells of members; the value is what a user reads and writes."""

    OFFSET = "offset"
    """Their offsets are relied upon: asserted, exported to assembly or to user space."""
    RANGE = "range"
    """The code treats all from the first to the last as one range: memset(), memcpy(), struct_group()."""
    POSITIONAL = "positional"
    """An initialiser names no members, so the order of all from the first of the record to the last of these counts."""
    FIRST = "first"
    """The code casts between the record and this member, or takes its address for that of the record."""
    LAST = "last"
    """The record may be allocated longer than it is declared, so this member ends it."""
    WALL = "wall"
    """The code splits the record where this member begins: what is before it stays before, what is behind stays."""
    TOGETHER = "together"
    """They stand in one block of the source that moves as a whole, for example within ``#if`` and ``#endif``."""
    APART = "apart"
    """An assertion has them on different lines of the given ``bytes``."""
    RANDOMIZED = "randomized"
    """The compiler may shuffle these (all, if none are named), so an order holds only where it does not."""
    SIZE = "size"
    """The record must not become larger than ``bytes``, or than it is where none are given."""
    PAGE = "page"
    """The record must not become larger than a page of memory."""
    SLAB = "slab"
    """The record's objects must not take more memory: as many must fit into a slab as do now."""


@dataclass(frozen=True, slots=True)
class SourceFact:
    """One fact of a record: ``members`` by name in declaration order, ``place`` as ``file:line``, empty if unknown.

    ``reason`` is a clause for the user. ``bytes`` is the limit of a ``SIZE``, or the line of an ``APART``.
    """

    kind: FactKind
    members: tuple[str, ...]
    reason: str
    place: str = ""
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Facts by the record they are of (``address_space``, without ``struct``), each with its members."""

    records: tuple[tuple[str, tuple[SourceFact, ...]], ...] = ()

    def of(self, record: str) -> tuple[SourceFact, ...]:
        """All facts of the record of that name."""
        return tuple(fact for name, facts in self.records if name == record for fact in facts)


NO_FACTS = SourceFacts()


class CellKind(StrEnum):
    """What the bytes of a cell are."""

    MEMBER = "member"
    HOLE = "hole"
    PADDING = "padding"


@dataclass(frozen=True, slots=True)
class Toucher:
    """One who reads or writes a member: a function, with samples, and the CPUs and nodes it ran on where known."""

    function: str
    reads: int
    writes: int
    cpus: int | None = None
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A run of bytes of one line: ``start`` and ``bytes`` within the line, ``offset`` in the object.

    A member on several lines has a cell on each, with the same ``path``; bit-fields of one storage unit share a cell,
    their names joined, and so do alternatives of a union. ``heat`` is its share, 0 … 1, of the record's contended
    samples, ``None`` without a profile.
    ``lock`` tells that it is one, ``moved`` that it was moved in the change that two maps show, ``straddles`` that it
    lies on two lines but would fit on one, ``written`` that a store was sampled or must have happened.
    """

    path: str
    type: str
    kind: CellKind
    start: int
    bytes: int
    offset: int
    heat: float | None = None
    reads: int = 0
    writes: int = 0
    touchers: tuple[Toucher, ...] = ()
    lock: bool = False
    moved: bool = False
    straddles: bool = False
    written: bool = False


@dataclass(frozen=True, slots=True)
class MapLine:
    """One line: ``number`` counts from the line that the object begins on; the cells fill it without gaps.

    Bytes of the line before the object's first and behind its last belong to no cell. ``heat`` as in ``Cell``.
    """

    number: int
    cells: tuple[Cell, ...]
    heat: float | None = None


@dataclass(frozen=True, slots=True)
class LineMap:
    """A record laid over lines of ``line_bytes``, beginning ``phase`` bytes into the first; ``caption`` says whose.

    ``left_out`` is how many lines of a very long record follow that are not in ``lines``.
    """

    title: str
    size: int
    phase: int
    lines: tuple[MapLine, ...]
    line_bytes: int = CACHE_LINE_BYTES
    caption: str = ""
    place: str = ""
    left_out: int = 0
