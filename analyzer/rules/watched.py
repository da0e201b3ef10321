# SPDX-License-Identifier: GPL-2.0-or-later
"""Members whose place matters: those that an intent names, those of cacheline groups, and locks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.geometry import Named, Span, nameable, named
from linesmith.analyzer.geometry.naming import MOST_MEMBERS
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Severity, TypeIntent
from linesmith.analyzer.rules.marked_group import marked_groups

# Records inside records are looked at this deep; damaged debug information may go round.
_MOST_LEVELS = 16


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
        for why, paths in _said(intent):
            for path in paths:
                member = named(layout, layouts, path)
                if member is not None:
                    found.setdefault(path, Watched(member, f"{why} in {intent.place or 'an intent'}", wanted=True))
    for group in marked_groups(layout, layouts).values():
        for one in group.members:
            found.setdefault(one.path, Watched(one, f"in the group {group.name}"))
    for lock in locks(layout, layouts):
        found.setdefault(lock.path, Watched(lock, "a lock", severity=Severity.NOTE))
    for lock, record in held_locks(layout, layouts):
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


def held_locks(layout: Layout, layouts: Layouts) -> Iterator[tuple[Named, Layout]]:
    """The locks of the records that this one holds by value, at any depth, each with the record that declares it.

    Paths and offsets are from the outermost record. Nothing is looked for in arrays and in locks.
    """
    return islice(_held(layout, layouts, _MOST_LEVELS), MOST_MEMBERS)


def _held(layout: Layout, layouts: Layouts, levels: int) -> Iterator[tuple[Named, Layout]]:
    for one in () if is_lock(layout.name) or not levels else nameable(layout, layouts):
        if one.member.record is None or one.member.dimensions or not one.member.name:
            continue
        inner = layouts.by_id(one.member.record)
        own = ((lock, inner) for lock in locks(inner, layouts))
        for lock, record in (*own, *_held(inner, layouts, levels - 1)):
            span = Span(one.offset + lock.offset, lock.span.size)
            yield Named(f"{one.path}.{lock.path}", one.offset + lock.base, lock.member, span), record


def _said(intent: TypeIntent) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "hot", intent.hot
    yield "read mostly", intent.read_mostly
    yield "written often", intent.write_hot
    for group in intent.groups:
        yield f"of the group {group.name}", group.members
    for isolation in intent.isolations:
        yield "kept apart", isolation.members
