# SPDX-License-Identifier: GPL-2.0-or-later
"""The line map of a record: one row a cache line, members to scale, with what is known of who touches them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.lines import CACHE_LINE_BYTES


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
