# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that came onto one line between two builds, of which code updates the one and hardly writes the others.

How often code runs is not known. Locks and members that several functions update atomically are there for several CPUs
to write; a member counts as read where next to no function writes it but those that set objects up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.lint.rules.rule import LintedRecord
from linesmith.analyzer.lint.starts import Starts, meeting
from linesmith.analyzer.lint.watched import locks
from linesmith.analyzer.model import MemberAccesses, MemberCategory

# Functions that must update a member atomically, and that must read a neighbour.
UPDATERS = 3
READERS = 10
# Functions that may write the neighbour all the same, to those that read it.
WRITING_SHARE = 0.1
# The share of objects in which the two are on one line.
TOGETHER = 0.5

_SETS_UP = re.compile(
    r"(?:^|_)"
    r"(?:init(?:iali[sz]e)?|setup|alloc(?:ate)?|create|new|register|unregister|destroy|free|release|probe|add|clone|copy|dup"
    r"|store|exit)"
    r"(?=[_.\d]|$)"
)


@dataclass(frozen=True, slots=True)
class WrittenNeighbour:
    """``written`` by the ``updaters`` or as a ``lock``, on a line with members that are ``read``.

    So many functions, ``readers`` and ``writers``, read and write one of these.
    """

    written: Named
    lock: bool
    updaters: tuple[str, ...]
    read: tuple[Named, ...]
    readers: int
    writers: int


@dataclass(frozen=True, slots=True)
class _CodeUse:
    """The functions that read a member, update it atomically, and write it at all, without those that set it up."""

    readers: frozenset[str]
    updaters: tuple[str, ...]
    writers: frozenset[str]


def new_neighbours(record: LintedRecord) -> tuple[WrittenNeighbour, ...]:
    """Updated members with read ones that no updated member was near before; none without an access map.

    Of several updated members near the same read ones the one with the most updaters stands for all.
    """
    now, before = record.now, record.before
    if before is None:
        return ()
    old, new = ([(one.name, one.offset, one.size) for one in it.layout.members] for it in (before, now))
    touched = now.build.accesses(now.layout).members if old != new else ()
    if not touched:
        return ()
    members = _plain(nameable(now.layout, now.layouts))
    uses = {one.path: _use(one, touched) for one in members}
    guards = frozenset(one.path for one in locks(now.layout, now.layouts))
    updated = [one for one in members if one.path in guards or len(uses[one.path].updaters) >= UPDATERS]
    read = [one for one in members if one.path not in guards and _is_only_read(one, uses[one.path])]
    were = before.members()
    earlier = [were[one.path] for one in read if one.path in were]
    known = (were[one.path] for one in updated if one.path in were)
    exposed = frozenset(other.path for one in known for other in _near(one, earlier, before.starts()))
    found: dict[tuple[str, ...], WrittenNeighbour] = {}
    for one in sorted(updated, key=lambda one: (-len(uses[one.path].updaters), one.offset)):
        near = tuple(other for other in _near(one, read, now.starts()) if other.path not in exposed)
        if near:
            readers = frozenset[str]().union(*(uses[other.path].readers for other in near))
            writers = frozenset[str]().union(*(uses[other.path].writers for other in near))
            figures = uses[one.path].updaters, near, len(readers), len(writers)
            found.setdefault(tuple(other.path for other in near), WrittenNeighbour(one, one.path in guards, *figures))
    return tuple(found.values())


def _plain(members: Iterable[Named]) -> list[Named]:
    """Those whose bytes have no other name: of a union's alternatives code does not tell which one it means."""
    found = [one for one in members if one.span.size and not one.member.is_bit_field]
    last = 0
    doubled: set[str] = set()
    for before, one in pairwise(found):
        last = max(last, before.end)
        if one.offset < last:
            doubled |= {other.path for other in found if other.offset < one.end and one.offset < other.end}
    return [one for one in found if one.path not in doubled]


def _use(member: Named, touched: Sequence[MemberAccesses]) -> _CodeUse:
    parts = [one for one in touched if member.offset < one.offset + one.size and one.offset < member.end]
    used = [one for part in parts for one in part.functions if not _SETS_UP.search(one.function)]
    return _CodeUse(
        frozenset(one.function for one in used if one.counts.reading),
        tuple(sorted({one.function for one in used if one.counts.atomics})),
        frozenset(one.function for one in used if one.counts.writing),
    )


def _is_only_read(one: Named, use: _CodeUse) -> bool:
    """Records and arrays are written by code that got their address, which is not seen here."""
    plain = one.member.category is not MemberCategory.RECORD and not one.member.dimensions
    return plain and len(use.readers) >= READERS and len(use.writers) <= WRITING_SHARE * len(use.readers)


def _near(one: Named, others: Iterable[Named], starts: Sequence[Starts]) -> Iterator[Named]:
    """Those that are on a line with a member in most objects."""
    for other in others:
        apart = other.end <= one.offset or one.end <= other.offset
        if apart and meeting(starts, one.span, other.span).share >= TOGETHER:
            yield other
