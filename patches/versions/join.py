# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that were compiled file by file, as two sides with their pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.diff import paired
from linesmith.analyzer.layouts import Layouts, LayoutTable
from linesmith.analyzer.lint.renamed import renamed
from linesmith.analyzer.model import Layout, Member, RecordKind
from linesmith.patches.versions.compiling import Both

Pair = tuple[Layout | None, Layout | None]
# Ids of one file's records; those of the next file follow.
_IDS = 1 << 24
_TASK = "task_struct"
# Damaged debug information can nest anonymous records without end.
_MOST_LEVELS = 64


@dataclass(frozen=True, slots=True)
class Joined:
    """The records that are paired, with what they hold and what holds them; ``compared`` were looked at.

    Those ``renamed`` are the first version's names of records that seem to have another one in the second.
    """

    old: LayoutTable
    new: LayoutTable
    pairs: tuple[Pair, ...]
    compared: int
    changed: int
    renamed: frozenset[str] = frozenset()


def joined(compiled: Sequence[Both], asked_for: Collection[str]) -> Joined:
    """Records that differ, and those called ``asked_for``; one that several files show is taken from the first.

    A record that may have got another name has no partner here: the lint judges whether it has.
    """
    seen: set[tuple[str, str | None]] = set()
    olds: list[Layout] = []
    news: list[Layout] = []
    pairs: list[Pair] = []
    changed = 0
    for number, both in enumerate(compiled):
        fresh = [(old, new) for old, new in _named(both) if (new.title, new.file) not in seen]
        seen.update((new.title, new.file) for _, new in fresh)
        differing = [
            pair for pair in fresh if pair[0] is None or shape(pair[0], both.before) != shape(pair[1], both.after)
        ]
        chosen = differing + [pair for pair in fresh if pair[1].name in asked_for and pair not in differing]
        changed += sum(old is not None for old, _ in differing)
        gone = [old for old in _renamed(both) if old.title not in {one.title for one in olds}]
        olds += _shifted(both.before, {old.id for old in (*gone, *(old for old, _ in chosen)) if old}, number)
        news += _shifted(both.after, {new.id for _, new in chosen}, number)
        pairs += [(old and _moved(old, number), _moved(new, number)) for old, new in chosen]
        pairs += [(_moved(old, number), None) for old in gone]
    names = frozenset(old.name for old, new in pairs if old and not new)
    return Joined(LayoutTable(olds), LayoutTable(news), tuple(pairs), len(seen), changed, names)


def _renamed(both: Both) -> tuple[Layout, ...]:
    """The records of the first version that have another name in the second, whoever cares for them."""
    gone: list[Pair] = [(one, None) for one in both.before if one.name]
    fresh: list[Pair] = [(None, one) for one in both.after if one.name]
    return tuple(one.old for one in renamed((*gone, *fresh), (both.before, both.after), lambda _: True))


def of_a_kernel(layouts: LayoutTable) -> LayoutTable:
    """The same with tasks, by which a kernel is known; declared only, where no compiled file has them."""
    if layouts.variants(_TASK):
        return layouts
    return LayoutTable((*layouts, Layout(-1, _TASK, RecordKind.STRUCT, 0, ())))


def shape(layout: Layout, layouts: Layouts, level: int = 0) -> tuple[object, ...]:
    """What makes up a layout, with the anonymous records in it: two are laid out alike where it is equal."""
    if level >= _MOST_LEVELS:
        return (object(),)  # like no other, so that what lies deeper counts as changed
    return (layout.kind, layout.size, layout.alignment), *(_member(one, layouts, level) for one in layout.members)


def _member(one: Member, layouts: Layouts, level: int) -> tuple[object, ...]:
    inner: tuple[object, ...] = ()
    if one.record is not None and not (record := layouts.by_id(one.record)).name:
        inner = shape(record, layouts, level + 1)
    # The name that a reader gives to an anonymous record has its line.
    type_ = "" if inner else one.type
    return one.name, type_, one.declarator, one.offset, one.size, one.alignment, one.bit_offset, one.bit_size, inner


def _named(both: Both) -> Iterator[tuple[Layout | None, Layout]]:
    """Records that have names, beside what they were; a tag that became a typedef is the same record."""
    sides = [tuple(one for one in side if one.name) for side in (both.before, both.after)]
    found = tuple(paired(sides[0], sides[1]))
    left = {old.name: old for old, new in found if old and not new}
    for old, new in found:
        if new and (before := old or left.pop(new.name, None)):
            yield before, new
        elif new and (not both.moved or new.file == both.file):
            yield None, new


def _shifted(layouts: LayoutTable, wanted: set[int], number: int) -> Iterator[Layout]:
    """The records, those that hold them and those that they hold, with ids of their own."""
    inside: dict[int, tuple[int, ...]] = {
        one.id: tuple(member.record for member in one.members if member.record is not None) for one in layouts
    }
    kept = _closed(wanted, _reversed(inside))
    return (_moved(layouts.by_id(one), number) for one in sorted(_closed(kept, inside)))


def _closed(starts: set[int], edges: dict[int, tuple[int, ...]]) -> set[int]:
    found, waiting = set(starts), list(starts)
    while waiting:
        for one in edges.get(waiting.pop(), ()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found


def _reversed(edges: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for start, ends in edges.items():
        for end in ends:
            found.setdefault(end, []).append(start)
    return {end: tuple(starts) for end, starts in found.items()}


def _moved(layout: Layout, number: int) -> Layout:
    shift = number * _IDS
    members = tuple(one if one.record is None else replace(one, record=one.record + shift) for one in layout.members)
    return replace(layout, id=layout.id + shift, members=members)
