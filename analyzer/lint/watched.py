# SPDX-License-Identifier: GPL-2.0-or-later
"""Members whose place matters: those that an intent names, those of cacheline groups, and locks.

``guarded`` are those whose lines are no place for others; ``locks_with_data`` finds what a lock probably protects by
the names, ``reference_counts`` the members that whoever looks at an object writes, as a lock that nobody waits for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.attribution.lock import is_lock, purpose, words_of
from linesmith.analyzer.layouts.alignment import asked_alignments
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import Span, meet
from linesmith.analyzer.layouts.leaves import Named, nameable, named
from linesmith.analyzer.layouts.placement import alignment_of
from linesmith.analyzer.lint.groups import marked_groups
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, MemberCategory, Severity, TypeIntent

# So many records within one are looked at; damaged debug information has them without end.
_MOST_RECORDS = 1 << 14
# A word in more of the members' names than this share of them, and than so many, tells nothing: i_ of an inode.
COMMON_SHARE = 1 / 3
COMMON_LEAST = 4
# Types that are for nothing else, and atomic ones, which hold flags and sums as well: these go by their names.
_COUNTS = re.compile(r"(?:struct )?(?:refcount|kref|rcuref|file_ref)(?:_t|_struct)?")
_ATOMIC = re.compile(r"(?:struct |std::)?_?atomic", re.IGNORECASE)
# What stands in front of it is of the record, as in f_count; an rx_count or error_count is of something else.
_NAME = re.compile(r"_*(?:(?!rx|tx)[a-z]{1,2}_)?(?:count|refcount|refcnt|cnt|refs|users|usage)_?")


@dataclass(frozen=True, slots=True)
class Watched:
    """A member and ``why`` it is watched (``hot in linesmith.toml:4``); ``wanted`` tells that an intent names it.

    ``severity`` is that of a violation by it: of a lock nobody has said yet that it is contended.
    """

    member: Named
    why: str
    wanted: bool = False
    severity: Severity = Severity.WARNING


def watched(layout: Layout, layouts: Layouts, intents: tuple[TypeIntent, ...]) -> tuple[Watched, ...]:
    """Each such member once, for the first of the reasons, in that order; of locks those in held records, too."""
    found: dict[str, Watched] = {}
    for intent in intents:
        reasons = [("hot", intent.hot), ("read mostly", intent.read_mostly), ("written often", intent.write_hot)]
        reasons += [(f"of the group {group.name}", group.members) for group in intent.groups]
        reasons += [("kept apart", isolation.members) for isolation in intent.isolations]
        for why, path in ((why, path) for why, paths in reasons for path in paths):
            member = named(layout, layouts, path)
            if member is not None:
                found.setdefault(path, Watched(member, f"{why} in {intent.place or 'an intent'}", wanted=True))
    for group in marked_groups(layout, layouts).values():
        for one in group.members:
            found.setdefault(one.path, Watched(one, f"in the group {group.name}"))
    for lock in locks(layout, layouts):
        found.setdefault(lock.path, Watched(lock, "a lock", severity=Severity.NOTE))
    for lock, record in _held_locks(layout, layouts):
        found.setdefault(lock.path, Watched(lock, f"a lock of {record.title}", severity=Severity.NOTE))
    return tuple(found.values())


def locks(layout: Layout, layouts: Layouts) -> Iterator[Named]:
    """The members of the record that are locks; none of a record that is a lock itself, and no arrays of them.

    What takes no bytes is none: a lock_class_key without lockdep.
    """
    for one in () if is_lock(layout.name) else nameable(layout, layouts):
        record = one.member.record
        if record is not None and one.span.size and not one.member.dimensions and is_lock(layouts.by_id(record).name):
            yield one


def _held_locks(layout: Layout, layouts: Layouts) -> Iterator[tuple[Named, Layout]]:
    """The locks of the records that this one holds by value, at any depth, each with the record that declares it.

    Paths and offsets are from the outermost record. Nothing is looked for in arrays and in locks.
    """
    waiting = list(_records(layout, layouts, "", 0))
    for path, offset, inner in waiting:  # grows while it is walked
        for lock in locks(inner, layouts):
            span = Span(offset + lock.offset, lock.span.size)
            yield Named(f"{path}.{lock.path}", offset + lock.base, lock.member, span), inner
        if len(waiting) < _MOST_RECORDS:
            waiting += _records(inner, layouts, f"{path}.", offset)


def _records(layout: Layout, layouts: Layouts, path: str, base: int) -> Iterator[tuple[str, int, Layout]]:
    """The named members that are a record each, with where they begin; none of a lock."""
    for one in () if is_lock(layout.name) else nameable(layout, layouts):
        if one.member.record is not None and not one.member.dimensions and one.member.name:
            yield f"{path}{one.path}", base + one.offset, layouts.by_id(one.member.record)


def guarded(layout: Layout, layouts: Layouts, intents: tuple[TypeIntent, ...]) -> frozenset[str]:
    """Members whose lines are no place for others: locks, what is aligned to a line, groups, what is to be kept apart.

    Of a path into a record held by value it is the name of that record's member.
    """
    every = (one for one in nameable(layout, layouts) if one.span.size)
    asked = asked_alignments(layout, layouts)
    paths = [lock.path for lock in locks(layout, layouts)]
    paths += [one.path for one in every if alignment_of(one.member) >= CACHE_LINE_BYTES]
    paths += [one.path for one in asked if one.part and one.path and one.asked >= CACHE_LINE_BYTES]
    paths += [one.path for group in marked_groups(layout, layouts).values() for one in group.members]
    for intent in intents:
        paths += [*intent.write_hot, *(path for isolation in intent.isolations for path in isolation.members)]
    return frozenset(path.partition(".")[0] for path in paths)


def guards_near(name: str, guards: frozenset[str], layout: Layout, layouts: Layouts) -> frozenset[str]:
    """Those of the ``guards`` that are on a line with the member called ``name`` in an object that begins at a line."""
    spans = {one.path: one.span for one in nameable(layout, layouts) if one.path in guards or one.path == name}
    near = (path for path, span in spans.items() if path != name and name in spans)
    return frozenset(path for path in near if meet(spans[name], spans[path], CACHE_LINE_BYTES, 0))


def locks_with_data(layout: Layout, layouts: Layouts) -> dict[str, tuple[Named, ...]]:
    """The data that each lock of the record probably protects, by place; none where names do not tell."""
    found = tuple(locks(layout, layouts))
    others = (one for one in nameable(layout, layouts) if one.span.size) if found else ()
    words = {one: words_of(one.path) for one in others}
    return {lock.path: _named_alike(lock, found, words) for lock in found}


def _named_alike(lock: Named, others: Sequence[Named], words: Mapping[Named, frozenset[str]]) -> tuple[Named, ...]:
    """Members whose names hold all words that say what the lock is for."""
    stem = purpose(lock.path)
    common = max(COMMON_LEAST, COMMON_SHARE * len(words))
    if not any(len(word) > 1 and sum(word in name for name in words.values()) <= common for word in stem):
        return ()
    alike = (one for one, name in words.items() if stem <= name and one not in others)
    return tuple(sorted(alike, key=lambda one: (one.offset, one.path)))


def reference_counts(layout: Layout, layouts: Layouts) -> Iterator[Named]:
    """Those of the record, by place: ``refcount_t``, or atomic and called ``f_count``, ``mm_users``, ``usage``."""
    for one in nameable(layout, layouts):
        name = one.path.rpartition(".")[2]
        if one.span.size and not one.member.dimensions and one.member.category is not MemberCategory.POINTER:
            atomic = _ATOMIC.match(one.member.type) and _NAME.fullmatch(name)
            if atomic or _COUNTS.fullmatch(one.member.type):
                yield one
