# SPDX-License-Identifier: GPL-2.0-or-later
"""Coherence steps: who touches a line in turn, and what each access makes the caches do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.cost import Bounds


class LineState(StrEnum):
    """State of a line in one CPU's cache. Source: the MESI protocol (Papamarcos and Patel, ISCA 1984)."""

    MODIFIED = "M"
    EXCLUSIVE = "E"
    SHARED = "S"
    INVALID = "I"


@dataclass(frozen=True, slots=True)
class CoherenceStep:
    """One access of ``cpu`` (``A``, ``B``) by ``function`` to ``member``, which lies on line ``line`` of the object.

    ``states`` are those of that line after the access, by CPU. ``what`` says what happened (``hit``, ``miss: modified
    on A``), ``cycles`` what the access waited, 0 for a hit; ``needless`` that it waits only for where the members lie.
    """

    cpu: str
    function: str
    member: str
    line: int
    writes: bool
    states: tuple[tuple[str, LineState], ...]
    what: str
    cycles: int
    needless: bool = False


@dataclass(frozen=True, slots=True)
class StepTable:
    """One sharing, access by access, in the layout as it is and under a candidate.

    ``contended`` accesses to the member ``victim`` waited for stores to the member ``writer``. ``phase`` is where the
    object starts in its line, in bytes; ``phase_after`` differs where the candidate aligns it.
    """

    victim: str
    writer: str
    contended: Bounds
    phase: int
    before: tuple[CoherenceStep, ...]
    after: tuple[CoherenceStep, ...]
    notes: tuple[str, ...] = ()
    phase_after: int = 0

    @property
    def cycles(self) -> tuple[int, int]:
        """What all steps wait, before and after."""
        return sum(one.cycles for one in self.before), sum(one.cycles for one in self.after)
