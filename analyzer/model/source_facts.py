# SPDX-License-Identifier: GPL-2.0-or-later
"""What only the source, or somebody who knows it, can tell of a record: facts that forbid some of its layouts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FactKind(StrEnum):
    """What is known of the members of a fact; the value is what a user reads and writes."""

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
        """All facts of the record called so."""
        return tuple(fact for name, facts in self.records if name == record for fact in facts)


NO_FACTS = SourceFacts()
