# SPDX-License-Identifier: GPL-2.0-or-later
"""Members whose place matters: those that an intent names, those of cacheline groups, and locks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.attribution.lock import is_lock
from linesmith.analyzer.geometry import Named, Span, nameable, named
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Severity, TypeIntent
from linesmith.analyzer.rules.marked_group import marked_groups

# So many records within one are looked at; damaged debug information has them without end.
_MOST_RECORDS = 1 << 14


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


def _said(intent: TypeIntent) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "hot", intent.hot
    yield "read mostly", intent.read_mostly
    yield "written often", intent.write_hot
    for group in intent.groups:
        yield f"of the group {group.name}", group.members
    for isolation in intent.isolations:
        yield "kept apart", isolation.members
