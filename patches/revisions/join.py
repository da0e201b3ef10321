# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that were compiled file by file, as two sides with their pairs, and what the text says next to them.

That is who gives members by position, where a change gave records another order, and which records no changed file of
the second version declares any more, though somebody guards them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from linesmith.analyzer.layouts.collection import Layouts, LayoutTable
from linesmith.analyzer.layouts.diff import paired
from linesmith.analyzer.lint.renames import renamed
from linesmith.analyzer.model import DependencyKind, FactKind, Layout, Member, RecordKind, SourceFact
from linesmith.patches.build.preparation import Progress
from linesmith.patches.revisions.compiling import BothVersions
from linesmith.patches.revisions.counterparts import record_names
from linesmith.patches.revisions.versions import MOST_BYTES, Versions
from linesmith.patches.scan.text_scan import TOO_LARGE, RecordText, TextPlaces, text_places
from linesmith.patches.source.declaration import declared, staged_files
from linesmith.patches.source.tree import source_bytes

Pair = tuple[Layout | None, Layout | None]
# Ids of one file's records; those of the next file follow.
_IDS = 1 << 24
_TASK = "task_struct"
# Damaged debug information can nest anonymous records without end.
_MOST_LEVELS = 64


@dataclass(frozen=True, slots=True)
class JoinedRecords:
    """The records that are paired, with what they hold and what holds them; ``compared`` were looked at."""

    old: LayoutTable
    new: LayoutTable
    pairs: tuple[Pair, ...]
    compared: int
    changed: int


def joined(compiled: Sequence[BothVersions], requested: Collection[str]) -> JoinedRecords:
    """Records that differ, and those called ``requested``; one that several files show is taken from the first.

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
        chosen = differing + [pair for pair in fresh if pair[1].name in requested and pair not in differing]
        changed += sum(old is not None for old, _ in differing)
        # Records of the first version that have another name in the second, whoever cares for them.
        former: list[Pair] = [(one, None) for one in both.before if one.name]
        latter: list[Pair] = [(None, one) for one in both.after if one.name]
        others = renamed((*former, *latter), (both.before, both.after), lambda _: True)
        gone = [one.old for one in others if one.old.title not in {old.title for old in olds}]
        olds += _shifted(both.before, {old.id for old in (*gone, *(old for old, _ in chosen)) if old}, number)
        news += _shifted(both.after, {new.id for _, new in chosen}, number)
        pairs += [(old and _moved(old, number), _moved(new, number)) for old, new in chosen]
        pairs += [(_moved(old, number), None) for old in gone]
    return JoinedRecords(LayoutTable(olds), LayoutTable(news), tuple(pairs), len(seen), changed)


def with_task_struct(layouts: LayoutTable) -> LayoutTable:
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


def _named(both: BothVersions) -> Iterator[tuple[Layout | None, Layout]]:
    """Records that have names, next to what they were; a tag that became a typedef is the same record."""
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
    around: dict[int, list[int]] = {}
    for outer, held in inside.items():
        for one in held:
            around.setdefault(one, []).append(outer)
    return (_moved(layouts.by_id(one), number) for one in sorted(_closed(_closed(wanted, around), inside)))


def _closed(starts: set[int], edges: Mapping[int, Sequence[int]]) -> set[int]:
    found, waiting = set(starts), list(starts)
    while waiting:
        for one in edges.get(waiting.pop(), ()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found


def _moved(layout: Layout, number: int) -> Layout:
    shift = number * _IDS
    members = tuple(one if one.record is None else replace(one, record=one.record + shift) for one in layout.members)
    return replace(layout, id=layout.id + shift, members=members)


# Each takes a look through all sources of the tree.
MOST_RECORDS = 30

Facts = Mapping[str, tuple[SourceFact, ...]]


@dataclass(frozen=True, slots=True)
class PositionalInitialisers:
    """The initialisers by record, and sentences on where they were not looked for."""

    facts: Facts
    remarks: tuple[str, ...] = ()


def initialised(versions: Versions, pairs: Sequence[Pair], progress: Progress) -> PositionalInitialisers:
    """The initialisers of the second version that give members by position; changed ones are left out."""
    wanted: dict[str, Layout] = {}
    for old, new in pairs:
        # Some position means another member; members added at the end move none.
        if old and new and _names(new)[: len(old.members)] != _names(old):
            wanted[new.name] = new
    names = tuple(wanted)[:MOST_RECORDS]
    if not names:
        return PositionalInitialisers({})
    found = text_places(versions.root, names, progress)
    facts = {name: tuple(_facts(wanted[name], found[name], versions)) for name in names}
    unread = sorted(file for file, places in found[names[0]].items() if places.unread)
    return PositionalInitialisers(facts, tuple(_left_out(tuple(wanted), unread)))


def _left_out(names: Sequence[str], unread: Sequence[str]) -> Iterator[str]:
    if (left := len(names) - MOST_RECORDS) > 0:
        records = f"{left} more records whose members are in another order"
        yield f"initialisers by position were not looked for of {records}, the first is {names[MOST_RECORDS]}"
    for file in unread:
        yield f"initialisers by position were not looked for in {file}: {TOO_LARGE}"


def _names(layout: Layout) -> list[str]:
    return [one.name for one in layout.members]


def _facts(layout: Layout, places: Mapping[str, TextPlaces], versions: Versions) -> Iterator[SourceFact]:
    looking = RecordText(layout.name)
    # The sources that were searched may be of either version; of changed files only the second one counts.
    now = {**places, **{one.file: looking.places(one.file, one.after or b"") for one in versions.changes}}
    others = {PurePosixPath(file).parent for file, found in now.items() if found.declares and file != layout.file}
    for file, found in sorted(now.items()):
        if PurePosixPath(file).parent in others:
            continue
        stood = {(one.text, one.given) for one in places[file].places} if file in places else set()
        for one in found.places:
            if one.kind is DependencyKind.POSITIONAL and (one.text, one.given) in stood:
                members = tuple(name for name in _names(layout)[: one.given] if name)
                place = f"{file}:{one.line}"
                yield SourceFact(FactKind.POSITIONAL, members, "an initialiser gives it by position", place)


# Ids that no compiled file gives; -1 is that of the tasks by which a kernel is known.
_FIRST_ID = -2


def removed_records(versions: Versions, intended: Collection[str]) -> tuple[str, ...]:
    """Those of the records ``intended`` that the first version declares and the second does not."""
    kept = frozenset(name for change in versions.changes for name in declared(change.after))
    lost = frozenset(name for change in versions.changes for name in record_names(change)[0]) - kept
    gone = {name.decode() for name in lost}.intersection(intended)
    if not gone:
        return ()
    # A file that is the same in both versions may declare it, too.
    changed, left = versions.after, {name.encode() for name in gone}
    for file in (file for file in staged_files(versions.root) if file not in changed):
        left -= declared(source_bytes(versions.root, file, MOST_BYTES, links=False))
    return tuple(sorted(name.decode() for name in left))


def with_removed(layouts: LayoutTable, names: Collection[str]) -> LayoutTable:
    """The layouts with records of that name, of which nothing is known but that they were there."""
    fresh = [name for name in names if not layouts.variants(name)]
    stand_ins = (Layout(_FIRST_ID - place, name, RecordKind.STRUCT, 0, ()) for place, name in enumerate(fresh))
    return LayoutTable((*layouts, *stand_ins)) if fresh else layouts
