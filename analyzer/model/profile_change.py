# SPDX-License-Identifier: GPL-2.0-or-later
"""What changed between two profiles: which members still meet, which parted, which are new on a line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model.finding import Bounds


class Fate(StrEnum):
    """What became of something between two profiles."""

    VANISHED = "vanished"
    FELL = "fell"
    STAYED = "stayed"
    ROSE = "rose"
    NEW = "new"
    UNCLEAR = "too few to tell"
    UNSEEN = "may be unseen"


@dataclass(frozen=True, slots=True)
class Exposure:
    """How much was looked at before and after, in ``unit``; an empty unit means that neither profile says it.

    ``scatter`` is the relative deviation by which rates of unchanged members differ between the two, beyond chance.
    """

    unit: str
    before: float
    after: float
    scatter: float = 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """Contended accesses before and after, with limits of the ratio of their rates, and what that means."""

    before: int
    after: int
    ratio: Bounds
    fate: Fate


@dataclass(frozen=True, slots=True)
class MemberChange:
    """A member of a record, or a function (``member`` empty) where no object is known.

    ``functions`` are those that waited for it before (or do now, where none did), ``gone`` those of them that do not
    any more, ``come`` those that did not. ``elsewhere`` are ranks of lines of the other profile that hold the member
    when this line does not.
    """

    type: str
    member: str
    change: Change
    functions: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    come: tuple[str, ...] = ()
    elsewhere: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LineChange:
    """Lines at one place of the objects of a type, before and after, matched by what lies on them.

    ``start_*`` is the byte of the object with which the line begins (``None``: not known, or no such line). Ranks are
    those of the profiles. ``matched_by`` is ``members``, ``functions``, or empty where there is no counterpart.
    """

    type: str
    start_before: int | None
    start_after: int | None
    before_ranks: tuple[int, ...]
    after_ranks: tuple[int, ...]
    matched_by: str
    change: Change
    members: tuple[MemberChange, ...]


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """Two profiles compared: ``lines`` by contended accesses, ``members`` over all lines, and what limits this."""

    exposure: Exposure
    total: Change
    lines: tuple[LineChange, ...]
    members: tuple[MemberChange, ...]
    cautions: tuple[str, ...] = ()
