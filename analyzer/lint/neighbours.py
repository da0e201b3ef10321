# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that came onto one line between two builds, of which code updates the one and hardly writes the others.

How often code runs is not known. Locks and members that several functions update atomically are there for several CPUs
to write; a member counts as read where next to no function writes it but those that set objects up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.lint.rules.rule import Side, Subject
from linesmith.analyzer.lint.starts import meeting
from linesmith.analyzer.lint.watched import locks
from linesmith.analyzer.model import Layout, MemberAccesses, MemberCategory

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
class Neighbours:
    """``written`` by the ``updaters`` or as a ``lock``, beside members that are ``read``.

    So many functions, ``readers`` and ``writers``, read and write one of these.
    """

    written: Named
    lock: bool
    updaters: tuple[str, ...]
    read: tuple[Named, ...]
    readers: int
    writers: int


@dataclass(frozen=True, slots=True)
class _Use:
    """The functions that read a member, update it atomically, and write it at all, without those that set it up."""

    readers: frozenset[str]
    updaters: tuple[str, ...]
    writers: frozenset[str]


def new_neighbours(subject: Subject) -> tuple[Neighbours, ...]:
    """Updated members with read ones that no updated member was beside before; none without an access map.

    Of several updated members beside the same read ones the one with the most updaters stands for all.
    """
    old, base = subject.old, subject.base
    if old is None or base is None or not _changed(old, subject.new):
        return ()
    touched = subject.head.accesses(subject.new).members
    if not touched:
        return ()
    members = _plain(nameable(subject.new, subject.head.layouts))
    uses = _uses(touched, members)
    guards = frozenset(one.path for one in locks(subject.new, subject.head.layouts))
    updated = [one for one in members if one.path in guards or len(uses[one.path].updaters) >= UPDATERS]
    read = [one for one in members if one.path not in guards and _is_read(one, uses[one.path])]
    exposed = _exposed(updated, read, old, base)
    found: dict[tuple[str, ...], Neighbours] = {}
    for one in sorted(updated, key=_most(uses)):
        near = tuple(other for other in _beside(one, read, subject.new, subject.head) if other.path not in exposed)
        if near:
            known = _neighbours(one, near, uses, lock=one.path in guards)
            found.setdefault(tuple(other.path for other in near), known)
    return tuple(found.values())


def _neighbours(one: Named, near: tuple[Named, ...], uses: Mapping[str, _Use], *, lock: bool) -> Neighbours:
    readers = frozenset[str]().union(*(uses[other.path].readers for other in near))
    writers = frozenset[str]().union(*(uses[other.path].writers for other in near))
    return Neighbours(one, lock, uses[one.path].updaters, near, len(readers), len(writers))


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


def _most(uses: Mapping[str, _Use]) -> Callable[[Named], tuple[int, int]]:
    return lambda one: (-len(uses[one.path].updaters), one.offset)


def _is_read(one: Named, use: _Use) -> bool:
    """Records and arrays are written by code that got their address, which is not seen here."""
    plain = one.member.category is not MemberCategory.RECORD and not one.member.dimensions
    return plain and len(use.readers) >= READERS and len(use.writers) <= WRITING_SHARE * len(use.readers)


def _exposed(updated: Iterable[Named], read: Iterable[Named], old: Layout, base: Side) -> frozenset[str]:
    """Those of ``read`` that an updated member was beside in the old build already."""
    before = {one.path: one for one in nameable(old, base.layouts) if one.span.size}
    were = [before[one.path] for one in read if one.path in before]
    known = (before[one.path] for one in updated if one.path in before)
    return frozenset(other.path for one in known for other in _beside(one, were, old, base))


def _changed(old: Layout, new: Layout) -> bool:
    return [(one.name, one.offset, one.size) for one in old.members] != [
        (one.name, one.offset, one.size) for one in new.members
    ]


def _uses(touched: Sequence[MemberAccesses], members: Sequence[Named]) -> dict[str, _Use]:
    return {one.path: _use([each for each in touched if _overlap(each, one)]) for one in members}


def _overlap(touched: MemberAccesses, member: Named) -> bool:
    return member.offset < touched.offset + touched.size and touched.offset < member.end


def _use(parts: Sequence[MemberAccesses]) -> _Use:
    used = [one for part in parts for one in part.functions if not _SETS_UP.search(one.function)]
    return _Use(
        frozenset(one.function for one in used if one.counts.reading),
        tuple(sorted({one.function for one in used if one.counts.atomics})),
        frozenset(one.function for one in used if one.counts.writing),
    )


def _beside(one: Named, others: Sequence[Named], layout: Layout, side: Side) -> Iterator[Named]:
    every = side.starts.of(layout)
    for other in others:
        apart = other.end <= one.offset or one.end <= other.offset
        if apart and meeting(every, one.span, other.span).share >= TOGETHER:
            yield other
