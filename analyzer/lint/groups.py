# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that belong together or apart, as a source has it: groups, walls at the edges of lines, padding between.

A wall is where a member begins that asks for a line, where one ends whose record does, and an empty member aligned to
a line (CACHELINE_PADDING()). Groups are marked with ``__cacheline_group_begin()`` and ``__cacheline_group_end()``,
members without bytes (include/linux/cache.h since Linux 6.8), or wanted by an intent.

``watched`` are members whose place matters: those that an intent names, those of cacheline groups, and locks. Those
that are ``guarded`` are on lines that are no place for others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from linesmith.analyzer.attribution.lock import is_lock, purpose, words_of
from linesmith.analyzer.layouts.collection import MOST_MEMBERS, Layouts
from linesmith.analyzer.layouts.gaps import Span, asked_alignments, lines_touched, meet
from linesmith.analyzer.layouts.leaves import Named, nameable, named
from linesmith.analyzer.layouts.placement import GROUP_BEGIN, GROUP_END, alignment_of
from linesmith.analyzer.lint.meetings import MemberMeetings, meetings_of, other_members, pads
from linesmith.analyzer.lint.rules.rule import LintedRecord, RecordVersion
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member, MemberCategory, MemberGroup, Severity, TypeIntent

_LEVELS = 16
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
class SeparatedMembers:
    """Members that something (``by``) keeps apart in one build and that can meet in the other.

    ``alone``: the first has a line to itself.
    """

    found: MemberMeetings
    alone: bool
    by: str = "alignment"


def newly_meeting(record: LintedRecord) -> Iterator[SeparatedMembers]:
    """Members of both builds that were separated in the old one and are not in the new one."""
    before, after = record.before, record.now
    if before is None:
        return
    now, walls = after.members(), _walls(before)
    # Those that none of their owners asks for any more.
    asking = {""} | {name for name, one in now.items() if (one.member.alignment or 0) >= CACHE_LINE_BYTES}
    fallen = {wall for wall, owners in walls.items() if asking.isdisjoint(owners)}
    always = {0} if _is_aligned(before.layout) and _is_aligned(after.layout) else set()
    comparison = _WallComparison(before, before.members(), after, now)
    parted = tuple(comparison.separated(set(walls) - fallen | always, fallen))
    yield from parted
    yield from comparison.over_pads({name for one in parted for name in (one.found.member.path, *one.found.others)})


def newly_parted(record: LintedRecord) -> Iterator[SeparatedMembers]:
    """Members of both builds that alignment parts in the new one, and that could meet in the old one."""
    if record.before is None:
        return
    walls = set(_walls(record.now)) | ({0} if _is_aligned(record.layout) else set())
    members = record.now.members()
    met = {path: one for path, one in record.before.members().items() if path in members}
    yield from _WallComparison(record.now, members, record.before, met).separated(walls, set())


@dataclass(frozen=True, slots=True)
class _WallComparison:
    """A version with the members that it parts (``apart``), and another in which they can meet (``free``), by path."""

    parting: RecordVersion
    apart: Mapping[str, Named]
    meeting: RecordVersion
    free: Mapping[str, Named]

    def separated(self, walls: set[int], fallen: set[int]) -> Iterator[SeparatedMembers]:
        """Members that ``walls`` keep apart in the one version and that can meet in the other."""
        told: set[str] = set()
        for one in self._alone(walls, fallen):
            found = self._newly_meeting(one.path, self.free.values()) if one.path in self.free else None
            if found is not None and not told.issuperset(found.others):
                told.add(one.path)
                yield SeparatedMembers(found, alone=True)
        common = [one for one in self.apart.values() if one.path in self.free]
        for wall in sorted(walls - {0}):
            behind = wall // CACHE_LINE_BYTES
            left = [self.free[one.path] for one in common if one.end <= wall and behind - 1 in _lines(one)]
            right = [one.path for one in common if one.offset >= wall and behind in _lines(one)]
            yield from self._first_of(right, left, told, "alignment")

    def over_pads(self, told: set[str]) -> Iterator[SeparatedMembers]:
        """The members around a padding that now can meet, but those that are ``told`` already."""
        padding = list(pads(self.parting.layout))
        names = {one.name for one in padding}
        common = [one for one in self.apart.values() if one.path in self.free and one.path not in names]
        for pad in padding:
            left = [self.free[one.path] for one in common if pad.offset - CACHE_LINE_BYTES < one.end <= pad.offset]
            right = [one.path for one in common if pad.end <= one.offset < pad.end + CACHE_LINE_BYTES]
            yield from self._first_of(right, left, told, pad.name)

    def _first_of(
        self, paths: Iterable[str], others: Collection[Named], told: set[str], by: str
    ) -> Iterator[SeparatedMembers]:
        """The first of ``paths`` that now meets ``others``; nothing of members that are ``told`` already."""
        for path in paths:
            found = None if path in told else self._newly_meeting(path, others)
            if found is not None and told.isdisjoint(found.others):
                told.add(path)
                yield SeparatedMembers(found, alone=False, by=by)
                return

    def _newly_meeting(self, path: str, others: Collection[Named]) -> MemberMeetings | None:
        """Those that the member can meet and could not: a wall parts nothing in objects that begin off a line."""
        found = meetings_of(self.free[path], others, self.meeting.starts())
        if found is None:
            return None
        known = meetings_of(self.apart[path], self.apart.values(), self.parting.starts())
        new = set(found.others).difference(() if known is None else known.others)
        return meetings_of(self.free[path], (one for one in others if one.path in new), self.meeting.starts())

    def _alone(self, walls: set[int], fallen: set[int]) -> Iterator[Named]:
        """Members between walls that stand, or a wall and the end, that share their lines, not all full, with none."""
        for one in self.apart.values():
            behind = min((wall for wall in walls | fallen if wall >= one.end), default=-1)
            if one.offset in walls and behind not in fallen and one.span.size % CACHE_LINE_BYTES:
                others = (other for other in self.apart.values() if other is not one)
                if not any(meet(one.span, other.span, CACHE_LINE_BYTES, 0) for other in others):
                    yield one


def _lines(one: Named) -> range:
    return lines_touched(one.offset, one.span.size)


def _walls(version: RecordVersion) -> dict[int, set[str]]:
    """Offsets at which lines are separated, each with the members that ask for it, ``""`` for no named member."""
    found: dict[int, set[str]] = {}
    for wall, owner in islice(_walls_in(version.layout, version.layouts, 0, _LEVELS), MOST_MEMBERS):
        found.setdefault(wall, set()).add(owner)
    return found


def _walls_in(layout: Layout, layouts: Layouts, base: int, levels: int) -> Iterator[tuple[int, str]]:
    for member in layout.members:
        start, inner = base + member.offset, layouts.by_id(member.record) if member.record is not None else None
        if _is_data(member, layout):
            continue
        if (member.alignment or 0) >= CACHE_LINE_BYTES and start % CACHE_LINE_BYTES == 0:
            yield start, member.name if member.size else ""
            if inner is not None and (inner.alignment or 0) >= CACHE_LINE_BYTES:
                yield start + member.size, member.name
        if inner is not None and not member.name and levels:
            yield from _walls_in(inner, layouts, start, levels - 1)


def _is_data(member: Member, layout: Layout) -> bool:
    """Whether it is an array of open length that ends the record: a device wants its alignment (ARCH_DMA_MINALIGN)."""
    return member is layout.members[-1] and not member.size and member.record is None


def _is_aligned(layout: Layout) -> bool:
    """Whether objects begin at lines because somebody asked for it, not for the data behind them."""
    asked = layout.alignment or 0
    return asked >= CACHE_LINE_BYTES and not any(
        asked == one.alignment for one in layout.members if _is_data(one, layout)
    )


@dataclass(frozen=True, slots=True)
class MarkedGroup:
    """The ``members`` between the markers of a group; ``span`` reaches from the one marker to the other.

    ``line`` is where the source has the first marker.
    """

    name: str
    span: Span
    members: tuple[Named, ...]
    line: int | None = None


def marked_groups(layout: Layout, layouts: Layouts) -> dict[str, MarkedGroup]:
    """The groups of the record by name, in order; one that is not closed is none."""
    found: dict[str, MarkedGroup] = {}
    begun: dict[str, tuple[Named, list[Named]]] = {}
    for one in nameable(layout, layouts):
        if one.path.startswith(GROUP_BEGIN):
            begun[one.path.removeprefix(GROUP_BEGIN)] = one, []
        elif one.path.startswith(GROUP_END) and (opened := begun.pop(one.path.removeprefix(GROUP_END), None)):
            first, members = opened
            name = one.path.removeprefix(GROUP_END)
            # The closing marker of an aligned group lies behind padding.
            end = max((member.end for member in members), default=one.offset)
            span = Span(first.offset, end - first.offset)
            found[name] = MarkedGroup(name, span, tuple(members), first.member.line)
        else:
            for _, members in begun.values():
                members.append(one)
    return found


def neighbours(group: MarkedGroup, groups: Iterable[MarkedGroup], layout: Layout, layouts: Layouts) -> Span:
    """The bytes of the group with those of all groups that it shares lines with and no other member parts from it.

    Groups that follow one another share lines on purpose: the transmit path reads one and then the next.
    """
    grouped = sorted(groups, key=lambda one: one.span.offset)
    marked = {one.path for each in grouped for one in each.members}
    loose = [one.offset for one in nameable(layout, layouts) if one.span.size and one.path not in marked]
    parted = []  # from the one before it, because it begins on a line of its own, or others lie between them
    for one, other in pairwise(grouped):
        start, end = other.span.offset, one.span.offset + one.span.size
        parted.append(start % CACHE_LINE_BYTES == 0 or any(end <= place < start for place in loose))
    here = grouped.index(group)
    first = max((number + 1 for number in range(here) if parted[number]), default=0)
    last = next((number for number in range(here, len(parted)) if parted[number]), len(grouped) - 1)
    start = grouped[first].span.offset
    return Span(start, max(one.span.offset + one.span.size for one in grouped[first : last + 1]) - start)


@dataclass(frozen=True, slots=True)
class IntentGroup:
    """A group that an intent wants behind one another, as a layout has it.

    The members that lie ``together``, most of the group, and those ``apart``: others lie between them.

    Where the record marks a group of the same name, those between its markers lie together, whatever is next to them.
    """

    together: tuple[Named, ...]
    apart: tuple[Named, ...] = ()

    @property
    def span(self) -> Span:
        """From the first of those together to the end of the last."""
        first = self.together[0].offset
        return Span(first, max(one.end for one in self.together) - first)

    @property
    def near(self) -> frozenset[str]:
        """Those apart that are on the lines of the others all the same, by name."""
        return frozenset(one.path for one in self.apart if meet(self.span, one.span, CACHE_LINE_BYTES, 0))


def intent_group(group: MemberGroup, version: RecordVersion) -> IntentGroup | None:
    """Where the group's members lie; ``None`` where the layout has none of them."""
    own = version.members_called(group.members)
    if not own:
        return None
    marked = marked_groups(version.layout, version.layouts).get(group.name)
    if marked:
        begin, end = marked.span.offset, marked.span.offset + marked.span.size
        inside = tuple(one for one in own if begin <= one.offset and one.end <= end)
        if inside:
            return IntentGroup(inside, tuple(one for one in own if one not in inside))
    foreign = tuple(other_members(version.layout, version.layouts, own))
    runs: list[tuple[Named, ...]] = [(own[0],)]  # split where others lie between one and the next
    for before, one in pairwise(own):
        if any(before.end <= other.offset < one.offset for other in foreign):
            runs.append((one,))
        else:
            runs[-1] = (*runs[-1], one)
    together = max(runs, key=len)
    return IntentGroup(together, tuple(one for run in runs if run is not together for one in run))


@dataclass(frozen=True, slots=True)
class Watched:
    """A member and ``why`` it is watched (``hot in linesmith.toml:4``); ``wanted`` tells that an intent names it.

    ``severity`` is that of a violation by it: of a lock nobody has stated yet that it is contended.
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
