# SPDX-License-Identifier: GPL-2.0-or-later
"""In which phases (object start modulo the line size) two members of one object share a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from linesmith.analyzer.geometry.lines import lines_touched


@dataclass(frozen=True, slots=True)
class Span:
    """``size`` bytes from ``offset`` on, counted from the object's first byte."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class ObjectStarts:
    """Where objects may start: at byte ``first`` of a pair of lines, and any number of ``step`` bytes from there."""

    step: int
    first: int = 0


def phases(granule: int, line_bytes: int, first: int = 0) -> range:
    """Every phase of an object that may start any multiple of ``granule`` bytes from ``first``, each equally likely."""
    step = gcd(granule, line_bytes)
    return range(first % step, line_bytes, step)


def meet(first: Span, second: Span, line_bytes: int, phase: int) -> bool:
    """Whether a byte of ``first`` and a byte of ``second`` are on one line when the object has ``phase``."""
    mine = lines_touched(first.offset + phase, first.size, line_bytes)
    other = lines_touched(second.offset + phase, second.size, line_bytes)
    return max(mine.start, other.start) < min(mine.stop, other.stop)


def meeting_phases(first: Span, second: Span, line_bytes: int, granule: int, begin: int = 0) -> float:
    """Share (0 … 1, exact for lines of a power of two) of all phases in which the two spans meet.

    Objects start any multiple of ``granule`` bytes from ``begin``. Spans made of whole granules never meet wherever
    they begin if and only if the gap between them is ``line_bytes - granule`` or more.
    """
    starts = phases(granule, line_bytes, begin)
    return sum(meet(first, second, line_bytes, phase) for phase in starts) / len(starts)


def meeting_share(first: Span, second: Span, line_bytes: int, weights: Mapping[int, float]) -> float:
    """Share of the objects in which the two spans meet; ``weights`` gives how many start at each phase.

    The phases are in bytes and taken modulo ``line_bytes``; no weight at all gives 0.
    """
    total = sum(weights.values())
    met = sum(weight for phase, weight in weights.items() if meet(first, second, line_bytes, phase % line_bytes))
    return met / total if total else 0.0
