# SPDX-License-Identifier: GPL-2.0-or-later
"""Structural advice: what to change where no order of members can win."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.layout import Layout
from linesmith.analyzer.model.prediction import MemoryUse


class StructureKind(StrEnum):
    """The kinds of change; the value is what a user reads."""

    SHARD = "shard"
    PULL_IN = "pull in"
    PUSH_OUT = "push out"
    SHRINK = "shrink"
    READ_FIRST = "read before write"
    READ_COPY = "read-mostly copy"
    COUNT_APART = "count per CPU"


@dataclass(frozen=True, slots=True)
class Gain:
    """What replaying a trace says of ``ways`` copies chosen ``by`` CPU or node: misses of the record before and after.

    ``low`` and ``high`` bound the change as a share of the misses before. ``basis`` says what was replayed.
    """

    ways: int
    by: str
    before: int
    after: int
    low: float
    high: float
    basis: str


@dataclass(frozen=True, slots=True)
class Accessor:
    """A function that reaches the members of an advice: how often it was sampled, and which of them it touches."""

    function: str
    samples: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    holds_lock: bool | None = None


@dataclass(frozen=True, slots=True)
class StructuralAdvice:
    """One change of the structure of ``type``: what happens to ``members``, why, and what it costs in memory.

    ``accessors`` are functions that would have to change, the most sampled first. ``before`` and ``after`` are the
    layouts where they are known; ``memory_before`` has a row for each object that is allocated (those add up),
    ``memory_after`` likewise. ``gains`` are of a replay, ``notes`` say what it rests on and what it leaves open.
    """

    kind: StructureKind
    type: str
    members: tuple[str, ...]
    sentence: str
    reasons: tuple[str, ...] = ()
    accessors: tuple[Accessor, ...] = ()
    gains: tuple[Gain, ...] = ()
    before: tuple[Layout, ...] = ()
    after: tuple[Layout, ...] = ()
    memory_before: tuple[MemoryUse, ...] = ()
    memory_after: tuple[MemoryUse, ...] = ()
    notes: tuple[str, ...] = ()
