# SPDX-License-Identifier: GPL-2.0-or-later
"""What a source parted by lines, and whether it still is: members alone on a line, and walls or padding between some.

A wall is where a member begins that asks for a line, where one ends whose record does, and an empty member aligned to
a line (CACHELINE_PADDING()). A member that no longer asks for its line is for ``alignment-lost`` to tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from linesmith.analyzer.layouts.collection import MOST_MEMBERS, Layouts
from linesmith.analyzer.layouts.gaps import Span, lines_touched
from linesmith.analyzer.layouts.leaves import Named, nameable
from linesmith.analyzer.layouts.placement import GROUP_BEGIN, GROUP_END
from linesmith.analyzer.lint.regions import Beside, beside, found_members, others, pads
from linesmith.analyzer.lint.rules.rule import Side, Subject
from linesmith.analyzer.lint.starts import Starts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member, MemberGroup

_LEVELS = 16


@dataclass(frozen=True, slots=True)
class Joined:
    """Members that were kept apart ``by`` something and can meet now; ``alone``: the first had a line to itself."""

    found: Beside
    alone: bool
    by: str = "alignment"


def joined(subject: Subject) -> Iterator[Joined]:
    """Members of both builds that were parted in the old one and are not in the new one."""
    if subject.old is None or subject.base is None:
        return
    before = _Version(subject.old, subject.base)
    after = _Version(subject.new, subject.head)
    now = after.members()
    fallen = {wall for wall, owners in before.walls().items() if not _stand(owners, now)}
    kept = {0} if _is_aligned(subject.old) and _is_aligned(subject.new) else set()
    both = _both(before, after, now)
    parted = tuple(_meeting(both, set(before.walls()) - fallen | kept, fallen))
    yield from parted
    yield from _over_pads(both, {name for one in parted for name in (one.found.member.path, *one.found.others)})


def newly_parted(subject: Subject) -> Iterator[Joined]:
    """Members of both builds that alignment parts in the new one, and that could meet in the old one."""
    if subject.old is None or subject.base is None:
        return
    was, now = _Version(subject.old, subject.base), _Version(subject.new, subject.head)
    walls = set(now.walls()) | ({0} if _is_aligned(subject.new) else set())
    left = now.members()
    met = {path: one for path, one in was.members().items() if path in left}
    yield from _meeting(_both(now, was, met), walls, set())


@dataclass(frozen=True, slots=True)
class _Version:
    """A record in one of the builds."""

    layout: Layout
    side: Side

    def members(self) -> dict[str, Named]:
        """Those that have bytes, by path."""
        return {one.path: one for one in nameable(self.layout, self.side.layouts) if one.span.size}

    def walls(self) -> dict[int, set[str]]:
        """Offsets at which lines are parted, each with the members that ask for it, ``""`` for no named member."""
        found: dict[int, set[str]] = {}
        for wall, owner in islice(_asked(self.layout, self.side.layouts, 0, _LEVELS), MOST_MEMBERS):
            found.setdefault(wall, set()).add(owner)
        return found


def _meeting(both: _Both, walls: set[int], fallen: set[int]) -> Iterator[Joined]:
    """Members that ``walls`` keep apart in the one version and that can meet in the other."""
    told: set[str] = set()
    for one in _alone(tuple(both.before.values()), walls, fallen):
        found = both.newly_beside(one.path, both.now.values()) if one.path in both.now else None
        if found is not None and not told.issuperset(found.others):
            told.add(one.path)
            yield Joined(found, alone=True)
    for wall in sorted(walls - {0}):
        yield from _through(wall, both, told)


@dataclass(frozen=True, slots=True)
class _Both:
    """The members of a version that parts them (``before``) and of one in which they can meet (``now``), by path."""

    parted: _Version
    before: dict[str, Named]
    now: dict[str, Named]
    every: tuple[Starts, ...]

    def newly_beside(self, path: str, others: Collection[Named]) -> Beside | None:
        """Those that the member can meet and could not: a wall parts nothing in objects that begin off a line."""
        found = beside(self.now[path], others, self.every)
        if found is None:
            return None
        known = beside(self.before[path], self.before.values(), self.parted.side.starts.of(self.parted.layout))
        new = set(found.others).difference(() if known is None else known.others)
        return beside(self.now[path], (one for one in others if one.path in new), self.every)


def _both(parted: _Version, met: _Version, members: dict[str, Named]) -> _Both:
    """The two versions, with ``members`` of the one that lets them meet."""
    return _Both(parted, parted.members(), members, met.side.starts.of(met.layout))


def _is_aligned(layout: Layout) -> bool:
    """Whether objects begin at lines because somebody asked for it, not for the data behind them."""
    asked = layout.alignment or 0
    return asked >= CACHE_LINE_BYTES and not any(
        asked == one.alignment for one in layout.members if _is_data(one, layout)
    )


def _is_data(member: Member, layout: Layout) -> bool:
    """Whether it is an array of open length that ends the record: a device wants its alignment (ARCH_DMA_MINALIGN)."""
    return member is layout.members[-1] and not member.size and member.record is None


def _stand(owners: set[str], now: dict[str, Named]) -> bool:
    aligned = (now[one].member.alignment or 0 for one in owners if one in now)
    return "" in owners or any(one >= CACHE_LINE_BYTES for one in aligned)


def _asked(layout: Layout, layouts: Layouts, base: int, levels: int) -> Iterator[tuple[int, str]]:
    for member in layout.members:
        start, inner = base + member.offset, layouts.by_id(member.record) if member.record is not None else None
        if _is_data(member, layout):
            continue
        if (member.alignment or 0) >= CACHE_LINE_BYTES and start % CACHE_LINE_BYTES == 0:
            yield start, member.name if member.size else ""
            if inner is not None and (inner.alignment or 0) >= CACHE_LINE_BYTES:
                yield start + member.size, member.name
        if inner is not None and not member.name and levels:
            yield from _asked(inner, layouts, start, levels - 1)


def _alone(members: Sequence[Named], walls: set[int], fallen: set[int]) -> Iterator[Named]:
    """Members between walls that stand, or a wall and the end, that share their lines, not all full, with no other."""
    for one in members:
        mine = lines_touched(one.offset, one.span.size)
        behind = min((wall for wall in walls | fallen if wall >= one.end), default=-1)
        parted = one.offset in walls and behind not in fallen and one.span.size % CACHE_LINE_BYTES
        if parted and not any(other is not one and _share(mine, other) for other in members):
            yield one


def _share(mine: range, other: Named) -> bool:
    theirs = lines_touched(other.offset, other.span.size)
    return max(mine.start, theirs.start) < min(mine.stop, theirs.stop)


def _through(wall: int, both: _Both, told: set[str]) -> Iterator[Joined]:
    """The members of the line before the wall that now meet members of the line behind it."""
    last, first = wall // CACHE_LINE_BYTES - 1, wall // CACHE_LINE_BYTES
    common = [one for one in both.before.values() if one.path in both.now]
    left = [both.now[one.path] for one in common if one.end <= wall and last in _lines(one)]
    right = [one.path for one in common if one.offset >= wall and first in _lines(one)]
    for path in right:
        found = None if path in told else both.newly_beside(path, left)
        if found is not None and told.isdisjoint(found.others):
            told.add(path)
            yield Joined(found, alone=False)
            return


def _over_pads(both: _Both, told: set[str]) -> Iterator[Joined]:
    """The members around a padding that now can meet, but those that are ``told`` already."""
    padding = {one.name for one in pads(both.parted.layout)}
    common = [one for one in both.before.values() if one.path in both.now and one.path not in padding]
    for pad in pads(both.parted.layout):
        left = [both.now[one.path] for one in common if pad.offset - CACHE_LINE_BYTES < one.end <= pad.offset]
        right = [one.path for one in common if pad.end <= one.offset < pad.end + CACHE_LINE_BYTES]
        met = (found for path in right if path not in told and (found := both.newly_beside(path, left)))
        first = next((found for found in met if told.isdisjoint(found.others)), None)
        if first is not None:
            told.add(first.member.path)
            yield Joined(first, alone=False, by=pad.name)


def _lines(one: Named) -> range:
    return lines_touched(one.offset, one.span.size)


# Groups of members that the source marks with ``__cacheline_group_begin()`` and ``__cacheline_group_end()``.
#
# Source: include/linux/cache.h since Linux 6.8; the markers are members without bytes.


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
            span = Span(first.offset, _end(members, one) - first.offset)
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
    parted = [_parted(one, other, loose) for one, other in pairwise(grouped)]
    here = grouped.index(group)
    first = max((number + 1 for number in range(here) if parted[number]), default=0)
    last = next((number for number in range(here, len(parted)) if parted[number]), len(grouped) - 1)
    start = grouped[first].span.offset
    return Span(start, max(one.span.offset + one.span.size for one in grouped[first : last + 1]) - start)


def _parted(one: MarkedGroup, other: MarkedGroup, loose: Iterable[int]) -> bool:
    """Whether the second of two groups begins on a line of its own, or others lie between them."""
    start = other.span.offset
    return start % CACHE_LINE_BYTES == 0 or any(one.span.offset + one.span.size <= place < start for place in loose)


def _end(members: list[Named], marker: Named) -> int:
    """Behind the last member: the closing marker of an aligned group lies behind padding."""
    return max((one.end for one in members), default=marker.offset)


# A group of members that an intent wants behind one another, as a layout has it.


@dataclass(frozen=True, slots=True)
class WantedGroup:
    """The members that lie ``together``, most of the group, and those ``apart``: others lie between them.

    Where the record marks a group of the same name, those between its markers lie together, whatever is beside them.
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
        lines = lines_touched(self.span.offset, self.span.size)
        return frozenset(one.path for one in self.apart if {*lines} & {*lines_touched(one.offset, one.span.size)})


def wanted_group(group: MemberGroup, layout: Layout, layouts: Layouts) -> WantedGroup | None:
    """Where the group's members lie; ``None`` where the layout has none of them."""
    own = found_members(layout, layouts, group.members)
    if not own:
        return None
    marked = marked_groups(layout, layouts).get(group.name)
    inside = tuple(one for one in own if marked and _within(one, marked.span))
    if inside:
        return WantedGroup(inside, tuple(one for one in own if one not in inside))
    runs = _runs(own, tuple(others(layout, layouts, own)))
    together = max(runs, key=len)
    return WantedGroup(together, tuple(one for run in runs if run is not together for one in run))


def _within(one: Named, span: Span) -> bool:
    return span.offset <= one.offset and one.end <= span.offset + span.size


def _runs(own: Sequence[Named], foreign: Sequence[Named]) -> list[tuple[Named, ...]]:
    """The members, split where others lie between one and the next."""
    runs: list[tuple[Named, ...]] = [(own[0],)]
    for before, one in pairwise(own):
        if any(before.end <= other.offset < one.offset for other in foreign):
            runs.append((one,))
        else:
            runs[-1] = (*runs[-1], one)
    return runs
